#!/bin/bash
# papers.sh : tables of the papers beside ours, on real data and emulated ranks.
# usage: NARROWCAST_DATA=DIR bench/papers.sh [--table] 9 [EPOCHS]      (DIR/cifar10 holds the binary batches; EPOCHS: "0 2 5")
# 9    APS paper, Table 9: what the size K of groups does to the round-off of a sum of 256 ranks: resnet20, 32 images a rank, the gradients of
#      20 steps behind so many epochs, the same ones for every K: e5m2, aps, rounded at each addition. In groups of K (group-master; 256: one
#      ring), and in rank order with Kahan's sums, with one rounding in all, in fp32.
# What was measured stands in $TABLES (bench/papers) and is not measured again; --table only prints it. The gradients take 5.6 GB below $B until
# they are counted; a step takes 20 s of one core.
set -eu
cd "$(dirname "$0")/.."
B=${B:-build}
tables=${TABLES:-bench/papers}
only=''
[ "${1-}" != --table ] || { only=1 && shift; }
[ "${1-}" = 9 ] || { echo "papers.sh: '${1-}': must be a table: 9" >&2 && exit 2; }
behind=${2:-0 2 5}
ranks=256 share=32 steps=20
per_epoch=$((50000 / (ranks * share)))
groups="4 8 16 32 64 256"

# sums DUMP WORDS...: rows "way layer l2 mean median" of what bench_error says
sums() {
    "$B/bench_error" "$@" --format e5m2 --scale aps --json | awk -v way="${way-}" '
        function of(key, at) {
            at = index($0, "\"" key "\":")
            if (!at) { print "papers.sh: bench_error says no " key >"/dev/stderr"; exit 1 }
            at = substr($0, at + length(key) + 3)
            gsub(/^"/, "", at); sub(/[",}].*/, "", at)
            return at
        }
        { print (way != "" ? way : of("algo")) "\t" of("layer") "\t" of("l2") "\t" of("mean") "\t" of("median") }'
}

# measure EPOCHS: into $tables/table9-EPOCHS.tsv
measure() {
    local tsv=$tables/table9-$1.tsv dump=$B/papers/table9-$1 first=$((per_epoch * $1)) list='' k
    [ ! -s "$tsv" ] || return 0
    rm -rf "$dump" && mkdir -p "$(dirname "$dump")"
    "$B/narrowcast" emulate --ranks $ranks --batch $((ranks * share)) --model resnet20 --data "cifar10:$NARROWCAST_DATA/cifar10" --augment crop+flip \
        --format fp32 --scale none --algo gather --lr 0.1 --schedule const --steps $((first + steps)) \
        --dump-gradients "$dump" --dump-first $first --dump-steps $steps
    for k in $groups; do list+=,group-master:$k; done
    {
        sums "$dump" --algo "${list#,}" --sum nearest
        way=kahan sums "$dump" --algo gather --sum kahan
        way=exact sums "$dump" --algo gather --sum exact
        way=fp32 sums "$dump" --algo gather --sum fp32
    } >"$tsv.new"
    mv "$tsv.new" "$tsv"
    rm -r "$dump"
}

# table EPOCHS LAYER TITLE: relative L2 error, median and mean (eq. 5) by K
table() {
    [ -s "$tables/table9-$1.tsv" ] || return 0
    awk -F '\t' -v layer="$2" -v title="$3" '
        $2 == layer { sub(/group-master:/, "K = ", $1); sub(/K = 256/, "ring", $1)
                      head = head " | " $1; mark = mark "---|"
                      for (i = 3; i <= 5; i++) row[i] = row[i] sprintf(" %.2f |", 100 * $i) }
        END { print "| " title head " |\n|---|" mark "\n| L2, % |" row[3] "\n| median, % |" row[5] "\n| eq. 5, % |" row[4] "\n" }' \
        "$tables/table9-$1.tsv"
}

mkdir -p "$tables"
if [ ! "$only" ]; then
    : "${NARROWCAST_DATA:?set it to the folder that holds cifar10/}"
    for epochs in $behind; do measure "$epochs"; done
fi
for epochs in $behind; do table "$epochs" stem.conv.weight "first convolution, $epochs epochs"; done
for epochs in $behind; do table "$epochs" all "all layers, $epochs epochs"; done
