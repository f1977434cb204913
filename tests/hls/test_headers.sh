#!/bin/sh
# test_headers.sh : compiles every header of hls/, once and included twice, and calls of all
# functions, without warnings as C11, C++17 and CUDA (gcc, clang, g++, clang++, nvcc). Environment:
# B, the build folder.
cd "$(dirname "$0")/../.." || exit 1
dir=${B:-build}/headers
warn="-Wall -Wextra -Wconversion -Wshadow -Werror"
bad=0
rm -rf "$dir" && mkdir -p "$dir" || exit 1

use()
{
    cat <<'END'
#include <math.h>
#include "hls/arith/block.h"
#include "hls/arith/mf.h"
#include "hls/arith/philox.h"
MF_FN uint32_t use(uint32_t x)
{
    struct mf_fmt f = {5, 2, 0};
    uint64_t acc = mf_acc_merge(mf_acc_add(f, 0u, x), (uint64_t)mf_acc_bits(f, 9u));
    int t = mf_exp_up_times(x, 3u) + mf_exp_tight(f, x) + mf_bias(f);
    x += mf_enc(f, x, t, MF_STOCHASTIC, MF_INF, philox_u32(philox_key(1u, 2u, 3u, 4u, 5u), x)) + mf_dec(f, x, t);
    x += mf_add(f, x, 1u, MF_SATURATE) + mf_e5m2_trunc_enc(x, 1) + mf_e5m2_trunc_add(x, 2u) + mf_width(f);
    struct mf_num one = nvfp4_one(nvfp4_scale(nvfp4_sum(x), block_num(1u, t)), block_num(3u, 0));
    x += mx_scale(f, x) + nvfp4_enc(mf_unpack(f, x), one) + nvfp4_dec(x, one) + nvfp4_units(x, one) + (uint32_t)nvfp4_exponent(x);
    return x + mf_acc_round(f, acc, 1, f, MF_SATURATE);
}
#ifdef __CUDACC__
__global__ void k_entry(uint32_t *x) { *x = use(*x); }
#endif
uint32_t entry(uint32_t x);
uint32_t entry(uint32_t x) { return use(x); }
END
}

try()
{
    compiler=$1 suffix=$2
    shift 2
    if ! command -v "$compiler" >/dev/null 2>&1; then
        echo "skip: no $compiler"
        return
    fi
    # nvcc, which is slow, compiles all in one file: g++ finds those that need another's includes
    [ "$suffix" = cu ] || for header in hls/*/*.h; do
        printf '#include "%s"\n#include "%s"\nint entry(void);\nint entry(void) { return 0; }\n' "$header" "$header" \
            >"$dir/$(basename "$header" .h).$suffix"
    done
    { printf '#include "%s"\n' hls/*/*.h hls/*/*.h && use; } >"$dir/use.$suffix"
    for file in "$dir"/*."$suffix"; do
        if ! "$compiler" "$@" -I. -c "$file" -o "$dir/$compiler.o"; then
            echo "$file does not compile with $compiler"
            bad=1
        fi
    done
}

# shellcheck disable=SC2086
{
    try gcc c -std=c11 -pedantic $warn
    try clang c -std=c11 -pedantic $warn
    try g++ cpp -std=c++17 -pedantic $warn
    try clang++ cpp -std=c++17 -pedantic $warn
    try nvcc cu -std=c++17 -Werror all-warnings -Xcompiler "$(echo $warn | tr ' ' ,)"
}
# planted SED FILE: without room for all ranks in a card's sums, FILE must not compile
planted()
{
    rm -rf "$dir/planted" && mkdir -p "$dir/planted" && cp -r hls "$dir/planted/" || exit 1
    sed "$1" "hls/$2" >"$dir/planted/hls/$2"
    if cmp -s "hls/$2" "$dir/planted/hls/$2"; then
        echo "nothing to plant in $2: $1" && bad=1
    elif gcc -std=c11 -I"$dir/planted" -fsyntax-only -include hls/core/beat.h -x c /dev/null 2>"$dir/log"; then
        echo "compiles, though sums lack room for all ranks: $1" && bad=1
    elif ! grep -q BEAT_RANKS_FIT "$dir/log"; then
        echo "does not name BEAT_RANKS_FIT: $1" && cat "$dir/log" && bad=1
    fi
}
planted '/^PKT_CONST(MAX_RANKS,/s/64/512/' card/packet.def
planted '/^CARD(SUM4_BITS,/s/15/12/' card/card.def
planted '/^CARD(SUM_BITS,/s/46/38/' card/card.def
[ "$bad" -eq 0 ] && echo "all headers compile"
exit $bad
