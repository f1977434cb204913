#!/bin/bash
# test_sanitizers.sh : runs a few test programs, with `long` all, with address and undefined
# sanitizers. Leaks fail too, except under MPI, which leaks itself. A warning fails the build, so
# that clang reads the library and the program here (test_lint.sh does not), but only with `long`
# their files of x86 instruction sets.
set -eu
cd "$(dirname "$0")/../.."
B=${B:-build}
probe=$(mktemp -d)
trap 'rm -rf "$probe"' EXIT
echo 'int main(void){return 0;}' >"$probe/p.c"
has_sanitizers() {
    # shellcheck disable=SC2086 # a command and options
    $1 -fsanitize=address,undefined "$probe/p.c" -o "$probe/p" 2>/dev/null && "$probe/p"
}
# clang's sanitizer finds more than gcc's, such as an index beyond an array.
compilers=()
for cc in clang "${CC:-cc}"; do
    if has_sanitizers "$cc" && { [ "${1-}" = long ] || [ ${#compilers[@]} = 0 ]; }; then compilers+=("$cc"); fi
done
[ ${#compilers[@]} -gt 0 ] || { echo "skip: this compiler has no sanitizers" && exit 77; }
quick="test_base test_codec_scale test_dataset_fuzz test_opt test_file test_fuzz_files test_comm_virtual"
# Without long, the build takes most of the time; half of it would be that of host/vec for AVX2 and
# AVX-512.
opt=-O0 plain=-DVEC_PLAIN
if [ "${1-}" = long ]; then opt=-O1 plain='' quick=$(basename -s .c tests/*/test_*.c); fi
unset MAKEFLAGS MFLAGS MAKEOVERRIDES
export UBSAN_OPTIONS=print_stacktrace=1
# Some tests expect NULL from malloc. No fake stacks: gcc 14 places locals aligned to 64 bytes
# beyond their end.
export ASAN_OPTIONS=allocator_may_return_null=1:detect_stack_use_after_return=0
# Files of AVX-512 instructions, of which one takes a minute, are not optimised.
avx512="$(sed -n 's/^isa_avx512 *= *//p' Makefile) -O0"
bad=0
for cc in "${compilers[@]}"; do
    case $cc in *clang*) san=$B/san/clang cxx=clang++ ;; *) san=$B/san/cc cxx=${CXX-g++} ;; esac
    programs=()
    for t in $quick; do programs+=("$san/tests/$t"); done
    make -s CC="$cc" CXX="$cxx" SAN=address,undefined OPT="$opt -g1" CPPFLAGS="${CPPFLAGS-} $plain" isa_avx512="$avx512" WERROR=1 B="$san" "${programs[@]}" >"$probe/log" 2>&1 ||
        { tail "$probe/log"; exit 1; }
    RANKS=${1:+all} B=$san JOBS=1 TEST_TIMEOUT=3600 tests/run.sh "${programs[@]}" || bad=1
done
exit $bad
