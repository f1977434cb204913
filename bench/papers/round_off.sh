#!/bin/bash
# round_off.sh : measures the APS paper's Table 9: round-off of a sum of 256 ranks by group size K.
# usage: [TABLES=DIR] bench/papers/papers.sh [--table] 9 [EPOCHS]      (EPOCHS: "0 2 5")
# Adds the gradients of 20 steps of resnet20 after EPOCHS epochs, 32 images per rank, in e5m2 and
# e4m3 by the columns of README.md.
# $TABLES/table9-FORMAT-EPOCHS.tsv has algorithm, layer, relative L2 error, mean (eq. 5) and median
# of the elements' relative errors. The gradients take 5.6 GB in $B.
set -euo pipefail
. "$(dirname "$0")/../usage.sh"
. bench/json.sh
tables=${TABLES:-bench/data}
only=''
[ "${1-}" != --table ] || { only=1 && shift; }
behind=${2:-0 2 5}
for epochs in $behind; do [ "$epochs" = 0 ] || whole EPOCHS "$epochs" '0 or a number of passes'; done
ranks=256 share=32 steps=20 layers='stem.conv.weight all'
per_epoch=$((50000 / (ranks * share)))
groups=group-master:4,group-master:8,group-master:16,group-master:32,group-master:64,group-master:256

# sums WAY WORDS...: print bench_error's results for $layers as "way layer l2 mean median"; &: the
# algorithm
sums() {
    "$B/bench_error" "$dump" "${@:2}" --json | awk -v way="$1" -v layers=" $layers " "$json"'
        function of(key) {
            if (!has(key)) { print "round_off.sh: bench_error says no " key >"/dev/stderr"; exit 1 }
            return value(key)
        }
        { name = way; sub(/&/, of("algo"), name)
          if (index(layers, " " of("layer") " "))
              print name "\t" of("layer") "\t" of("l2") "\t" of("mean") "\t" of("median") }'
}

all_sums() {
    sums '&' --format "$1" --algo "$groups" --sum nearest
    [ "$1" = e5m2 ] || sums '& rescaled' --format "$1" --algo "${groups%,*}" --sum nearest --rescale
    sums kahan --format "$1" --algo gather --sum kahan
    sums exact --format "$1" --algo gather --sum exact
    [ "$1" = e5m2 ] || sums tight --format "$1" --algo gather --sum exact --scale aps-tight
    sums fp32 --format "$1" --algo gather --sum fp32
}

# measure EPOCHS: write table9-FORMAT-EPOCHS.tsv
measure() {
    local dump=$B/papers/table9-$1 first=$((per_epoch * $1)) left='' format
    for format in e5m2 e4m3; do [ -s "$tables/table9-$format-$1.tsv" ] || left+=" $format"; done
    [ "$left" ] || return 0
    rm -rf "$dump" && mkdir -p "$(dirname "$dump")"
    "$B/narrowcast" emulate --ranks $ranks --batch $((ranks * share)) --model resnet20 --data "cifar10:$NARROWCAST_DATA/cifar10" --augment crop+flip \
        --format fp32 --scale none --algo gather --lr 0.1 --schedule const --steps $((first + steps)) \
        --dump-gradients "$dump" --dump-first $first --dump-steps $steps
    for format in $left; do
        all_sums "$format" >"$tables/table9-$format-$1.tsv.new"
        mv "$tables/table9-$format-$1.tsv.new" "$tables/table9-$format-$1.tsv"
    done
    rm -r "$dump"
}

# table EPOCHS LAYER TITLE: print errors by K
table() {
    local format tsv
    for format in e5m2 e4m3; do
        tsv=$tables/table9-$format-$1.tsv
        [ ! -s "$tsv" ] || awk -F '\t' -v layer="$2" -v title="$format, $3" '
            $2 == layer { sub(/group-master:256/, "ring", $1); sub(/group-master:/, "K = ", $1)
                          head = head " | " $1; mark = mark "---|"
                          for (i = 3; i <= 5; i++) row[i] = row[i] sprintf(" %.2f |", 100 * $i) }
            END { if (head) print "| " title head " |\n|---|" mark "\n| L2, % |" row[3] "\n| median, % |" row[5] "\n| eq. 5, % |" row[4] "\n" }' "$tsv"
    done
}

mkdir -p "$tables"
if [ ! "$only" ]; then
    need_data 'cifar10/'
    for epochs in $behind; do measure "$epochs"; done
fi
for epochs in $behind; do table "$epochs" stem.conv.weight "first convolution, $epochs epochs"; done
for epochs in $behind; do table "$epochs" all "all layers, $epochs epochs"; done
