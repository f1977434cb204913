#!/bin/bash
# test_nc_cpp.sh : compiles narrowcast.h and its test as C++17 and runs it on one rank.
set -eu
. "$(dirname "$0")/../../host/ranks.sh"
cd "$(dirname "$0")/../.."
B=${B:-build}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
cxx=$(command -v "${CXX:-c++}" g++ clang++ | head -n 1 || true)
if [ -z "$cxx" ]; then
    echo "skip: no C++ compiler"
    exit 77
fi
"$cxx" -x c++ -std=c++17 -Wall -Wextra -Wshadow -Wno-missing-field-initializers -Werror -Ihost/include -Itests/lib \
    -c tests/job/test_nc_mpi.c -o "$out/nc.o"
${MPICC:-mpicc} "$out/nc.o" "$B/o/host/comm/mpi/mpi_calls.o" "$B/libnarrowcast.a" -lopenblas -lz -lm -o "$out/nc"
mpirun -np 1 "$out/nc"

sed -n '/^ \*     #include/,/^ \*     }$/p' host/include/narrowcast.h | sed 's/^ \* \{0,5\}//' >"$out/example.c"
grep -q 'int main' "$out/example.c"
${CC:-cc} -std=c11 -Wall -Wextra -Werror -Ihost/include -c "$out/example.c" -o "$out/example.o"
