#!/bin/sh
# test_lanes_rtl.sh : with `long`, runs tests of the tile and the card on modules of 8, 16, 32 and 128
# bytes a clock (LaneBytes), and of the card with LiteEth, if that is installed, on 32. Trainings
# whose gradients such a card adds must end with the weights of `--algo direct`.
# test_by8_card_rtl is a quick test. usage: test_lanes_rtl.sh long [BYTES...]
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
case $B in /*) ;; *) B=$PWD/$B ;; esac
[ "${1-}" = long ] || { echo 'skip: without the argument long' && exit 77; }
shift
[ $# -gt 0 ] || set -- 8 16 32 128
command -v "${VERILATOR-verilator}" >/dev/null || { echo 'skip: no verilator' && exit 77; }
bad=0
# trained NARROWCAST OPTIONS...: prints the checksum of the weights for a format of each width
trained() {
    for format in e2m1f e5m2 e5m10; do
        host/ranks.sh 4 "$@" --data synthetic:240,3 --batch 24 --model lenet5 --lr 0.01 --steps 3 \
            --format $format --scale aps-tight 2>&1 | grep "weights checksum"
    done
}
direct=$(trained "$B/narrowcast" train --algo direct)
[ "$(echo "$direct" | wc -l)" = 3 ] || { echo "--algo direct: $direct, not 3 checksums" && bad=1; }
for bytes; do
    dir=$B/lanes_rtl/$bytes
    rm -rf "$dir" && mkdir -p "$dir/rtl" || exit 1
    for built in o flags installed libnarrowcast.a libsim.a rtl/nc_pkg.sv rtl/verilated.o shell; do
        [ ! -e "$B/$built" ] || cp -a "$B/$built" "$dir/$built"
    done
    tests='tile tile8 narrow card card_bad card_stop card_flow narrow_card'
    [ "$bytes" != 32 ] || [ ! -e "$B/shell/eth_sim.v" ] || tests="$tests shell"
    flags="--cc --build -O3 --unroll-count 12 --x-assign fast --x-initial fast -Wno-fatal -GLaneBytes=$bytes"
    for name in $tests; do
        make -s B="$dir" VFLAGS="$flags" "$dir/tests/test_${name}_rtl" && "$dir/tests/test_${name}_rtl" >"$dir/said" 2>&1 && continue
        echo "$bytes bytes a clock: test_${name}_rtl" && tail -5 "$dir/said" && bad=$((bad + 1))
    done
    # The card's program, with the other models of the usual one.
    old=''
    for name in reduce_mm expmax_mm quant_mm unquant_mm control shell; do
        [ -e "$B/rtl/$name" ] || continue
        rm -rf "$dir/rtl/$name" && ln -s "$B/rtl/$name" "$dir/rtl/$name"
        old="$old -o $dir/rtl/$name/model.o"
    done
    # shellcheck disable=SC2086  # a list of words
    make -s $old B="$dir" VFLAGS="$flags" "$dir/narrowcast-sim" && cp "$B/narrowcast" "$dir/"
    sums=$(trained "$dir/narrowcast" train --offload sim --algo offload)
    [ "$sums" = "$direct" ] || { echo "$bytes bytes a clock: $sums, not $direct" && bad=$((bad + 1)); }
    rm -rf "$dir/o"
done
[ $bad -eq 0 ]
