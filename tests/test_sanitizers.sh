#!/bin/bash
# test_sanitizers.sh : test programs built with address and undefined sanitizers: a quick subset, or all with `long`.
# Leaks are looked for too, but not in programs that run under MPI, whose library leaks by itself (run.sh sees to that).
set -eu
cd "$(dirname "$0")/.."
B=${B:-build}
probe=$(mktemp -d)
trap 'rm -rf "$probe"' EXIT
echo 'int main(void){return 0;}' >"$probe/p.c"
if ! ${CC:-cc} -fsanitize=address,undefined "$probe/p.c" -o "$probe/p" 2>/dev/null || ! "$probe/p"; then
    echo "skip: this compiler has no sanitizers"
    exit 77
fi
quick="test_base test_mf_add test_vec_sum test_codec test_codec_mean test_dataset test_dataset_fuzz test_opt test_file test_fuzz_files test_comm_virtual"
san=$B/san
programs=()
if [ "${1-}" = long ]; then
    for t in tests/test_*.c; do programs+=("$san/${t%.c}"); done
else
    for t in $quick; do programs+=("$san/tests/$t"); done
fi
unset MAKEFLAGS MFLAGS MAKEOVERRIDES
make -s TOOLS=no SAN=address,undefined OPT='-O1 -g' B="$san" "${programs[@]}" "$san/narrowcast" >"$probe/log" 2>&1 || { tail "$probe/log"; exit 1; }
export UBSAN_OPTIONS=print_stacktrace=1
# As malloc does: some tests ask for too much. No stacks on the heap: gcc 14 lays locals that are aligned to 64 bytes over their end.
export ASAN_OPTIONS=allocator_may_return_null=1:detect_stack_use_after_return=0
B=$san JOBS=1 TEST_TIMEOUT=3600 tests/run.sh "${programs[@]}"
