#!/bin/bash
# test_train_shard.sh : `train --shard optimizer` and `--shard all` give the weights and checkpoints of
# a run without shards, resume all three, and refuse what they cannot do. With `long` on more numbers
# of ranks, resumes of each kind by each, and more codecs.
# shellcheck disable=SC2086,SC2317 # options are words; refused calls one()
set -u
. "$(dirname "$0")/../lib/in_folder.sh"

common='--data synthetic:240,3 --batch 48 --steps 6 --device cpu --schedule const'
on() { mpirun -np "$1" "$n" train $common "${@:2}"; }
compared=0 long=${1-}

# same RANKS OPTION...: with `kind` shards
kind=optimizer
same() {
    local p=$1
    shift
    "$n" emulate --ranks "$p" $common --save whole.ck "$@" >whole 2>&1 || fail "$p ranks, $*: $(tail -n 3 whole)"
    on "$p" --save shard.ck --shard $kind "$@" >shard 2>&1 || fail "$p ranks, --shard $kind $*: $(tail -n 3 shard)"
    [[ -n $(sum_of whole) && $(sum_of whole) = "$(sum_of shard)" ]] || fail "$p ranks, $*: other weights with --shard $kind"
    [[ $* == *onebit* ]] || same_state whole.ck shard.ck || fail "$p ranks, $*: another checkpoint with --shard $kind"
    compared=$((compared + 1))
}

for p in 1 3 6 ${long:+2 4}; do same $p --model mlp --micro 2; done
same 4 --model resnet8 --width 0.25 --optimizer adamw --lr 0.001
same 3 --model lenet5 --format e3m0 --nesterov --weight-decay 0.01
same 4 --model mlp --overlap on --bucket-bytes 9k
same 3 --model mlp --codec onebit --bias-lr 2
same 4 --model mlp --format e2m5f --scale aps-tight:32
[ -z "$long" ] || same 2 --model mlp --format fp32 --first-steps-fp32 2
same 4 --model mlp --codec qsgd:4 --first-steps-fp32 3

# released gradients; the last run skips steps
kind=all
for p in 3 ${long:+1 2}; do same $p --model mlp --bucket-bytes 9k; done
same 4 --model resnet8 --width 0.25 --optimizer adamw --lr 0.001 --bucket-bytes 2k
same 3 --model mlp --codec onebit --quantise large
same 2 --model lenet5 --format e2m5f --scale aps-tight:32 --first-steps-fp32 3
same 2 --model mlp --lr 1e6 --bucket-bytes 9k
# velocities, means and weights of half of the 118282 elements
grep -q '^shard  *709692 bytes of states, means and weights on rank 0, without --shard 473128 ' shard || fail "memory: $(cat shard)"
kind=optimizer

# each kind resumes the others' checkpoints
on 4 --model resnet8 --width 0.25 --optimizer adamw --lr 0.001 >whole 2>&1 || fail "whole: $(tail -n 3 whole)"
for first in '' '--shard optimizer' '--shard all'; do
    for then in '' '--shard optimizer' '--shard all'; do
        case $long/$first/$then in //--shard\ optimizer | /--shard\ optimizer/--shard\ all | /--shard\ all/ | long*) ;; *) continue ;; esac
        { on 4 --model resnet8 --width 0.25 --optimizer adamw --lr 0.001 $first --steps 3 --save half.ck >half 2>&1 &&
            on 4 --model resnet8 --width 0.25 --optimizer adamw --lr 0.001 $then --resume half.ck >rest 2>&1; } ||
            fail "'$first', then '$then': $(tail -n 3 half rest)"
        [ "$(sum_of whole)" = "$(sum_of rest)" ] || fail "'$first', then '$then': other weights"
    done
done

# onebit's ranks keep residuals of their ranges of sums
for with in '' '--shard optimizer'; do
    on 3 --model mlp --codec onebit --steps 3 --save half.ck $with >half 2>&1 || fail "onebit $with: $(tail -n 3 half)"
    on 3 --model mlp --codec onebit --resume half.ck $with >rest 2>&1 || fail "onebit $with resumed: $(tail -n 3 rest)"
    on 3 --model mlp --codec onebit >whole 2>&1
    [ "$(sum_of whole)" = "$(sum_of rest)" ] || fail "onebit $with: other weights when resumed"
done
refused "it was made with shard 'optimizer or all', this run has 'no'" mpirun -np 3 "$n" train $common --model mlp --codec onebit --resume half.ck

# narrow weights: the same when resumed, others than in fp32, and fewer bytes
bytes_of() { sed -n 's/^bytes  *\([0-9]*\) .*/\1/p' "$1"; }
on 3 --model mlp --shard optimizer >fp32 2>&1 || fail "fp32: $(tail -n 3 fp32)"
last=$(bytes_of fp32)
for codec in onebit:column ${long:+relgrad}; do
    on 2 --model mlp --codec $codec --shard optimizer --gather delta:e4m3 >whole 2>&1 || fail "$codec, delta: $(tail -n 3 whole)"
    { on 2 --model mlp --codec $codec --shard optimizer --gather delta:e4m3 --steps 3 --save half.ck >half 2>&1 &&
        on 2 --model mlp --codec $codec --shard optimizer --gather delta:e4m3 --resume half.ck >rest 2>&1; } || fail "$codec, delta resumed: $(tail -n 3 half rest)"
    [ "$(sum_of whole)" = "$(sum_of rest)" ] || fail "$codec, delta: other weights when resumed"
done
for gather in bf16 ${long:+delta:e4m3:64} delta:e2m1f:16; do
    on 3 --model mlp --shard optimizer --gather $gather >whole 2>&1 || fail "$gather: $(tail -n 3 whole)"
    { on 3 --model mlp --shard optimizer --gather $gather --steps 3 --save half.ck >half 2>&1 &&
        on 3 --model mlp --shard optimizer --gather $gather --resume half.ck >rest 2>&1; } || fail "$gather resumed: $(tail -n 3 half rest)"
    [ "$(sum_of whole)" = "$(sum_of rest)" ] || fail "$gather: other weights when resumed"
    [ "$(sum_of whole)" != "$(sum_of fp32)" ] || fail "$gather: the weights of fp32"
    [ "$(bytes_of whole)" -lt "$last" ] || fail "$gather: $(bytes_of whole) bytes, not fewer than $last"
    last=$(bytes_of whole)
done
refused "it was made with gather 'delta:e2m1f:16', this run has 'bf16'" "$n" train $common --model mlp --shard optimizer --gather bf16 --resume half.ck

grep -q '^shard  *473136 bytes of states, means and weights on rank 0, without --shard 473128 ' fp32 || fail "memory: $(cat fp32)"

# Released gradients are memory of the rank, and so are codes.
for shard in optimizer all; do
    mpirun -np 2 "$n" train --data synthetic:40,3 --batch 4 --steps 2 --device cpu --model resnet18 --width 0.5 --bucket-bytes 64k --shard $shard \
        --log $shard.log >fp32 2>&1 || fail "memory of $shard: $(tail -n 3 fp32)"
done
figure() { sed -n "s/.*\"$2\":\([0-9]*\).*/\1/p" "$1.log" | tail -n 1; }
less=$(($(figure optimizer gradient_bytes) - $(figure all gradient_bytes)))
[ $less -gt 5000000 ] || fail "gradients: $less bytes less with --shard all"
fell=$(($(figure optimizer peak_rss_bytes) - $(figure all peak_rss_bytes)))
[ $fell -gt $((less * 2 / 3)) ] || fail "peak memory: $fell bytes less, for $less bytes of gradients"

one() { timeout 60 "$n" train $common --model mlp "$@"; }
refused '--gather bf16 needs --shard optimizer' one --gather bf16
refused 'unknown gather "e4m3": need fp32, bf16, fp16, delta:F or delta:F:G' one --shard optimizer --gather e4m3
refused '--optimizer lars needs the norms of whole layers' one --shard optimizer --optimizer lars
refused '--blocks does not work with --shard' one --shard optimizer --blocks 2
refused '--stats does not work with --shard' one --shard optimizer --stats s
refused '--node-sum does not work with --shard: leave one of them out' one --shard optimizer --node-sum xrt
refused '--rescale does not work with --shard: leave one of them out' one --shard optimizer --rescale
refused '--shard needs fp32 gradients of weights' one --shard optimizer --precision fp16-pure
for keeps in '--overlap off' '--micro 2' '--dump-gradients grads'; do
    refused ' keeps all gradients in memory: leave it out, or use --shard optimizer' one --shard all $keeps
done
refused '--device cuda keeps all gradients in memory' timeout 60 "$n" train --model mlp --shard all --device cuda
refused 'cannot reduce-scatter to shards' mpirun -np 2 "$n" train $common --model mlp --shard optimizer --algo ring
refused 'cards cannot reduce-scatter to shards' mpirun -np 2 "$n" train $common --model mlp --shard optimizer --offload sim:c
refused '--shard has no effect on emulated ranks' timeout 60 "$n" emulate --ranks 2 $common --model mlp --shard optimizer

if [ -e "$B/emu/libnarrowcast_cuda.so" ]; then
    export NARROWCAST_CUDA="$B/emu/libnarrowcast_cuda.so" NARROWCAST_CONV=first EMU_DEVICES=4
    common=${common/--device cpu/--device cuda}
    same 3 --model mlp
    same 2 --model lenet5 --optimizer adamw --lr 0.001 --overlap off
    { on 3 --model mlp --shard optimizer --gather bf16 >whole 2>&1 && on 3 --model mlp --shard optimizer --gather bf16 --steps 3 --save half.ck >half 2>&1 &&
        on 3 --model mlp --shard optimizer --gather bf16 --resume half.ck >rest 2>&1; } || fail "bf16 on GPUs: $(tail -n 3 whole half rest)"
    [ "$(sum_of whole)" = "$(sum_of rest)" ] || fail 'bf16 on GPUs: other weights when resumed'
    refused 'cannot gather differences of weights on a GPU' one --shard optimizer --gather delta:e4m3
else
    echo 'skip: no emulator of GPUs in this build: --device cuda'
fi

[ $bad != 0 ] || echo "$compared runs have the weights and the checkpoint of a run without shards"
exit $bad
