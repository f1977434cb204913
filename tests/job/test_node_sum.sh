#!/bin/bash
# test_node_sum.sh : trains by group-scatter in one node; a simulated card adds (--node-sum xrt,
# Debian's libxrt_coreutil). A busy, silent or lost card costs one warning and changes no bit.
set -eu
. "$(dirname "$0")/../lib/card_net.sh"
need_xrt
export XILINX_XRT="$B/xrt" NARROWCAST_XCLBIN="$B/narrowcast.sim.xclbin" NARROWCAST_SIM_ENGINE=c
ranks_in "$dir" # holds the lock file of simulated devices

devices() {
    for pid in $(pgrep -f '^narrowcast-sim --fd'); do
        if grep -qzxF "TMPDIR=$dir" "/proc/$pid/environ" 2>/dev/null; then echo "$pid"; fi
    done
}

sums_of() { sed -n 's/^node sums *\([0-9]*\) by card.*/\1/p' "$1"; }

# with LABEL WANTED SUMS RANKS OPTIONS...: all SUMS sums by the card, with this checksum
with() {
    what=$1 wanted=$2 sums=$3 ranks=$4
    shift 4
    on "$ranks" --algo "group-scatter:$ranks" --node-sum xrt "$@" >out 2>err || fail "$what: exit $?: $(cat err)"
    cat err >>stderr
    same "$what" out "$wanted"
    [ "$(sums_of out)" = "$sums" ] || fail "$what: $(grep '^node sums' out), wanted $sums"
    grep -q "^all-reduce: group-scatter:$ranks, added by card xrt" err || fail "$what: did not say who adds: $(cat err)"
    if grep -q warning err; then fail "$what: $(grep warning err)"; fi
}

without() {
    what=$1 wanted=$2 words=$3 ranks=$4
    shift 4
    on "$ranks" --algo "group-scatter:$ranks" --node-sum xrt "$@" >out 2>err || fail "$what: exit $?: $(cat err)"
    cat err >>stderr
    same "$what" out "$wanted"
    [ "$(grep -c warning err)" = 1 ] || fail "$what: said $(grep -c warning err) warnings: $(cat err)"
    grep -q "warning: .*$words.*the ranks add, with the same bits" err || fail "$what: did not say '$words': $(cat err)"
    grep -q '^node sums .*; then by the ranks' out || fail "$what: $(grep '^node sums' out)"
}

on 4 --algo group-scatter:4 --steps 12 >out 2>>stderr
direct=$(sum_of out)
for model in c $rtl; do
    NARROWCAST_SIM_ENGINE=$model with "4 ranks, $model" "$direct" 12 4 --steps 12
done
small="--steps 4 --scale none --format e3m0 --bucket-bytes 4k --fp32-last-layer"
# shellcheck disable=SC2086
with "3 ranks, 4 bits in, 8 bits out, many buckets" "$(wanted 3 $small)" 20 3 $small --overlap on
for codec in '--codec relgrad --sum exact' '--format e4m3 --scale quantile'; do
    with "$codec" "$(wanted 2 --steps 4)" 4 2 --steps 4
done
codec='--format e5m2 --scale aps-tight'
with "1 rank" "$(wanted 1 --steps 4)" 4 1 --steps 4
with "16 bits" "$(wanted 2 --steps 4 --format fp16 --first-epochs-fp32 0)" 4 2 --steps 4 --format fp16
with "fp32 first" "$(wanted 2 --steps 12 --first-epochs-fp32 1)" 2 2 --steps 12 --first-epochs-fp32 1

if [ -e "$B/emu/libnarrowcast_cuda.so" ]; then
    export NARROWCAST_CUDA="$B/emu/libnarrowcast_cuda.so" NARROWCAST_CONV=first
    with "gradients on a GPU" "$(wanted 2 --steps 2 --device cuda)" 2 2 --steps 2 --device cuda
    unset NARROWCAST_CUDA
else
    echo 'skip: no emulator of GPUs in this build: --device cuda'
fi

mkfifo pipe
head -c 70000 /dev/zero >same # more than a pipe holds: when all is written, the reader has its card
{ cat same && : >reading && exec sleep 600; } >pipe &
holds=$!
"$n" reduce --on xrt --format e4m3 pipe same sum >reduce.out 2>&1 &
busy=$!
cards="$cards $holds $busy"
while [ ! -e reading ] && kill -0 $busy 2>/dev/null; do sleep 0.05; done
without "a busy card" "$direct" 'reduce_mm' 4 --steps 12
kill $holds
wait $busy || fail "the other user of the card: $(cat reduce.out)"

for fault in dies:30 dies:200 run-hangs read-hangs; do
    NARROWCAST_SIM_FAULT=$fault without "$fault" "$direct" 'card xrt' 4 --steps 12 --card-deadline 1
done
long=$(wanted 3 --steps 150)
on 3 --steps 150 --algo group-scatter:3 --node-sum xrt --log log >out 2>err &
job=$!
while kill -0 $job 2>/dev/null && [ "$(steps log)" -lt 20 ]; do sleep 0.05; done
[ "$(devices | wc -l)" = 1 ] || fail "a device that is to be killed: $(devices)"
for pid in $(devices); do kill -KILL "$pid"; done
wait $job || fail "a device that is killed: exit $?: $(cat err)"
same "a device that is killed" out "$long"
[ "$(grep -c 'warning: node sums by the card abandoned' err)" = 1 ] || fail "a device that is killed: $(cat err)"
[ -z "$(devices)" ] || fail "a simulated device has outlived its program"


# shellcheck disable=SC2317 # refused calls it
by_card() {
    local ranks=$1
    shift
    on "$ranks" --steps 4 --node-sum xrt "$@"
}
refused 'cannot serve 2 nodes' by_card 4 --algo group-scatter:2
refused 'needs --algo group-scatter:2, one node of all ranks, not direct' by_card 2
refused 'needs --algo group-scatter:2, one node of all ranks, not ring' by_card 2 --algo ring --sum nearest --scale aps
refused '--sum nearest' by_card 2 --algo group-scatter:2 --sum nearest --scale aps
refused 'cannot add e3m2' by_card 2 --algo group-scatter:2 --format e3m2
refused "unknown --node-sum 'card'" by_card 2 --algo group-scatter:2 --node-sum card
refused 'it is not an xclbin' by_card 2 --algo group-scatter:2 --xclbin "$n"
refused 'nosuch.xclbin' by_card 2 --algo group-scatter:2 --xclbin nosuch.xclbin
XILINX_XRT='' refused 'XILINX_XRT' by_card 2 --algo group-scatter:2
NARROWCAST_XRT=/no/where.so refused '/no/where.so' by_card 2 --algo group-scatter:2
refused 'device 7' by_card 2 --algo group-scatter:2 --node-sum xrt:7
refused 'device 0000:65:00.1' by_card 2 --algo group-scatter:2 --node-sum xrt:65:00.1
exit $bad
