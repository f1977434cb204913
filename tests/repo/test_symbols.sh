#!/bin/bash
# test_symbols.sh : libnarrowcast.so exports only narrowcast.h's functions and needs no MPI; a
# program that includes only that header runs.
set -eu
. "$(dirname "$0")/../../host/ranks.sh"
cd "$(dirname "$0")/../.."
B=${B:-build}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
nm -D --defined-only "$B/libnarrowcast.so" | awk '$2 != "A" { sub(/@.*/, "", $NF); print $NF }' | sort >"$dir/exported"
sed -n 's/^NC_API .*[ *]\(nc_[a-z0-9_]*\)(.*/\1/p' host/include/narrowcast.h | sort >"$dir/declared"
[ "$(wc -l <"$dir/declared")" -ge 8 ] || { echo "FAIL found $(wc -l <"$dir/declared") functions in narrowcast.h"; exit 1; }
diff "$dir/declared" "$dir/exported" || { echo "FAIL declared in narrowcast.h (<), exported (>)"; exit 1; }
grep -v '^nc_' "$dir/exported" && { echo "FAIL a name that does not begin with nc_"; exit 1; }

sed -n '/^ \*     #include/,/^ \*     }$/p' host/include/narrowcast.h | sed 's/^ \* \{0,5\}//' >"$dir/train.c"
cc=$(sed -n 's/^ \* *\(cc train.c .*\); host.*/\1/p' host/include/narrowcast.h)
cc=${cc/cc train.c/${CC:-cc} $dir/train.c -o $dir/a.out}
cc=${cc/\$PWD\/build/$(realpath "$B")}
case $(nm -D "$B/libnarrowcast.so") in *__asan*) echo 'skip: a program without sanitizers does not load a library with them'; exit 0 ;; esac
${cc/-Lbuild/-L$B}
readelf -d "$B/libnarrowcast.so" "$B/libnccl-net-narrowcast.so" | grep NEEDED | grep mpi && { echo "FAIL a library needs MPI"; exit 1; }
ln -s "$(realpath "$B/libnarrowcast.so.0")" "$dir/" # no libnarrowcast_mpi.so beside it
said=$(LD_LIBRARY_PATH=$dir LD_PRELOAD=$dir/libnarrowcast.so.0 "$dir/a.out" 2>&1) && { echo "FAIL the example runs without MPI"; exit 1; }
[[ $said == 'narrowcast: cannot join a job of MPI: no libnarrowcast_mpi.so beside this program '* && $said != *$'\n'* ]] ||
    { echo "FAIL without libnarrowcast_mpi.so the example said '$said'"; exit 1; }
said=$(mpirun -np 2 "$dir/a.out")
[ "$said" = "7936 bytes a step" ] || { echo "FAIL the example said '$said'"; exit 1; }
