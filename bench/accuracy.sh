#!/bin/bash
# accuracy.sh : what narrow gradients do to test accuracy: Fashion-MNIST, resnet8, 4 ranks, every format x scale x seed.
# usage: NARROWCAST_DATA=DIR bench/accuracy.sh [--table] [SEEDS]     (DIR/fashion-mnist holds the four .gz files; seeds: "1 2 3")
# Each finished training is a line of $B/accuracy.tsv and is not run again; --table only prints the table of what is there.
set -eu
cd "$(dirname "$0")/.."
B=${B:-build}
tsv=$B/accuracy.tsv
mkdir -p "$B"
touch "$tsv"
. host/ranks.sh

# name, then the options that make it
configs='fp32            --format fp32 --scale none
e5m2 none       --format e5m2 --scale none
e5m2 aps        --format e5m2 --scale aps
e5m2 aps-tight  --format e5m2 --scale aps-tight
e4m3 none       --format e4m3 --scale none
e4m3 aps        --format e4m3 --scale aps
e4m3 aps-tight  --format e4m3 --scale aps-tight
e3m0 none       --format e3m0 --scale none --overflow inf
e3m0 aps        --format e3m0 --scale aps
e3m0 aps-tight  --format e3m0 --scale aps-tight'
common="--model resnet8 --train-samples 20000 --epochs 5 --batch 128 --lr 0.1 --momentum 0.9 --weight-decay 1e-4
        --schedule cosine --warmup 1 --augment crop+flip"

table() {
    echo "| format, scale | runs | test accuracy, mean % | lowest .. highest | to fp32, points | bytes a step and rank |"
    echo "|---|---|---|---|---|---|"
    awk -F '\t' '{ n[$1]++; s[$1] += $3; b[$1] = $4
                   if (n[$1] == 1) { order[++k] = $1; lo[$1] = hi[$1] = $3 }
                   if ($3 < lo[$1]) lo[$1] = $3
                   if ($3 > hi[$1]) hi[$1] = $3 }
        END { for (i = 1; i <= k; i++) { c = order[i]; m = s[c] / n[c]
                  printf "| %s | %d | %.2f | %.2f .. %.2f | %s | %s |\n", c, n[c], 100 * m, 100 * lo[c], 100 * hi[c],
                      c == "fp32" || !("fp32" in n) ? "" : sprintf("%+.2f", 100 * (m - s["fp32"] / n["fp32"])), b[c] } }' "$tsv"
}
if [ "${1-}" = --table ]; then
    table
    exit
fi
: "${NARROWCAST_DATA:?set it to the folder that holds fashion-mnist/}"
for seed in ${1:-1 2 3}; do
    while read -r line; do
        name=${line%%  *--*}
        options=--${line#*--}
        grep -q "^$name	$seed	" "$tsv" && continue
        log=$B/accuracy-$(echo "$name" | tr ' ' '-')-$seed.jsonl
        # shellcheck disable=SC2086  # options are words
        if mpirun -np 4 "$B/narrowcast" train --data "idx:$NARROWCAST_DATA/fashion-mnist" $common $options \
            --seed "$seed" --log "$log" </dev/null >"$log.out" 2>&1; then
            accuracy=$(sed -n 's/^accuracy \([0-9.]*\).*/\1/p' "$log.out" | tail -n 1)
        else
            accuracy=0.1  # ended with an error (gradients that are not finite): chance
        fi
        bytes=$(sed -n 's/.*"kind": *"step".*"sent_bytes": *\([0-9]*\).*/\1/p' "$log" | tail -n 1)
        printf '%s\t%s\t%s\t%s\n' "$name" "$seed" "$accuracy" "${bytes:--}" | tee -a "$tsv"
    done <<<"$configs"
done
table
