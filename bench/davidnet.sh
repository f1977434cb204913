#!/bin/bash
# davidnet.sh : CIFAR-10 on a GPU as in the APS paper's Table 4: davidnet, 8 ranks, batch 4096, every format with and without a scale.
# usage: NARROWCAST_DATA=DIR bench/davidnet.sh [--table] [SEEDS] [-- MORE OPTIONS OF train]   (DIR/cifar10 holds the six .bin files)
# Each finished training is a line of $B/davidnet.tsv and is not run again; --table only prints the table of what is there.
set -eu
cd "$(dirname "$0")/.."
B=${B:-build}
tsv=$B/davidnet.tsv
mkdir -p "$B"
touch "$tsv"
. bench/trainings.sh

# format, scale and what overflows, as in the paper, where sums without a scale end in inf | what the paper's table has
base='fp32 none saturate'
configs="$base|88.2
e5m2 none inf|88.3
e5m2 aps saturate|88.4
e5m2 aps-tight saturate|-
e4m3 none inf|10.0
e4m3 aps saturate|88.6
e4m3 aps-tight saturate|-
e3m0 none inf|10.0
e3m0 aps saturate|81.3
e3m0 aps-tight saturate|-"
# The loss of a step is a mean here, where DavidNet sums it and divides the rate by the batch: its weight decay of 0.256 is
# 0.256 / 4096. Its cutout of 8x8 pixels is not among our augmentations.
common="--model davidnet --batch 4096 --epochs 25 --lr 0.4 --schedule linear --warmup 5 --momentum 0.9 --nesterov
        --weight-decay 6.25e-5 --augment crop+flip"

table() {
    echo "| format, scale, overflow | runs | test accuracy, mean % | lowest .. highest | to fp32, points | bytes a step and rank | the paper's, % |"
    echo "|---|---|---|---|---|---|---|"
    while IFS='|' read -r name paper; do
        row_of "$name" "$base" | sed "s/\$/ $paper |/"
    done <<<"$configs"
}
if [ "${1-}" = --table ]; then
    table
    exit
fi
: "${NARROWCAST_DATA:?set it to the folder that holds cifar10/}"
seeds=1
[ $# -gt 0 ] && [ "$1" != -- ] && seeds=$1 && shift
[ "${1-}" = -- ] && shift
for seed in $seeds; do
    while IFS='|' read -r name _; do
        read -r format scale overflow <<<"$name"
        # shellcheck disable=SC2086  # options are words
        launch "$name" "$seed" "${NP:-8}" --data "cifar10:$NARROWCAST_DATA/cifar10" --device "${DEVICE:-cuda}" $common \
            --format "$format" --scale "$scale" --overflow "$overflow" "$@"
    done <<<"$configs"
done
settle 1
table
