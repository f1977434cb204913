#!/bin/bash
# relgrad_caffenet.sh : trains CaffeNet in fp32 and with relgrad, like the fp8 paper's Fig. 8, 11
# and 12 but smaller (README.md). Rows vary eps, of=gradient, and one all-reduce instead of two
# stages.
# usage: NARROWCAST_DATA=DIR bench/codec_accuracy/relgrad_caffenet.sh [--table] [SEEDS]
# DIR/cifar10 holds the binary batches; SEEDS: "1 2". Appends to $TABLES/caffenet.tsv (bench/data);
# --table prints it. bench_shares counts the gradients lost in the middle of fp32's first training,
# into caffenet-shares.md; they take 730 MB in $B.
set -eu
. "$(dirname "$0")/../usage.sh"
only=''
[ "${1-}" != --table ] || { only=1 && shift; }
seeds=${1:-1 2}
tables=${TABLES:-bench/data}
tsv=$tables/caffenet.tsv shares=$tables/caffenet-shares.md
LOGS=$B/codec_accuracy/caffenet dump=$B/codec_accuracy/caffenet-gradients

# Batch, momentum, decay and biases are Caffe's; the rate falls as in the paper's GoogLeNet. It
# rises in the first epoch: otherwise the training fails.
node=4 middle=312 # of 624 steps
common="--conv gemm --model caffenet --image 64 --train-samples 20000 --batch 256 --epochs 8 --lr 0.01 --momentum 0.9 --weight-decay 5e-4 --bias-lr 2
        --schedule poly:0.5 --warmup 1 --augment crop+flip --first-steps-fp32 100"
base=fp32
rows="fp32               --format fp32 --scale none --algo group-scatter:$node
relgrad:eps=1e-3   --codec relgrad:eps=1e-3 --algo group-scatter:$node
relgrad:eps=1e-4   --codec relgrad:eps=1e-4 --algo group-scatter:$node
relgrad:eps=1e-5   --codec relgrad:eps=1e-5 --algo group-scatter:$node
relgrad:gradient   --codec relgrad:of=gradient --algo group-scatter:$node
relgrad,direct     --codec relgrad:eps=1e-5 --algo direct"

. bench/trainings.sh

count_shares() {
    [ -d "$dump" ] || return 0
    "$B/bench_shares" "$dump" --group "$node" >"$shares.new"
    mv "$shares.new" "$shares"
    rm -r "$dump"
}
table() {
    table_of codec "$base" <<<"$(cut -d " " -f 1 <<<"$rows")"
    [ ! -f "$shares" ] || cat "$shares"
}
if [ "$only" ]; then
    table
    exit
fi
need_data 'cifar10/'
for seed in $seeds; do
    while read -r name options; do
        more=()
        [ -f "$shares" ] || [ "$name $seed" != "$base ${seeds%% *}" ] || more=(--dump-gradients "$dump" --dump-first "$middle" --dump-steps 1)
        # shellcheck disable=SC2086
        launch "$name" "$seed" 8 --data "cifar10:$NARROWCAST_DATA/cifar10" $common $options ${more[@]+"${more[@]}"}
    done <<<"$rows"
done
settle 1
count_shares
table
