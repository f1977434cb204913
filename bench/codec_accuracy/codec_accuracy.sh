#!/bin/bash
# codec_accuracy.sh : measures test accuracy by --codec and format: CIFAR-10, 4 ranks, 10 epochs;
# with lenet5 by the layers that are quantised; with mlp by exponents of layers and of groups:
# Fashion-MNIST, 16 ranks, 5 epochs.
# usage: NARROWCAST_DATA=DIR bench/codec_accuracy/codec_accuracy.sh [--table] [MODEL [SEEDS]]
# DIR/cifar10 holds the binary batches, DIR/fashion-mnist the four .gz files. MODEL: resnet8, lenet5
# or mlp (20,000 images, seeds "1 2 3") or resnet20 (50,000, "1 2"). Appends to $TABLES/MODEL.tsv
# (bench/data); --table prints it.
#
# The last seed of resnet8 also compares the applied means with the fp64 means, ten times per epoch
# (MODEL-steps.tsv). "relgrad,rate" has the other rows' rate divided by 0.76.
set -eu
. "$(dirname "$0")/../usage.sh"
only=''
[ "${1-}" != --table ] || { only=1 && shift; }
model=${1:-resnet8}
tsv=${TABLES:-bench/data}/$model.tsv
LOGS=$B/codec_accuracy/$model

ranks=4 folder=cifar10 kind=cifar10
# name, then options
base=fp32
rows="fp32                  --format fp32 --scale none
qsgd:8                --codec qsgd:8
qsgd:4                --codec qsgd:4
qsgd:2                --codec qsgd:2
onebit:64             --codec onebit:64
relgrad               --codec relgrad"
common='--batch 128 --epochs 10 --lr 0.1 --momentum 0.9 --weight-decay 1e-4 --schedule cosine --warmup 1 --augment crop+flip'
case $model in
resnet8)
    rows+="
fp16                  --format fp16
e5m2                  --format e5m2
e4m3                  --format e4m3
e3m0,tight            --format e3m0 --scale aps-tight
e3m0,tight,stochastic --format e3m0 --scale aps-tight --round stochastic
e1m2,tight            --format e1m2 --scale aps-tight --round stochastic
e1m6,tight            --format e1m6 --scale aps-tight --round stochastic
qsgd:16               --codec qsgd:16
qsgd:1                --codec qsgd:1
qsgd:4,bucket=8192    --codec qsgd:4,bucket=8192
qsgd:4,norm=2         --codec qsgd:4,norm=2
onebit:512            --codec onebit:512
onebit:column         --codec onebit:column
onebit:64,none        --codec onebit:64,residual=none
ternary               --codec ternary
relgrad:gradient      --codec relgrad:of=gradient
relgrad,nearest       --codec relgrad --sum nearest
relgrad,rate          --codec relgrad --lr 0.1316"
    common="--conv gemm --train-samples 20000 $common" # like its first rows
    seeds=${2:-1 2 3}
    look_at=3 look_every=16
    ;;
resnet20) seeds=${2:-1 2} ;;
lenet5)
    rows="fp32           --format fp32 --scale none
onebit:64      --codec onebit:64 --quantise all
onebit:64,conv --codec onebit:64 --quantise conv
onebit:512     --codec onebit:512 --quantise all
onebit:512,conv --codec onebit:512 --quantise conv
onebit:column  --codec onebit:column --quantise all
qsgd:2         --codec qsgd:2 --quantise all
qsgd:2,conv    --codec qsgd:2 --quantise conv"
    common="--train-samples 20000 ${common/--lr 0.1 /--lr 0.02 }" # better in fp32, seed 1
    seeds=${2:-1 2 3}
    ;;
mlp)
    # formats of gradients and results, with :G
    rows="fp32 --format fp32 --scale none"
    for name in e2m3f,e2m3f e2m3f,e2m3f:32 e2m3f:32,e2m3f:32 e3m0,e3m0 e3m0:32,e3m0:32 e2m1f,e2m1f e2m1f,e2m1f:32 \
        e2m1f:32,e2m1f:32 e2m1f,e4m3 e2m1f:32,e4m3; do
        in=${name%,*} format=${name%%[:,]*}
        rows+="
$name --format $format --scale aps-tight${in#"$format"} --out-format ${name#*,}"
    done
    ranks=16 folder=fashion-mnist kind=idx seeds=${2:-1 2 3}
    common="--conv gemm --train-samples 20000 --batch 128 --epochs 5 --lr 0.1 --momentum 0.9 --weight-decay 1e-4 --schedule cosine --warmup 1"
    ;;
*)
    echo "codec_accuracy.sh: '$model': must be resnet8, lenet5, resnet20 or mlp" >&2
    exit 2
    ;;
esac

. bench/trainings.sh

names=$(cut -d " " -f 1 <<<"$rows")
table() {
    table_of codec "$base" <<<"$names"
    steps_of codec <<<"$names"
}
if [ "$only" ]; then
    table
    exit
fi
need_data "$folder/"
# shellcheck disable=SC2086
launch_rows $ranks --data "$kind:$NARROWCAST_DATA/$folder" --model "$model" $common
table
