#!/bin/bash
# segmentation.sh : trains on label maps in 8-bit formats with and without APS, like the APS
# paper's Table 3 but smaller (README.md).
# usage: [EPOCHS=N] bench/segmentation/segmentation.sh [--table] [SEEDS]      N: 10; SEEDS: "1 2 3"
# Appends to $TABLES/shapes-N.tsv (bench/data); --table prints it. Where it trains seed 1, it keeps
# the loss by epoch in curves/shapes-N-*, and predicted label maps in $B/segmentation/maps-N, which
# gnuplot draws as $B/segmentation.png (the paper's Fig. 7 and 8).
set -eu
. "$(dirname "$0")/../usage.sh"
only=''
[ "${1-}" != --table ] || { only=1 && shift; }
seeds=${1:-1 2 3}
epochs=${EPOCHS:-10}
tsv=${TABLES:-bench/data}/shapes-$epochs.tsv
LOGS=$B/segmentation/shapes-$epochs
curves=${TABLES:-bench/data}/curves/shapes-$epochs- maps=$B/segmentation/maps-$epochs
# shellcheck disable=SC2034 # trainings.sh reads it
keys='test_miou test_macc'
rows='fp32 none
e5m2 none
e5m2 aps
e4m3 none
e4m3 aps'
common="--data shapes:2000,1 --model fcn --width 0.125 --batch 16 --epochs $epochs --augment flip --lr 0.1 --schedule poly:0.9 --warmup 0.3
        --momentum 0.9 --weight-decay 1e-4"

. bench/trainings.sh

# Print a row per name: means over seeds, lowest and highest mIoU.
table() {
    echo "| format, scale | runs | mIoU, mean % | lowest .. highest | to fp32, points | mAcc, % | pixels right, % | bytes a step and rank |"
    echo "|---|---|---|---|---|---|---|---|"
    awk -F '\t' -v rows="$rows" '
        { runs[$1]++; bytes[$1] = $4 }
        $3 == "diverged" { bad[$1]++; next }
        { if (!(n[$1]++) || $5 < low[$1]) low[$1] = $5
          if ($5 > high[$1]) high[$1] = $5
          seeds[$2]; of_seed[$1, $2] = $5
          iou[$1] += $5; mean[$1] += $6; right[$1] += $3 }
        END { of = split(rows, name, "\n")
              for (i = 1; i <= of; i++) {
                  k = name[i]
                  if (!runs[k]) continue
                  printf "| %s | %d%s |", k, runs[k], bad[k] ? ", " bad[k] " diverged" : ""
                  if (!n[k]) { print " - | - | - | - | - | " bytes[k] " |"; continue }
                  printf " %.2f | %.2f .. %.2f |", 100 * iou[k] / n[k], 100 * low[k], 100 * high[k]
                  m = sum = 0 # over common seeds
                  for (s in seeds) if ((k, s) in of_seed && (name[1], s) in of_seed) {
                      m++; sum += of_seed[k, s] - of_seed[name[1], s]
                  }
                  if (i > 1 && m) printf " %+.2f |", 100 * sum / m
                  else printf "  |"
                  printf " %.2f | %.2f | %s |\n", 100 * mean[k] / n[k], 100 * right[k] / n[k], bytes[k]
              } }' "$tsv"
}
# Draw the first predicted label maps, a row per format and scale.
draw_maps() {
    local drawn='' row
    while read -r row; do [ ! -e "$maps/${row// /-}/000007.png" ] || drawn+=" ${row// /-}"; done <<<"$rows"
    [ "$drawn" ] && command -v gnuplot >/dev/null || return 0
    MAPS=$maps ROWS=$drawn gnuplot -d bench/segmentation/maps.gp >"$B/segmentation.png.new"
    mv "$B/segmentation.png.new" "$B/segmentation.png"
    echo "label maps $B/segmentation.png" >&2
}

if [ "$only" ]; then
    table
    exit
fi
for seed in $seeds; do
    while read -r format scale; do
        predict=()
        if [ "$seed" = 1 ] && ! grep -q "^$format $scale	1	" "$tsv"; then
            mkdir -p "$maps"
            predict=(--predict "$maps/$format-$scale.$$") # another script may be writing its own
        fi
        # shellcheck disable=SC2086
        launch "$format $scale" "$seed" 8 $common --format "$format" --scale "$scale" ${predict[@]+"${predict[@]}"}
    done <<<"$rows"
done
settle 1
while read -r row; do
    keep_curve "$row"
    [ ! -d "$maps/${row// /-}.$$" ] || { rm -rf "${maps:?}/${row// /-}" && mv "$maps/${row// /-}.$$" "$maps/${row// /-}"; }
done <<<"$rows"
table
draw_maps
