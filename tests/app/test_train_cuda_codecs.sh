#!/bin/bash
# test_train_cuda_codecs.sh : trains with `--device cuda --codec`, on a GPU or the emulator. With
# `long` also qsgd and ternary.
set -u
. "$(dirname "$0")/../lib/in_folder.sh"
. "$here/lib/cuda_train.sh"

on() {
    local device=$1 ranks=$2 label=$3
    shift 3
    timeout 120 mpirun -np "$ranks" "$n" train --device "$device" --data synthetic:80,1 --model lenet5 --batch 12 --steps 5 --lr 0.02 --warmup 0 \
        --schedule const "$@" >"$dir/$label.out" 2>"$dir/$label.err" || fail "$label $*: $(tail -n 1 "$dir/$label.err")"
}

# codec RANKS OPTIONS...: on the CPU, on the GPU with overlap, and in two parts, of which the
# second uses only MPI and no overlap
codec() {
    local ranks=$1 words=$2
    shift 2
    on cpu "$ranks" cpu --codec "$words" "$@"
    on cuda "$ranks" whole --codec "$words" --save "$dir/whole.ck" "$@"
    on cuda "$ranks" half --codec "$words" --steps 3 --save "$dir/half.ck" "$@"
    NARROWCAST_GPU_TRANSPORT=pinned on cuda "$ranks" rest --codec "$words" --overlap off --resume "$dir/half.ck" --save "$dir/rest.ck" "$@"
    near "$(loss cpu)" "$(loss whole)" 0.02 "$words: loss on the CPU and on the GPU"
    same whole rest "$words, resumed"
    same_state "$dir/whole.ck" "$dir/rest.ck" || fail "$words: other bits when resumed"
}
[ -z "${1-}" ] || codec 2 qsgd:4
codec 2 onebit:column --quantise all
[ -z "${1-}" ] || codec 3 ternary --quantise all
codec 4 relgrad:every=3,samples=64 --algo group-scatter:2
codec 2 minifloat --format e4m3 --scale quantile:every=2
exit $bad
