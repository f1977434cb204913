#!/bin/bash
# test_blocks.sh : `train --blocks V` gives the same weights, state and log on any number of
# processes. `long`: all networks, formats, scales, codecs and algorithms, and V = 64.
set -u
. "$(dirname "$0")/../lib/in_folder.sh"
compared=0
common="--data synthetic:240,3 --batch 48 --lr 0.05"
# shellcheck disable=SC2086  # words
on() { mpirun -np "$1" "$n" train $common --blocks "$2" $cards "${@:3}"; }
cards=

# same BLOCKS "PROCESSES..." OPTIONS...: all runs must end in the checkpoint of `emulate`
same() {
    local blocks=$1 processes=$2 p
    shift 2
    rm -f one.ck
    # shellcheck disable=SC2086
    "$n" emulate $common --ranks "$blocks" --save one.ck --log one.jsonl "$@" >out 2>&1 || fail "emulate $*: $(tail -n 3 out)"
    for p in $processes; do
        rm -f many.ck
        on "$p" "$blocks" --save many.ck --log many.jsonl "$@" >out 2>&1 || fail "$p processes, $blocks blocks $*: $(tail -n 3 out)"
        same_state one.ck many.ck || fail "$p processes, $blocks blocks: another checkpoint: $*"
        diff <(timeless one.jsonl) <(timeless many.jsonl) >differs || fail "$p processes, $blocks blocks: another log: $*: $(head -n 4 differs)"
        compared=$((compared + 1))
    done
}

e5m2='--format e5m2 --scale aps'
if [ "${1-}" = long ]; then
    seq 9000 >text
    "$n" sim --listen 127.0.0.1:0 --engine c --drop 0.05 --reorder 0.1 --seed 3 >card.out 2>card.err &
    trap 'kill %1; rm -rf "$dir"' EXIT
    until grep -qs '^listening on ' card.out; do sleep 0.1; done
    lossy=udp://$(sed -n 's/^listening on //p' card.out)
    for blocks in 8 12; do
        for data in '--model lenet5' '--model resnet8' '--model charlstm --data text:text --width 0.1'; do
            for codec in "$e5m2" '--format e5m2 --scale aps-tight' '--format e4m3 --scale aps' '--format e4m3 --scale aps-tight' '--format e3m4 --scale aps-tight' \
                '--format e3m0 --scale aps' '--format e2m5f --scale aps-tight' '--format e2m5f --scale aps-tight:32' '--codec ternary' '--codec onebit' '--codec qsgd:4' '--codec nvfp4'; do
                for algo in auto direct gather-sum group-scatter:2 sim:c "$lossy"; do
                    case "$codec $algo" in *onebit*group* | *qsgd*group* | *nvfp4*group* | *onebit*sim* | *qsgd*sim* | *nvfp4*sim* | *e2m5f*sim* | *onebit*udp* | *qsgd*udp* | *nvfp4*udp* | *e2m5f*udp*) continue ;; esac
                    case $algo in sim:c | udp*) cards="--offload $algo" algo=auto ;; *) cards= ;; esac
                    # shellcheck disable=SC2086
                    same $blocks '1 2 3 5 8' --steps 3 $data $codec --algo $algo
                done
            done
            cards=
            echo "$blocks blocks of $data: $compared runs compared"
        done
    done
    for sum in nearest trunc kahan fp32; do same 8 '1 3 8' --steps 3 --model resnet8 --format e5m2 --sum $sum; done
    same 8 '1 3 8' --steps 3 --model mlp --algo ring --format e5m2 --sum nearest
    same 8 '1 3 8' --steps 3 --model mlp --algo group-master:2 --format e5m2 --sum nearest
    common="--data synthetic:640,3 --batch 128 --lr 0.05"
    # shellcheck disable=SC2086
    same 64 '3 7' --steps 3 --model mlp $e5m2
    common="--data synthetic:240,3 --batch 48 --lr 0.05"
else
    # shellcheck disable=SC2086
    same 6 '1 2 4 6' --steps 5 --model resnet8 $e5m2 --fp32-last-layer --first-steps-fp32 1
    same 8 '2 3 4' --steps 4 --model lenet5 --format e4m3 --scale aps --first-steps-fp32 1 --fp32-last-layer
    same 6 '3' --steps 3 --model mlp --algo group-scatter:2 --format e4m3 --scale aps-tight --bucket-bytes 4k
    same 6 '4' --steps 3 --model mlp --algo ring --format e5m2 --sum nearest --scale const:4
    same 4 '3' --steps 3 --model mlp --codec onebit:column
    same 4 '3' --steps 3 --model mlp --codec qsgd:4
    same 6 '4' --steps 3 --model resnet8 --format e2m5f --scale aps-tight:32
    same 4 '3' --steps 3 --model lenet5 --format e3m0 --scale aps --round stochastic --optimizer lars
    same 4 '3' --steps 3 --model mlp --codec relgrad
    same 4 '2' --steps 3 --model mlp --precision fp16-pure --loss-scale adaptive
fi

chain="--model resnet8 --schedule const --codec onebit"
# shellcheck disable=SC2086
{
    on 1 6 $chain --steps 8 --save whole.ck
    on 6 6 $chain --steps 2 --save ck
    on 4 6 $chain --steps 4 --resume ck --save ck
    on 5 6 $chain --steps 5 --resume ck --save ck
    on 1 6 $chain --steps 8 --resume ck --save ck
    same_state whole.ck ck || fail "6 -> 4 -> 5 -> 1 processes: another checkpoint"
    mpirun -np 6 "$n" train $common $chain --steps 3 --save ck
    on 2 6 $chain --steps 8 --resume ck --save ck
    same_state whole.ck ck || fail "6 real ranks -> 2 processes: another checkpoint"
} >out 2>&1
same_state whole.ck ck || fail "$(tail -n 3 out)"

on 2 6 --steps 2 --model mlp >out 2>said || fail "6 blocks: $(tail -n 2 said)"
grep -q '^run  *6 blocks, 2 processes, 2 steps of 48 images' out || fail "summary: $(cat out)"
on 2 2 --steps 2 --model mlp >out 2>said || fail "2 blocks: $(tail -n 2 said)"
grep -q '^run  *2 blocks, 2 processes, 2 steps' out || fail "summary: $(cat out)"

# --- a process adds its blocks first if that saves bytes: e4m3: 20 bits of a sum, 8 of a result ---
on 2 8 --steps 2 --model mlp --format e4m3 --scale aps --quantise all --log bytes.jsonl >out 2>said || fail "8 blocks: $(tail -n 2 said)"
grep -q 'all-reduce group-scatter:4$' out || fail "8 blocks in 2 processes: $(cat out)"
awk -v n=118282 -F '"mean_sent_bytes":' '/mean_sent_bytes/ { split($2, b, ","); bytes = b[1] + 0 }
    END { exit !(bytes >= n / 2 * 3.5 && bytes < 1.01 * n / 2 * 3.5) }' bytes.jsonl || fail "bytes of 8 blocks in 2 processes: $(grep -o '"mean_sent_bytes":[^,]*' bytes.jsonl)"

# shellcheck disable=SC2016,SC2086
timeout 60 mpirun -np 2 sh -c '[ "$OMPI_COMM_WORLD_RANK" = 0 ] || { while kill -0 $$ && ! grep -qs "\"kind\":\"step\"" died.jsonl; do sleep 0.05; done; kill -9 $$; } 2>/dev/null &
    exec "$@"' sh "$n" train $common --blocks 4 --model mlp --steps 1000000 --deadline 3 --log died.jsonl >out 2>said
code=$?
case $code in 5 | 104 | 137) ;; *) fail "a process was killed after a step: exit $code: $(cat out said)" ;; esac # as in ranks.sh

refused '--blocks 2 is less than the 3 processes: need at least 3' on 3 2
refused 'must be a multiple of 7' on 2 7
refused "--node-sum xrt does not work with --blocks" on 2 4 --node-sum xrt --algo group-scatter:2
refused '--trace does not work with --blocks' on 2 4 --trace t.json
refused '--overlap on does not work with --blocks' on 2 4 --overlap on
refused 'cannot run "native" with virtual ranks' on 4 4 --algo native --format fp32
# Open MPI 5.0.7's mpirun crashes when two programs are given.
# shellcheck disable=SC2016,SC2086,SC2317
different() { mpirun -np 2 sh -c 'blocks=$1; [ "$OMPI_COMM_WORLD_RANK" = 0 ] || blocks=$2; shift 2; exec "$@" --blocks "$blocks"' sh "$1" "$2" "$n" train $common; }
refused '--blocks differs between ranks' different 2 4
refused '--blocks differs between ranks' different 4 0
refused "--blocks '-1'" on 2 -1
refused '--blocks has no effect on emulated ranks' "$n" emulate --ranks 4 --blocks 4
[ "$compared" -ge 10 ] || fail "compared only $compared runs"
exit $bad
