#!/bin/bash
# test_train_offload.sh : trains through 1, 2 and 4 simulated cards; the weights must equal those
# over MPI. `check`: only the first case. `long`: more formats and cards, and five cards that are killed.
set -eu
long=''
[ "${1-}" != long ] || long=long
. "$(dirname "$0")/../lib/card_net.sh"

on 4 --steps 12 --algo direct --sum exact >direct.out 2>>stderr
on 4 --steps 12 --algo group-scatter:2 >scatter.out 2>>stderr
direct=$(sum_of direct.out)
same "group-scatter:2" scatter.out "$direct"
through "4 ranks, a card in C of the run's own" "$direct" 4 sim:c --steps 12
through "group-scatter:2 and a card" "$direct" 4 sim:c --steps 12 --algo group-scatter:2
through "4 blocks in 3 processes, and a card" "$direct" 3 sim:c --steps 12 --blocks 4
grep -q '^all-reduce: offload through 1 card' stderr || fail "did not say what it chose: $(cat stderr)"
[ "${1-}" != check ] || exit $bad
if "$n" info | grep -q '^libfabric *none'; then
    echo "skip: built without libfabric: --fabric udp"
else
    through "4 ranks, libfabric's udp" "$direct" 4 sim:c --steps 12 --fabric udp
fi
[ -z "$rtl" ] || through "4 ranks, a Verilated card of the run's own" "$direct" 4 sim --steps 12 --algo offload
through "3 ranks, 4 bits in, 8 bits out" "$(wanted 3 --steps 4 --scale none --format e3m0)" 3 sim:c --steps 4 --scale none --format e3m0
for format in e2m5f e2m1f; do
    finite=$(wanted 4 --steps 4 --format $format)
    through "4 ranks, $format" "$finite" 4 sim:c --steps 4 --format $format
    [ -z "$rtl" ] || [ "$long$format" = e2m1f ] || through "4 ranks, $format, a Verilated card" "$finite" 4 sim --steps 4 --format $format --algo offload
done
narrow=narrow_c
card narrow_c --engine narrow
if [ -n "$rtl" ]; then
    narrow='narrow_c narrow_rtl'
    make -s -C "$here/.." B="$B" "$B/tests/narrow/narrowcast-sim" || fail "no card with Narrow=1 in Verilog"
    cp "$n" "$B/tests/narrow/narrowcast" # starts the narrowcast-sim beside it
    n=$B/tests/narrow/narrowcast card narrow_rtl
fi
for format in '--format e2m5f' '--format e2m5f --scale aps-tight:32 --out-format e2m5f'; do
    # shellcheck disable=SC2086
    finite=$(wanted 4 --steps 4 $format)
    for name in $narrow; do
        [ "$long$name$format" != 'narrow_rtl--format e2m5f' ] || continue
        # shellcheck disable=SC2086
        through "4 ranks, $format, card $name" "$finite" 4 "$(at "$name")" --steps 4 $format
    done
done
for name in $narrow; do
    on 4 --steps 4 --offload "$(at "$name")" >out 2>err || fail "e5m2 and card $name: exit $?"
    [ "$(grep -c 'adds only e1m6f and e2m5f' err)" = 1 ] || fail "e5m2 and card $name: $(cat err)"
    uncard "$name"
done
[ -z "$(hidden_cards)" ] || fail "a card has outlived its run"

bad_net="--drop 0.05 --dup 0.05 --reorder 0.1"
for i in 1 2 ${long:+3 4}; do
    # shellcheck disable=SC2086
    card c$i --engine c $bad_net --seed $i
done
# shellcheck disable=SC2086
[ -z "$rtl" ] || card rtl $bad_net --seed 9
through "a bad network, 1 card" "$direct" 4 "$(at c1)" --steps 12
through "a bad network, 2 cards" "$direct" 4 "$(at c1 c2)" --steps 12 --bucket-bytes 8k
[ -z "$long" ] || through "a bad network, 4 cards" "$direct" 4 "$(at c1 c2 c3 c4)" --steps 12
through "a bad network, 2 cards, 4 blocks in 2 processes" "$direct" 2 "$(at c1 c2)" --steps 12 --blocks 4
through "a layer in fp32 beside 2 cards, 4 blocks in 2 processes" "$(wanted 4 --steps 12 --fp32-last-layer)" 2 "$(at c1 c2)" --steps 12 --blocks 4 --fp32-last-layer
[ -z "$rtl" ] || through "a bad network, a Verilated card" "$direct" 4 "$(at rtl)" --steps 12
for name in c1 ${long:+c4} $rtl; do
    [ "$(counter "$name" IN_RESENT)" -gt 0 ] || fail "no packet of $name was ever sent again: the network was too good"
done

long_run=$(wanted 4 --steps 120)
card steady --engine c
for moment in 1 ${long:+2 3} 4 5; do
    [ "$moment" -lt 4 ] || beside=steady
    case $moment in 2 | 4) algo=group-scatter:2 ;; *) algo=auto ;; esac
    case $moment in 2 | 5) processes=3 blocks='--blocks 4' ;; *) processes=4 blocks='' ;; esac
    killed "$moment" 120 80 --engine c
    same "moment $moment" out "$long_run"
    [ "$moment" -lt 4 ] || grep '"kind":"step"' log | tail -n 1 | grep -q '"offload":true' || fail "moment $moment: the other card did not go on: $(cat err)"
done
beside='' algo=auto processes=4 blocks=''
[ $partly -ge "$([ "$long" ] && echo 3 || echo 1)" ] || fail "only $partly cards died while they were needed"
if [ -n "$rtl" ]; then
    killed "of a Verilated card" 12 6 --engine rtl
    same "a Verilated card that died" out "$direct"
fi

card phoenix --engine c
port=$(sed 's/.*://' phoenix.at)
rm -f log
on 4 --steps 800 --offload "$(at phoenix)" --card-deadline 3 --log "$dir/log" >out 2>err &
run=$!
while kill -0 $run 2>/dev/null && [ "$(steps log)" -lt 20 ]; do sleep 0.01; done
uncard phoenix KILL
"$n" sim --listen "127.0.0.1:$port" --engine c >phoenix.out 2>phoenix.err &
echo $! >phoenix.pid
cards="$cards $!"
wait $run || fail "the run with a card that came back failed: $(cat err)"
[ "$(sed -n 's/.*warning: \(offload [a-z]*\).*/\1/p' err | tr '\n' ';')" = "offload abandoned;offload works;" ] ||
    fail "a card that came back: warnings: $(grep warning err)"
cat err >>stderr
same "a card that came back" out "$(wanted 4 --steps 800)"
grep '"kind":"step"' log | sed 's/.*"offload":\([a-z]*\).*/\1/' | uniq | tr '\n' ' ' >turns
[ "$(cat turns)" = "true false true " ] || fail "a card that came back: steps through it: $(cat turns): $(cat err)"

on 4 --steps 100000 --offload "$(at phoenix)" --log "$dir/log2" >out 2>err &
run=$!
while kill -0 $run 2>/dev/null && [ "$(steps log2)" -lt 5 ]; do sleep 0.05; done
victims=$(pgrep -P "$(pgrep -P $run)" narrowcast)
kill -9 "$(echo "$victims" | sed -n 3p)"
code=0
wait $run || code=$?
[ $code -ne 0 ] || fail "a killed rank went unnoticed"
for pid in $victims; do # may not end otherwise
    while ps -o stat= -p "$pid" | grep -qv '^Z'; do sleep 0.1; done
done
until [ "$(counter phoenix jobs)" = 0 ]; do sleep 0.1; done

refused 'needs cards' on 2 --steps 2 --algo offload
refused 'a card cannot add by --sum nearest' on 2 --steps 2 --algo ring --sum nearest --scale aps --offload sim:c
refused 'a card cannot add fp32: it takes 4, 8 or 16 bits' on 2 --steps 2 --format fp32 --scale none --offload sim:c
refused 'a card cannot add e4m3f: it takes' on 2 --steps 2 --format e4m3f --offload sim:c
refused 'needs an xclbin' on 2 --steps 2 --offload xrt:0000:01:00.1
refused 'is not a card' on 2 --steps 2 --offload xrt:0000:01
refused 'is not a card' "$n" emulate --ranks 2 --steps 2 --offload udp://localhost:9,card7
refused 'udp://' on 2 --steps 2 --offload udp://nowhere
refused 'udp://' on 2 --steps 2 --offload smi
refused 'carrier-pigeon' on 2 --steps 2 --offload sim:c --fabric carrier-pigeon
on 4 --steps 12 --offload udp://127.0.0.1:9 >out 2>err || fail "a card that is not there: exit $?"
same "a card that is not there" out "$direct"
[ "$(grep -c '^narrowcast: warning: offload abandoned: cannot reach card' err)" = 1 ] || fail "a card that is not there: $(cat err)"
exit $bad
