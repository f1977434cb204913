#!/bin/bash
# davidnet.sh : CIFAR-10 on a GPU as in the APS paper's Table 4: davidnet, 8 ranks, batch 4096, every format with and without a scale.
# usage: NARROWCAST_DATA=DIR bench/davidnet.sh [--table] [SEEDS] [-- MORE OPTIONS OF train]   (DIR/cifar10 holds the six .bin files)
# Each finished training is a line of $B/davidnet.tsv and is not run again; --table only prints the table of what is there.
set -eu
cd "$(dirname "$0")/.."
B=${B:-build}
tsv=$B/davidnet.tsv
mkdir -p "$B"
touch "$tsv"
. host/ranks.sh

# name | what the paper's table has | options. Without a scale the paper's sums overflow to inf.
configs='fp32|88.2|--format fp32 --scale none
e5m2 none|88.3|--format e5m2 --scale none --overflow inf
e5m2 aps|88.4|--format e5m2 --scale aps
e5m2 aps-tight|-|--format e5m2 --scale aps-tight
e4m3 none|10.0|--format e4m3 --scale none --overflow inf
e4m3 aps|88.6|--format e4m3 --scale aps
e4m3 aps-tight|-|--format e4m3 --scale aps-tight
e3m0 none|10.0|--format e3m0 --scale none --overflow inf
e3m0 aps|81.3|--format e3m0 --scale aps
e3m0 aps-tight|-|--format e3m0 --scale aps-tight'
# The loss of a step is a mean here, where DavidNet sums it and divides the rate by the batch: its weight decay of 0.256 is
# 0.256 / 4096. Its cutout of 8x8 pixels is not among our augmentations.
common="--model davidnet --batch 4096 --epochs 25 --lr 0.4 --schedule linear --warmup 5 --momentum 0.9 --nesterov
        --weight-decay 6.25e-5 --augment crop+flip"

table() {
    echo "| format, scale | runs | test accuracy, mean % | lowest .. highest | the paper's, % |"
    echo "|---|---|---|---|---|"
    while IFS='|' read -r name paper _; do
        awk -F '\t' -v name="$name" -v paper="$paper" '$1 == name { n++; s += $3; if (n == 1) lo = hi = $3
                if ($3 < lo) lo = $3; if ($3 > hi) hi = $3 }
            END { if (n) printf "| %s | %d | %.2f | %.2f .. %.2f | %s |\n", name, n, 100 * s / n, 100 * lo, 100 * hi, paper }' "$tsv"
    done <<<"$configs"
}
if [ "${1-}" = --table ]; then
    table
    exit
fi
: "${NARROWCAST_DATA:?set it to the folder that holds cifar10/}"
seeds=1
[ $# -gt 0 ] && [ "$1" != -- ] && seeds=$1 && shift
[ "${1-}" = -- ] && shift
for seed in $seeds; do
    while IFS='|' read -r name _ options; do
        grep -q "^$name	$seed	" "$tsv" && continue
        log=$B/davidnet-${name// /-}-$seed
        # shellcheck disable=SC2086  # options are words
        if mpirun -np "${NP:-8}" "$B/narrowcast" train --data "cifar10:$NARROWCAST_DATA/cifar10" --device "${DEVICE:-cuda}" $common $options \
            --seed "$seed" --log "$log.jsonl" "$@" </dev/null >"$log.out" 2>&1; then
            accuracy=$(sed -n 's/^accuracy \([0-9.]*\)$/\1/p' "$log.out" | tail -n 1)
        elif grep -q 'training has diverged' "$log.out"; then
            accuracy=0.1  # chance
        else
            tail -n 3 "$log.out" >&2
            exit 1
        fi
        printf '%s\t%s\t%s\n' "$name" "$seed" "$accuracy" | tee -a "$tsv"
    done <<<"$configs"
done
table
