#!/bin/bash
# relgrad_quantiles.sh : shows relgrad's quantiles over a training of CaffeNet, and histograms and
# matrices of conv2's weights, gradients and their ratio, like the fp8 paper's Fig. 9, 10 and 12.
# usage: NARROWCAST_DATA=DIR bench/codec_accuracy/relgrad_quantiles.sh [--table]
# DIR/cifar10 holds the binary batches. Appends to $TABLES/caffenet-quantiles.tsv (bench/data):
# step, layer, quantile. caffenet-conv2.tsv describes the last step. Columns: tensor; standard
# deviation of its values within the 99 % quantile, divided by that quantile; shares of 40 bins from
# -1 to 1. --table prints both and, with gnuplot, draws $B/relgrad-quantiles.svg, relgrad-histogram.svg and, in the build folder that
# trained, relgrad-matrices.png. The last step's gradients and a checkpoint take 900 MB in $B.
# STEPS, a rising list, replaces "1 40 101 201 301 401 501 624"; it needs TABLES, another folder.
set -euo pipefail
. "$(dirname "$0")/../usage.sh"
only=''
[ "${1-}" != --table ] || { only=1 && shift; }
[ $# = 0 ] || refuse "'$1': must be --table or nothing"
tables=${TABLES:-bench/data}
quantiles=$tables/caffenet-quantiles.tsv bins=$tables/caffenet-conv2.tsv
dump=$B/codec_accuracy/seen ckpt=$B/codec_accuracy/seen.ckpt matrices=$B/codec_accuracy/seen-conv2
[ -z "${STEPS-}" ] || [ -n "${TABLES-}" ] || refuse 'STEPS makes a table of its own: say where it is kept (TABLES=FOLDER)'
steps=${STEPS:-1 40 101 201 301 401 501 624}
before=0
for step in $steps; do
    whole STEPS "$step" 'numbers of steps'
    [ "$step" -gt "$before" ] || refuse "STEPS '$steps': must rise"
    before=$step
done
layer=conv2.weight node=4 # ranks of a node

# As relgrad_caffenet.sh, but at a constant rate, as a run must become longer step by step.
common="--model caffenet --image 64 --train-samples 20000 --batch 256 --lr 0.01 --momentum 0.9 --weight-decay 5e-4 --bias-lr 2 --schedule const
        --warmup 1 --augment crop+flip --first-steps-fp32 100 --codec relgrad:eps=1e-5 --algo group-scatter:$node --ranks 8"

# train_to STEP: train on, and dump this step
train_to() {
    local resume=()
    [ ! -s "$ckpt" ] || resume=(--resume "$ckpt")
    rm -rf "$dump"
    # shellcheck disable=SC2086
    "$B/narrowcast" emulate $common --data "cifar10:$NARROWCAST_DATA/cifar10" --steps "$1" ${resume[@]+"${resume[@]}"} --save "$ckpt.new" \
        --dump-gradients "$dump" --dump-first $(($1 - 1)) --dump-steps 1 >"$dump.out" 2>&1 ||
        { tail -n 5 "$dump.out" >&2 && refuse "step $1 failed, see $dump.out"; }
    compgen -G "$dump/step*.weights.f32" >/dev/null || refuse "step $1: $ckpt is of a later one: remove it"
}

# quantiles_of STEP: print step, layer, quantile with eps = 1e-5
quantiles_of() {
    "$B/bench_shares" "$dump" --group $node --json | sed -n \
        "s/.*\"codec\":\"relgrad:eps=1e-5\",\"node\":$node,\"layer\":\"\([^\"]*\)\".*\"q\":\([0-9.e+-]*\).*/$1\t\1\t\2/p"
}

# floats NAME: print the layer's numbers of a file of the dump
floats() {
    local file first n
    file=$(compgen -G "$dump/step*.$1.f32")
    read -r first n <<<"$(awk -v layer=$layer '$1 == layer { print $2, $3 }' "$dump/layers.txt")"
    od -An -v -w4 -t f4 -j $((4 * first)) -N $((4 * n)) "$file"
}

# conv2: print the table of weight, rank 0's gradient and their ratio, each divided by its 99 %
# quantile; $matrices has the numbers
conv2() {
    local at n
    paste <(floats weights) <(floats rank0) | awk '{ w = $1 < 0 ? -$1 : $1; print $1, $2, $2 / (w + 1e-5) }' >"$matrices.raw"
    n=$(wc -l <"$matrices.raw")
    for at in 1 2 3; do
        awk -v at=$at '{ print $at < 0 ? -$at : $at }' "$matrices.raw" | LC_ALL=C sort -g >"$matrices.sorted"
        sed -n "$((n * 99 / 100))p" "$matrices.sorted"
    done >"$matrices.q"
    awk 'NR == FNR { q[++n] = $1 ? $1 : 1; next } { print $1 / q[1], $2 / q[2], $3 / q[3] }' "$matrices.q" "$matrices.raw" >"$matrices"
    rm "$matrices.raw" "$matrices.sorted" "$matrices.q"
    for at in 1 2 3; do
        awk -v at=$at '
            BEGIN { split("weight gradient ratio", name, " ") }
            $at >= -1 && $at <= 1 { n++; sum += $at; squares += $at * $at; i = int(20 * ($at + 1)); bin[i > 39 ? 39 : i]++ }
            END { printf "%s\t%.4f", name[at], sqrt(squares / n - (sum / n) ^ 2)
                  for (i = 0; i < 40; i++) printf "\t%.5f", bin[i] / n
                  print "" }' "$matrices"
    done
}

table() {
    [ -s "$quantiles" ] || return 0
    awk -F '\t' '
        !($1 in seen) { seen[$1] = ++n; step[n] = $1 }
        !($2 in known) { known[$2] = ++m; layer[m] = $2 }
        { q[$1, $2] = $3 }
        $3 > 0 { if (!most[$1] || $3 > most[$1]) most[$1] = $3; if (!least[$1] || $3 < least[$1]) least[$1] = $3 }
        END { printf "| quantile in step |"; for (i = 1; i <= n; i++) printf " %s |", step[i]
              printf "\n|---|"; for (i = 1; i <= n; i++) printf "---|"
              for (k = 1; k <= m; k++) {
                  printf "\n| %s |", layer[k]
                  for (i = 1; i <= n; i++) if ((step[i], layer[k]) in q) printf " %.2g |", q[step[i], layer[k]]; else printf " - |"
              }
              printf "\n| largest / smallest |"
              for (i = 1; i <= n; i++) if (least[step[i]]) printf " %.3g |", most[step[i]] / least[step[i]]; else printf " - |"
              print "" }' "$quantiles"
    [ ! -s "$bins" ] || { printf '\n| %s | deviation, in 99 %% quantiles |\n|---|---|\n' "$layer" && awk -F '\t' '{ printf "| %s | %.3f |\n", $1, $2 }' "$bins"; }
    draw
}

# draw: draw what there is, each chart by itself
draw() {
    local chart file
    command -v gnuplot >/dev/null && [ -d "$B" ] || return 0
    for chart in quantiles:svg histogram:svg matrices:png; do
        case $chart in histogram*) [ -s "$bins" ] || continue ;; matrices*) [ -s "$matrices" ] || continue ;; esac
        file=$B/relgrad-${chart%:*}.${chart#*:}
        CHART=${chart%:*} QUANTILES=$quantiles BINS=$bins MATRICES=$matrices gnuplot -d bench/codec_accuracy/relgrad_quantiles.gp >"$file.new"
        mv "$file.new" "$file"
        echo "chart $file" >&2
    done
}

if [ "$only" ]; then
    table
    exit
fi
need_data 'cifar10/'
mkdir -p "$tables" "$B/codec_accuracy"
exec {lock}>>"$B/codec_accuracy/seen.lock"
flock "$lock"
touch "$quantiles"
[ -s "$quantiles" ] || rm -f "$ckpt"
for step in $steps; do
    ! grep -q "^$step	" "$quantiles" || continue
    echo "relgrad_quantiles.sh: step $step" >&2
    train_to "$step"
    quantiles_of "$step" >"$quantiles.new"
    [ -s "$quantiles.new" ] || refuse "step $step: bench_shares names no quantile"
    conv2 >"$bins.new"
    # Stopped before the table is complete, the step runs again from the older checkpoint.
    cat "$quantiles" "$quantiles.new" >"$quantiles.all"
    mv "$bins.new" "$bins"
    mv "$quantiles.all" "$quantiles"
    mv "$ckpt.new" "$ckpt"
    rm "$quantiles.new"
done
table
