#!/bin/bash
# loss_scale.sh : what scales of gradients do in e5m10 on CIFAR-10: to gradients, and to test accuracy.
# usage: NARROWCAST_DATA=DIR bench/loss_scale/loss_scale.sh layers                                        (DIR/cifar10 holds the binary batches)
#        NARROWCAST_DATA=DIR bench/loss_scale/loss_scale.sh sweep [resnet20|resnet110 [SEEDS]]
#        bench/loss_scale/loss_scale.sh --table [resnet20|resnet110]         and a chart, $B/loss_scale.svg, of resnet20's
# layers: 200 steps of resnet110, every scheme against fp32 with the same weights and images (bench_loss_scale); a line a layer in
# $B/loss_scale/layers.tsv. sweep: trainings with fp32, the constant scales 1, 2, 4 ... 8192, dynamic and adaptive ones, 5 passes over 10,000 images
# (resnet110: fp32, none and adaptive, 3 over 5,000), seeds "1 2 3"; each finished one is a line of $TABLES/scale-MODEL.tsv and is not run again.
# --table: what is there. TABLES: where they are kept (bench/data). SAMPLES, EPOCHS, RATE: others, for a table of its own.
set -eu
# shellcheck source=bench/usage.sh
. "$(dirname "$0")/../usage.sh"
cd "$(dirname "$0")/../.."
B=${B:-build}
tables=${TABLES:-bench/data}
only=''
case ${1-} in
layers)
    need_data 'cifar10/'
    mkdir -p "$B/loss_scale"
    exec "$B/bench_loss_scale" --data "cifar10:$NARROWCAST_DATA/cifar10" --layers "$B/loss_scale/layers.tsv"
    ;;
--table) only=1 ;;
sweep) ;;
*)
    echo "loss_scale.sh: '${1-}': must be layers, sweep or --table" >&2
    exit 2
    ;;
esac
model=${2:-resnet20} seeds=${3:-1 2 3}
tsv=$tables/scale-$model.tsv
LOGS=$B/loss_scale/$model
case $model in
resnet20)
    samples=10000 epochs=5 rate=0.1
    scales=$(echo none && for ((k = 2; k <= 8192; k *= 2)); do echo $k; done && echo dynamic && echo adaptive)
    ;;
resnet110) # at 0.1 its first steps are chaos in fp32, too
    samples=5000 epochs=3 rate=0.02
    scales=$(printf '%s\n' none adaptive)
    ;;
*)
    echo "loss_scale.sh: '$model': must be resnet20 or resnet110" >&2
    exit 2
    ;;
esac
another='SAMPLES EPOCHS RATE'
. bench/trainings.sh

table() {
    table_of scale fp32 <<<"fp32
$scales"
    [ "$model" = resnet20 ] && [ -s "$tsv" ] && command -v gnuplot >/dev/null || return 0
    mkdir -p "$B"
    FILE=$tsv gnuplot -d bench/loss_scale/loss_scale.gp >"$B/loss_scale.svg" && echo "chart $B/loss_scale.svg" >&2
}
if [ "$only" ]; then
    table
    exit
fi
need_data 'cifar10/'
data=(--data "cifar10:$NARROWCAST_DATA/cifar10")
common="--model $model --format fp32 --scale none --batch 128 --train-samples ${SAMPLES:-$samples} --epochs ${EPOCHS:-$epochs} --lr ${RATE:-$rate}
    --momentum 0.9 --weight-decay 1e-4 --schedule cosine --warmup 1 --augment crop+flip"
for seed in $seeds; do
    # shellcheck disable=SC2086  # options are words
    launch fp32 "$seed" 1 "${data[@]}" $common
    for scale in $scales; do
        # shellcheck disable=SC2086
        launch "$scale" "$seed" 1 "${data[@]}" $common --quant act=e5m10,weight=e5m10,error=e5m10,overflow=inf --loss-scale "$scale"
    done
done
settle 1
table
