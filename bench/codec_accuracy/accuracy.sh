#!/bin/bash
# accuracy.sh : measures test accuracy with narrow gradients: Fashion-MNIST, resnet8, 4 ranks, fp32
# and three formats with three scales each, every seed.
# usage: NARROWCAST_DATA=DIR bench/codec_accuracy/accuracy.sh [--table] [SEEDS]
# DIR/fashion-mnist holds the four .gz files; SEEDS: "1 2 3". Appends to $TABLES/fashion-mnist.tsv
# (bench/data); --table prints it.
set -eu
. "$(dirname "$0")/../usage.sh"
only=''
[ "${1-}" != --table ] || { only=1 && shift; }
seeds=${1:-1 2 3}
tsv=${TABLES:-bench/data}/fashion-mnist.tsv
LOGS=$B/codec_accuracy/fashion-mnist
. bench/trainings.sh

# format and scale
base='fp32 none'
configs="$base
e5m2 none
e5m2 aps
e5m2 aps-tight
e4m3 none
e4m3 aps
e4m3 aps-tight
e3m0 none
e3m0 aps
e3m0 aps-tight"
common="--conv gemm --model resnet8 --train-samples 20000 --epochs 5 --batch 128 --lr 0.1 --momentum 0.9 --weight-decay 1e-4
        --schedule cosine --warmup 1 --augment crop+flip --overflow saturate"

table() { table_of "format, scale" "$base" <<<"$configs"; }
if [ "$only" ]; then
    table
    exit
fi
need_data 'fashion-mnist/'
for seed in $seeds; do
    while read -r name; do
        # shellcheck disable=SC2086
        launch "$name" "$seed" 4 --data "idx:$NARROWCAST_DATA/fashion-mnist" $common --format "${name% *}" --scale "${name#* }"
    done <<<"$configs"
done
settle 1
table
