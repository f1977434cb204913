#!/bin/bash
# accuracy_tables.sh : trains for the papers' tables of accuracies at a smaller size (README.md),
# 3 seeds.
# usage: [TABLES=DIR] bench/papers/papers.sh [--table] 4|5|6|7|8|resnet18|cpd|fig6|fig9|fig10|oyama11 [SEEDS]
# Appends to $TABLES/trained.tsv; curves/ has seed 1's accuracy by epoch, for the figures.
# trained-steps.tsv compares seed 2's applied mean gradient with the true one: name, L2 error,
# cosine, share of elements cast to 0, slope, means over steps. "none" has the scale that the papers'
# programs hide (CPD sums or divides before it casts), and their overflow to inf.
set -eu
. "$(dirname "$0")/../usage.sh"
tables=${TABLES:-bench/data}
only=''
[ "${1-}" != --table ] || { only=1 && shift; }
seeds=${2:-1 2 3}
tsv=$tables/trained.tsv curves=$tables/curves/
look_at=2 look_every=8
LOGS=$B/papers/trained
. bench/trainings.sh

# name | the paper's accuracy, % | ranks | options
common='--conv gemm --model resnet8 --train-samples 20000 --batch 512 --epochs 10 --lr 0.4 --momentum 0.9 --weight-decay 1e-4 --schedule cosine
        --warmup 1 --augment crop+flip --sum nearest'
none='--overflow inf --scale const:'
lars='--optimizer lars --lr 8' # the best of 0.8, 3.2 and 8 after 3 epochs of fp32
base=fp32
small="fp32|88.2|8|--format fp32 --scale none --algo ring
e5m2 aps|88.4|8|--format e5m2 --scale aps --algo ring
e5m2 none|88.3|8|--format e5m2 ${none}512 --algo ring
e4m3 aps|88.6|8|--format e4m3 --scale aps --algo ring
e4m3 none|10.0|8|--format e4m3 ${none}512 --algo ring
e3m0 aps|81.3|8|--format e3m0 --scale aps --algo ring
e3m0 none|10.0|8|--format e3m0 ${none}512 --algo ring"
# The program for ResNet-18 multiplies by 1/8 instead of 512.
deep='--conv auto --model resnet18 --width 0.25 --algo ring'
deeper="resnet18 fp32|91.4|8|--format fp32 --scale none $deep
resnet18 e5m2 aps|91.4|8|--format e5m2 --scale aps $deep
resnet18 e5m2 none|90.1|8|--format e5m2 ${none}0.125 $deep
resnet18 e4m3 aps|91.6|8|--format e4m3 --scale aps $deep
resnet18 e4m3 none|90.4|8|--format e4m3 ${none}0.125 $deep
resnet18 e3m0 aps|86.7|8|--format e3m0 --scale aps $deep
resnet18 e3m0 none|10.0|8|--format e3m0 ${none}0.125 $deep"
narrow_sums="$(head -n 2 <<<"$small")
fp32, sums in e5m2|-|8|--format fp32 --scale none --algo direct --sum nearest --acc-format e5m2
fp32, sums in e5m2 by Kahan|-|8|--format fp32 --scale none --algo direct --sum kahan --acc-format e5m2
e5m2 aps, sums by Kahan|-|8|--format e5m2 --scale aps --algo direct --sum kahan"
under_lars="fp32 lars|92.072|8|--format fp32 --scale none --algo ring $lars
e4m3 aps lars|92.44|8|--format e4m3 --scale aps --algo ring $lars
e4m3 none lars|92.036|8|--format e4m3 ${none}0.125 --algo ring $lars
e5m2 aps lars|92.015|8|--format e5m2 --scale aps --algo ring $lars
e5m2 none lars|91.737|8|--format e5m2 ${none}0.125 --algo ring $lars"
# 256 ranks in groups of 16; in fp32 the last layer, unless the name says "all".
e5m2_256="e5m2 aps 256|75.98|256|--format e5m2 --scale aps --algo group-master:16 --fp32-last-layer"
e4m3_256="e4m3 aps 256|75.93|256|--format e4m3 --scale aps --algo group-master:16 --fp32-last-layer"
e5m2_all="e5m2 aps all|75.08|256|--format e5m2 --scale aps --algo group-master:16"
e4m3_all="e4m3 aps all|75.46|256|--format e4m3 --scale aps --algo group-master:16"
large="fp32 256|76.02|256|--format fp32 --scale none --algo group-master:16
$e5m2_256
e5m2 none 256|71.00|256|--format e5m2 ${none}0.00390625 --algo group-master:16 --fp32-last-layer
$e4m3_256
e4m3 none 256|0.1|256|--format e4m3 ${none}0.00390625 --algo group-master:16 --fp32-last-layer
hybrid 256|76.09|256|--format e4m3 --scale aps --algo group-master:16 --fp32-last-layer --first-epochs-fp32 3"
last="$e5m2_all
$e5m2_256
$e4m3_all
$e4m3_256"
groups="e4m3 aps all 32|74.95|256|--format e4m3 --scale aps --algo group-master:32
$e4m3_all
e5m2 aps all 32|74.91|256|--format e5m2 --scale aps --algo group-master:32
$e5m2_all"
stages="fp32|-|8|--format fp32 --scale none --algo ring
relgrad 2 nodes, two stages|-|8|--codec relgrad --algo group-scatter:4 --sum trunc --first-steps-fp32 39
relgrad 2 nodes, one|-|8|--codec relgrad --algo direct --sum trunc --first-steps-fp32 39
relgrad 8 nodes, two stages|-|32|--codec relgrad --algo group-scatter:4 --sum trunc --first-steps-fp32 39
relgrad 8 nodes, one|-|32|--codec relgrad --algo direct --sum trunc --first-steps-fp32 39"

curve=''
case ${1-} in
4) rows=$small ;;
5) rows=$under_lars base='fp32 lars' ;;
resnet18) rows=$deeper base='resnet18 fp32' ;;
cpd) rows=$narrow_sums ;;
fig9) rows=$under_lars curve=1 ;;
6) rows=$large base='fp32 256' ;;
7) rows=$last base='fp32 256' ;;
8) rows=$groups base='fp32 256' ;;
oyama11) rows=$stages ;;
fig6) rows=$small curve=1 ;;
fig10) rows=$large curve=1 ;;
*) echo "accuracy_tables.sh: '${1-}': must be 4 5 6 7 8 resnet18 cpd fig6 fig9 fig10 or oyama11" >&2 && exit 2 ;;
esac

table() {
    echo '| row | runs | test accuracy, mean % | lowest .. highest | to fp32, points | bytes a step and rank | the paper'"'"'s, % |'
    echo '|---|---|---|---|---|---|---|'
    while IFS='|' read -r name paper _; do
        row_of "$name" "$base" | sed "s/\$/ $paper |/"
    done <<<"$rows"
    cut -d "|" -f 1 <<<"$rows" | steps_of row
}

# draw NAME: print the curves as a table, and draw them, but not for --table
draw() {
    local files=() name
    while IFS='|' read -r name _; do
        [ ! -s "$curves${name// /-}.jsonl" ] || files+=("$curves${name// /-}.jsonl")
    done <<<"$rows"
    [ ${#files[@]} -gt 0 ] || return 0
    "$B/narrowcast" plot accuracy "${files[@]}"
    [ "$only" ] || ! command -v gnuplot >/dev/null || "$B/narrowcast" plot accuracy "${files[@]}" --out "$tables/$1.svg"
}

if [ -z "$only" ]; then
    need_data 'cifar10/'
    for seed in $seeds; do
        while IFS='|' read -r name _ ranks options; do
            # shellcheck disable=SC2086
            launch "$name" "$seed" "$ranks" --data "cifar10:$NARROWCAST_DATA/cifar10" $common $options
        done <<<"$rows"
    done
    settle 1
    case $rows in
    "$small" | "$under_lars" | "$large") while IFS='|' read -r name _; do keep_curve "$name"; done <<<"$rows" ;;
    esac
fi
if [ "$curve" ]; then draw "$1"; else table; fi
