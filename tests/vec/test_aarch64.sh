#!/bin/bash
# test_aarch64.sh : runs casts, sums and codecs for aarch64 in qemu's user mode: NEON, vectorised C
# and the switch of the floating-point mode. `long`: -O2, all sums, more formats and inputs, and plain C.
# Debian: gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user
set -eu
cd "$(dirname "$0")/../.."
cc=aarch64-linux-gnu-gcc
qemu=$(command -v qemu-aarch64-static || command -v qemu-aarch64 || true)
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
echo '#include <stdio.h>
int main(void){return puts("hello") < 0;}' >"$out/p.c"
if [ -z "$qemu" ] || ! $cc -static "$out/p.c" -o "$out/p" 2>/dev/null || ! "$qemu" "$out/p" >/dev/null; then
    echo "skip: no $cc that links statically, or no qemu-aarch64"
    exit 77
fi
opt=-O1 few=few # compiles in three fifths of the time of -O2
[ "${1-}" != long ] || opt=-O2 few=''
flags=(-std=c11 "$opt" -Wall -Wextra -Wconversion -Wshadow -Werror -Wno-format-truncation -ffp-contract=off -fno-math-errno
    -fno-trapping-math -D_GNU_SOURCE -I. -Ihost -Ihost/include -Itests/lib)
for f in host/base/*.c host/base/*/*.c host/vec/*.c host/vec/*/*.c host/codec/*.c; do
    $cc "${flags[@]}" -c "$f" -o "$out/$(basename "$f" .c).o"
done
"${cc%gcc}ar" rcs "$out/lib.a" "$out"/*.o

run() {
    t=$1
    shift
    $cc "${flags[@]}" -static tests/*/"$t.c" "$out/lib.a" -lm -o "$out/$t"
    echo "$t"
    "$qemu" "$out/$t" "$@" >"$out/log" 2>&1 || { tail "$out/log"; exit 1; }
}
for t in vec_chance vec_pack vec_add vec_sum codec_scale codec_spec; do run "test_$t" ${few:+few}; done
[ "${1-}" = long ] || exit 0
run test_vec_groups
run test_vec_accumulate
run test_vec_edges
run test_philox
run test_mf_add quick
run test_mf_floats quick
run test_vec_plain
run test_mf
run test_mf_acc
run test_vec_acc
run test_vec_ranks
run test_vec_isa
