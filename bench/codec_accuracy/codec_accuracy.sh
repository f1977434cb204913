#!/bin/bash
# codec_accuracy.sh : measures test accuracy by --codec and format: CIFAR-10, 4 ranks, 10 epochs;
# with lenet5 by the layers that are quantised; with mlp by exponents of layers and of groups:
# Fashion-MNIST, 16 ranks, 5 epochs.
# usage: NARROWCAST_DATA=DIR bench/codec_accuracy/codec_accuracy.sh [--table] [MODEL [SEEDS]]
# DIR/cifar10 holds the binary batches, DIR/fashion-mnist the four .gz files. MODEL: resnet8, lenet5
# or mlp (20,000 images, seeds "1 2 3") or resnet20 (50,000, "1 2"), or full: resnet20 for 60 epochs,
# each row at the best of three rates of seed 0 after 10 epochs (rows "NAME RATE"), or all rows at
# RATE, which needs TABLES. Appends to $TABLES/MODEL.tsv (bench/data); --table prints it. With full,
# a stopped script continues from checkpoints of each epoch, ROWS="NAME ..." selects rows, and
# DEVICE=cuda trains on a GPU (a table is of one device).
#
# The last seed of resnet8 also compares the applied means with the fp64 means, ten times per epoch
# (MODEL-steps.tsv). "relgrad,rate" has the other rows' rate divided by 0.76.
set -eu
. "$(dirname "$0")/../usage.sh"
only=''
[ "${1-}" != --table ] || { only=1 && shift; }
model=${1:-resnet8}
DEVICE=${DEVICE:-cpu}
[ "$DEVICE" = cpu ] || [ "$model" = full ] || refuse "DEVICE '$DEVICE': only full trains on a GPU"
[ "$model" = full ] || [ -z "${RATE-}${ROWS-}" ] || refuse 'RATE and ROWS: only full has them'
[ "$DEVICE" = cpu ] || JOBS=${JOBS:-1} # one GPU
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
full)
    rows="fp32       --format fp32 --scale none
e5m2       --format e5m2
e4m3       --format e4m3
e3m4,tight --format e3m4 --scale aps-tight
e2m5f:32   --format e2m5f --scale aps-tight:32
e3m0,tight --format e3m0 --scale aps-tight
e3m0,e3m0  --format e3m0 --scale aps-tight --out-format e3m0
qsgd:4     --codec qsgd:4
qsgd:2     --codec qsgd:2
onebit:64  --codec onebit:64
relgrad,nearest --codec relgrad --sum nearest
relgrad    --codec relgrad"
    seeds=${2:-1 2} save=390
    ;;
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
*) refuse "'$model': must be resnet8, lenet5, resnet20, mlp or full" ;;
esac

if [ "${ROWS-}" ]; then
    rows=$(for name in $ROWS; do grep "^$name " <<<"$rows" || refuse "ROWS: there is no row '$name'"; done)
fi
another=RATE
. bench/trainings.sh

names=$(cut -d " " -f 1 <<<"$rows")
trials=''
[ "$model" != full ] || [ "${RATE-}" ] || trials=$(while read -r name options; do printf "$name %s $options\n" 0.05 0.1 0.2; done <<<"$rows")
table() {
    table_of codec "$base" <<<"$names"
    [ -z "$trials" ] || ! grep -q '	0	' "$tsv" || { echo && table_of 'codec, rate' '' < <(cut -d " " -f 1,2 <<<"$trials"); }
    steps_of codec <<<"$names"
}
# best_rate NAME: print the rate of NAME's best trial, the smallest of equal ones
best_rate() {
    awk -F '[ \t]' -v name="$1" '$1 == name && $3 == 0 && $4 != "diverged" && ($4 > best || $4 == best && $2 < rate) { best = $4; rate = $2 } END { print rate }' "$tsv"
}
if [ "$only" ]; then
    table
    exit
fi
need_data "$folder/"
data=(--data "$kind:$NARROWCAST_DATA/$folder")
options="--model ${model/full/resnet20} $common"
[ "$DEVICE" = cpu ] || options="--device $DEVICE $options"
# shellcheck disable=SC2086
while read -r name rate more; do
    [ -z "$name" ] || launch "$name $rate" 0 $ranks "${data[@]}" $options $more --lr "$rate"
done <<<"$trials"
settle 1
[ "$model" != full ] || rows=$(while read -r name more; do
    rate=${RATE:-$(best_rate "$name")}
    if [ "$rate" ]; then echo "$name $more --epochs 60 --lr $rate"; else echo "$name: all trials diverged" >&2; fi
done <<<"$rows")
# shellcheck disable=SC2086
launch_rows $ranks "${data[@]}" $options
table
