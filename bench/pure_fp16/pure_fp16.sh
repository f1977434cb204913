#!/bin/bash
# pure_fp16.sh : compares pure fp16 with fp32 and mixed precision on CIFAR-10, by form of residual
# blocks and by batch.
# usage: NARROWCAST_DATA=DIR bench/pure_fp16/pure_fp16.sh [--table] [WHICH [SEEDS]]
# DIR/cifar10 holds the binary batches. WHICH (4 ranks, 10 epochs, SEEDS "1 2 3"; batches: "1"):
#   resnet8    20,000 images, every form of block
#   resnet20   all 50,000 images, the paper's form
#   batches    resnet8, batch and rate doubled repeatedly, with and without LARS
# Appends to $TABLES/pure-WHICH.tsv (bench/data); --table prints it. pure-WHICH-steps.tsv has the
# last seed's --stats of about 16 steps per epoch (batches: of every fourth step). ROWS: only these
# rows ("fp32 pure,swap"). With TABLES, another folder: EPOCHS, and RATE instead of 0.1 (not for
# batches).
set -eu
. "$(dirname "$0")/../usage.sh"
only=''
[ "${1-}" != --table ] || { only=1 && shift; }
which=${1:-resnet8}
tsv=${TABLES:-bench/data}/pure-$which.tsv
LOGS=$B/pure_fp16/$which

# Name, then options. Mixed: activations, their gradients and the weights that layers read are
# e5m10; the optimiser's weights, weight gradients and running statistics fp32. Gradients travel as
# fp16, except in rows of fp32.
mixed='--quant act=e5m10,weight=e5m10,error=e5m10,overflow=inf --format fp16 --scale none'
pure='--precision fp16-pure --format fp16 --scale none'
fp32='--format fp32 --scale none'
base=fp32
rows="fp32 $fp32
fp32,swap $fp32 --block swap
mixed $mixed
mixed,swap $mixed --block swap
pure,swap $pure --block swap"
common="--epochs ${EPOCHS:-10} --momentum 0.9 --weight-decay 1e-4 --schedule cosine --warmup 1 --augment crop+flip"
few='--model resnet8 --train-samples 20000'
usual="--batch 128 --lr ${RATE:-0.1}"
case $which in
resnet8)
    rows+="
pure,swap:1 $pure --block swap:1
pure,plain:0.25 $pure --block plain:0.25
pure,zero-gamma $pure --block zero-gamma
pure,plain $pure"
    common="$few $usual $common"
    look_every=10
    ;;
resnet20)
    common="--model resnet20 $usual $common"
    look_every=24
    ;;
batches) # LARS's rate is 8 at 4096, as in papers/accuracy_tables.sh
    rows=''
    for batch in 256 512 1024 2048 4096 8192; do
        for how in "sgd --lr $((batch / 1280)).$((batch / 128 % 10))" "lars --optimizer lars --lr $((batch / 512)).$((batch % 512 * 5 / 256))"; do
            rows+="${rows:+$'\n'}fp32,${how%% *},$batch $fp32 --block swap --batch $batch ${how#* }"
            rows+=$'\n'"pure,${how%% *},$batch $pure --block swap --batch $batch ${how#* }"
        done
    done
    common="$few $common"
    base=fp32,sgd,256 look_every=4
    ;;
*) refuse "'$which': must be resnet8, resnet20 or batches" ;;
esac
ROWS=${ROWS-}
read -ra asked <<<"${ROWS//$'\n'/ }"
for row in ${asked[@]+"${asked[@]}"}; do
    [[ $'\n'$rows == *$'\n'"$row "* ]] || { echo "pure_fp16.sh: ROWS '$row': there is no such row of $which" >&2 && exit 2; }
done
[ ${#asked[@]} -eq 0 ] || rows=$(while read -r row; do [[ " ${asked[*]} " != *" ${row%% *} "* ]] || echo "$row"; done <<<"$rows")
seeds=${2:-$([ "$which" = batches ] && echo 1 || echo 1 2 3)}
look_at=${seeds##* }

another='EPOCHS RATE'
. bench/trainings.sh

# step_of NAME FILE: print name; from --stats the shares of updates lost in the first and last
# tenth, of variances too small, and of skipped steps; the largest value of a node
step_of() {
    awk -v name="$1" "$json"'
        /"kind":"stats_network"/ { looks++; skipped += value("skipped") == "true"; if (value("updates_lost") ~ /[0-9]/) lost[++n] = value("updates_lost") }
        /"kind":"stats_output"/ && value("variances_underflow") ~ /[0-9]/ { norms++; small += value("variances_underflow") }
        /"kind":"stats_output"/ { v = value("largest"); if (v !~ /[0-9]/) infinite++; else if (v + 0 > most) most = v + 0 }
        END { tenth = int((n + 9) / 10)
              for (i = 1; i <= tenth; i++) { early += lost[i] / tenth; late += lost[n + 1 - i] / tenth }
              if (looks) printf "%s\t%.4f\t%.4f\t%.4f\t%.4f\t%s\n", name, early, late, norms ? small / norms : 0, skipped / looks, infinite ? "inf" : sprintf("%.4g", most) }' "$2"
}

# steps_of WHAT: print a row for each name on standard input that $steps has
steps_of() {
    [ -s "$steps" ] || return 0
    awk -F '\t' -v what="$1" '
        NR == FNR { row[$1] = sprintf("| %s | %.1f | %.1f | %.1f | %.1f | %s |", $1, 100 * $2, 100 * $3, 100 * $4, 100 * $5, $6); next }
        $0 in row { if (!n++) print "\n| " what " | updates lost, %: first tenth | last tenth | variances below 2^-14, % | steps skipped, % | largest value of a node |\n|---|---|---|---|---|---|"; print row[$0] }' "$steps" -
}

names=$(cut -d " " -f 1 <<<"$rows")
table() {
    table_of training "$base" <<<"$names"
    steps_of training <<<"$names"
}
if [ "$only" ]; then
    table
    exit
fi
need_data 'cifar10/'
# shellcheck disable=SC2086
launch_rows 4 --device cpu --data "cifar10:$NARROWCAST_DATA/cifar10" $common
table
