#!/bin/bash
# davidnet.sh : trains davidnet on a GPU as the APS paper's Table 4: CIFAR-10, 8 emulated ranks,
# batch 4096, every format with and without APS.
# usage: NARROWCAST_DATA=DIR bench/papers/davidnet.sh [--table] [SEEDS] [-- MORE OPTIONS OF train]
# DIR/cifar10 holds the six .bin files. Appends to $TABLES/davidnet.tsv ($B; remove it when options
# change); --table prints it. A GPU multiplies in tf32 (factors with e5m10's mantissa, sums in fp32),
# unless -- --precision fp32. Sums are exact; CPD's script rounds each addition in rank order: --
# --algo gather --sum nearest. Environment: NP, the number of ranks [8]; DEVICE [cuda].
set -eu
. "$(dirname "$0")/../usage.sh"
only=''
[ "${1-}" != --table ] || { only=1 && shift; }
tsv=${TABLES:-$B}/davidnet.tsv
DEVICE=${DEVICE:-cuda}
[ "$DEVICE" != cuda ] || JOBS=${JOBS:-1} # one GPU
math=
[ "$DEVICE" != cuda ] || math='--precision tf32' # a CPU has only fp32
. bench/trainings.sh

# Format, scale, overflow | the paper's accuracy. Without APS, CPD sends sums over a rank's 512
# images (here: means), and too large values become inf.
base='fp32 none saturate'
configs="$base|88.2
e5m2 const:512 inf|88.3
e5m2 aps saturate|88.4
e5m2 aps-tight saturate|-
e4m3 const:512 inf|10.0
e4m3 aps saturate|88.6
e4m3 aps-tight saturate|-
e3m0 const:512 inf|10.0
e3m0 aps saturate|81.3
e3m0 aps-tight saturate|-"
# Options of CPD's script (github.com/drcut/CPD, example/DavidNet). It sums the loss over a rank's
# images and the gradients over ranks, and divides the rate of 0.4 by 512. For means over 4096,
# that is 0.4 * 8, with a weight decay of 0.256 / 4096. Departures: no decay of norms and biases; a
# linear warm-up, as in the paper and DavidNet (CPD's script multiplies it by step / warm-up steps
# again).
common="--model davidnet --batch 4096 --epochs 24 --lr 3.2 --schedule linear --warmup 5 --momentum 0.9 --nesterov
        --weight-decay 6.25e-5 --augment crop-reflect+flip+cutout:8"

table() {
    echo "| format, scale, overflow | runs | test accuracy, mean % | lowest .. highest | to fp32, points | bytes a step and rank | the paper's, % |"
    echo "|---|---|---|---|---|---|---|"
    while IFS='|' read -r name paper; do
        row_of "$name" "$base" | sed "s/\$/ $paper |/"
    done <<<"$configs"
}
if [ "$only" ]; then
    table
    exit
fi
need_data 'cifar10/'
seeds=1
[ $# -gt 0 ] && [ "$1" != -- ] && seeds=$1 && shift
[ "${1-}" = -- ] && shift
for seed in $seeds; do
    while IFS='|' read -r name _; do
        read -r format scale overflow <<<"$name"
        # shellcheck disable=SC2086
        launch "$name" "$seed" "${NP:-8}" --data "cifar10:$NARROWCAST_DATA/cifar10" --device "$DEVICE" $math $common \
            --format "$format" --scale "$scale" --overflow "$overflow" "$@"
    done <<<"$configs"
done
settle 1
table
