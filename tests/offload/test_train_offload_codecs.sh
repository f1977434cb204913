#!/bin/bash
# test_train_offload_codecs.sh : trains through cards with codecs that need maxima or quantiles. With
# `long` cards of each codec are killed, not only of ternary, and Verilated with each, not only relgrad.
set -eu
# shellcheck source=tests/lib/card_net.sh
. "$(dirname "$0")/../lib/card_net.sh"

bad_net="--drop 0.05 --dup 0.05 --reorder 0.1"
# shellcheck disable=SC2086
card lossy --engine c $bad_net --seed 5
# shellcheck disable=SC2086
[ -z "$rtl" ] || card rtl $bad_net --seed 9
for codec in '--codec ternary' '--format e4m3 --scale quantile:every=3' '--codec relgrad:every=5 --sum exact'; do
    direct=$(wanted 4 --steps 9)
    through "$codec" "$direct" 4 sim:c --steps 9 --algo offload
    through "$codec, overlapped" "$direct" 4 sim:c --steps 9 --overlap on --bucket-bytes 4k
    through "$codec, a bad network" "$direct" 4 "$(at lossy)" --steps 9
    through "$codec, a bad network and 2 processes" "$direct" 2 "$(at lossy)" --steps 9 --blocks 4
    [ -z "$rtl" ] || { [ -z "${1-}" ] && [[ $codec != *relgrad* ]]; } || through "$codec, a Verilated card on a bad network" "$direct" 4 "$(at rtl)" --steps 9
    NARROWCAST_OFFLOAD=$(at lossy) on 4 --steps 9 >out 2>err || fail "$codec, a card of the environment: $(cat err)"
    same "$codec, a card of the environment" out "$direct"
    grep -q '^all-reduce: offload through 1 card' err || fail "$codec: a card of the environment is not used: $(cat err)"
    through "$codec, 10 blocks" "$(wanted 10 --steps 9 --batch 40)" 2 sim:c --steps 9 --blocks 10 --batch 40

    [ -n "${1-}" ] || [[ $codec == *ternary* ]] || continue
    long_run=$(wanted 4 --steps 60) partly=0
    for moment in 1 2 3; do
        killed "$moment of $codec" 60 40 --engine c
        same "moment $moment of $codec" out "$long_run"
    done
    [ $partly -ge 1 ] || fail "$codec: none of 3 cards died while it was needed"
    if [ -n "$rtl" ]; then
        killed "of $codec, Verilated" 12 6 --engine rtl
        same "$codec, a Verilated card that died" out "$(wanted 4 --steps 12)"
    fi
done
if [ -e "$B/emu/libnarrowcast_cuda.so" ]; then
    export NARROWCAST_CUDA="$B/emu/libnarrowcast_cuda.so" NARROWCAST_CONV=first
    codec='--codec ternary'
    on 2 --steps 2 --device cuda --algo direct >direct.out 2>>stderr
    through "gradients on a GPU" "$(sum_of direct.out)" 2 sim:c --steps 2 --device cuda
    unset NARROWCAST_CUDA
else
    echo 'skip: no emulator of GPUs in this build: --device cuda'
fi
[ -z "$(hidden_cards)" ] || fail "a card has outlived its run"
[ "$(counter lossy IN_RESENT)" -gt 0 ] || fail "no packet was ever sent again: the network was too good"

codec=''
refused 'a card cannot add codes of this kind: each rank has scales of its own' on 2 --steps 2 --codec qsgd:4 --offload sim:c
refused 'a card cannot add codes of this kind: each rank has scales of its own' on 2 --steps 2 --codec onebit --offload sim:c
refused 'a card cannot add by --sum trunc: use --sum exact, or leave the card out' on 2 --steps 2 --codec relgrad --offload sim:c
refused 'codes have 2 bits (ternary, with --node-sum)' on 2 --steps 2 --codec ternary --algo group-scatter:2 --node-sum xrt
exit $bad
