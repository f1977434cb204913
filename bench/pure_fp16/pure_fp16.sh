#!/bin/bash
# pure_fp16.sh : pure fp16 beside fp32 and mixed precision on CIFAR-10, by the form of residual blocks; and the batch from which it fails.
# usage: NARROWCAST_DATA=DIR bench/pure_fp16/pure_fp16.sh [--table] [resnet8|resnet20|batches [SEEDS]]      (DIR/cifar10 holds the binary batches)
# resnet8: 20,000 images, every form; resnet20: all 50,000, the paper's form; batches: resnet8, batches doubled and the rate with them, with
# and without LARS. Seeds "1 2 3", of batches "1". 4 ranks, 10 epochs. Each finished training is a line of $TABLES/pure-WHICH.tsv and is not run
# again; --table only prints the tables of what is there. TABLES: where they are kept (bench/data). ROWS: some rows alone, as
# "fp32 pure,swap"; EPOCHS, RATE (not of batches): another number, another rate than 0.1, for a table of its own.
# The last seed's trainings say 16 times an epoch what explains them (pure-WHICH-steps.tsv), by --stats.
set -eu
# shellcheck source=bench/usage.sh
. "$(dirname "$0")/../usage.sh"
cd "$(dirname "$0")/../.."
B=${B:-build}
only=''
[ "${1-}" != --table ] || { only=1 && shift; }
which=${1:-resnet8}
tsv=${TABLES:-bench/data}/pure-$which.tsv
LOGS=$B/pure_fp16/$which

# A row's name, then its options. Mixed: what lies between layers, and the weights that they read, are e5m10's; the optimiser's weights,
# gradients of weights and running statistics are fp32. Gradients of weights travel as fp16 but in fp32's rows.
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
batches) # LARS's rate is 8 at 4096, as in papers/trained.sh
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
*)
    echo "pure_fp16.sh: '$which': must be resnet8, resnet20 or batches" >&2
    exit 2
    ;;
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

# step_of NAME FILE: of what a training's --stats say: name; shares of updates that are lost in the first and in the last tenth of looks, of
# variances too small, of looks that were skipped; the largest value of a node
step_of() {
    awk -v name="$1" '
        function of(key, at) { at = index($0, "\"" key "\":"); if (!at) return "null"; at = substr($0, at + length(key) + 3); sub(/[,}].*/, "", at); return at }
        /"kind":"stats_network"/ { looks++; skipped += of("skipped") == "true"; if (of("updates_lost") != "null") lost[++n] = of("updates_lost") }
        /"kind":"stats_output"/ && of("variances_underflow") != "null" { norms++; small += of("variances_underflow") }
        /"kind":"stats_output"/ { v = of("largest"); if (v == "null") infinite++; else if (v + 0 > most) most = v + 0 }
        END { tenth = int((n + 9) / 10)
              for (i = 1; i <= tenth; i++) { early += lost[i] / tenth; late += lost[n + 1 - i] / tenth }
              if (looks) printf "%s\t%.4f\t%.4f\t%.4f\t%.4f\t%s\n", name, early, late, norms ? small / norms : 0, skipped / looks, infinite ? "inf" : sprintf("%.4g", most) }' "$2"
}

# steps_of WHAT: a row for each of the names on standard input that $steps has
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
# shellcheck disable=SC2086  # options are words
launch_rows 4 --device cpu --data "cifar10:$NARROWCAST_DATA/cifar10" $common
table
