#!/bin/bash
# test_emulate_cuda.sh : compares checkpoints of `emulate --device cuda` with those of real ranks,
# and of blocks in 3 processes, that share a GPU or the emulator.
set -u
. "$(dirname "$0")/../lib/in_folder.sh"
. "$here/lib/cuda_train.sh"
common="--data synthetic:80,3 --batch 24 --lr 0.05 --device cuda --warmup 0"

# equal RANKS OPTIONS...: real ranks, emulated ones and blocks end in the same checkpoint
equal() {
    ranks=$1 && shift
    # shellcheck disable=SC2086
    mpirun -np "$ranks" "$B/narrowcast" train $common "$@" --save "$dir/real.ck" >"$dir/out" 2>&1 || fail "$(tail -n 3 "$dir/out")"
    # shellcheck disable=SC2086
    "$B/narrowcast" emulate --ranks "$ranks" $common "$@" --save "$dir/virtual.ck" >"$dir/emulated" 2>&1 || fail "$(tail -n 3 "$dir/emulated")"
    same_state "$dir/real.ck" "$dir/virtual.ck" || fail "$ranks ranks and as many emulated ones differ: $*"
    [ "$ranks" -lt 4 ] || blocks "$@"
    grep -q '^emulated: .* of the GPU$' "$dir/emulated" || fail "no line of the GPU's memory: $(head -n 2 "$dir/emulated")"
}
blocks() {
    # shellcheck disable=SC2086
    mpirun -np 3 "$B/narrowcast" train --blocks "$ranks" $common "$@" --save "$dir/blocks.ck" >"$dir/out" 2>&1 || fail "$(tail -n 3 "$dir/out")"
    same_state "$dir/blocks.ck" "$dir/virtual.ck" || fail "$ranks blocks in 3 processes differ: $*"
}
equal 2 --model resnet8 --batch 8 --steps 2 --format e5m2 --precision fp16 --micro 2
equal 4 --model mlp --steps 2 --codec qsgd:4
equal 4 --model mlp --steps 2 --codec onebit
equal 4 --model lenet5 --steps 2 --format e4m3 --algo group-scatter:2 --round stochastic
# shellcheck disable=SC2086
for memory in full low; do
    "$B/narrowcast" emulate --ranks 4 $common --model lenet5 --steps 2 --micro 2 --sum kahan --format e5m2 --memory $memory --save "$dir/$memory.ck" >"$dir/out" 2>&1 ||
        fail "$(tail -n 3 "$dir/out")"
done
same_state "$dir/full.ck" "$dir/low.ck" || fail '--memory low ends in another checkpoint'
exit $bad
