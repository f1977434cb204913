#!/bin/bash
# gpu_train.sh : images a second of a training step on one GPU, ours and PyTorch's (eager, torch.compile) in turn, and their ratio.
# usage: bench/gpu_train.sh [SECONDS of PyTorch's runs, 5]       skips what is missing: a GPU, PyTorch
set -eu
cd "$(dirname "$0")/.."
B=${B:-build}
field() { sed -n "s/.*\"$1\": *\"\{0,1\}\([^,\"}]*\).*/\1/p"; }

[ -e /dev/nvidiactl ] || { echo 'skip  no GPU'; exit 77; }
printf '%-9s %5s %5s %-5s %14s %14s %14s %9s %9s\n' model batch size type 'ours img/s' 'eager img/s' 'compile img/s' /eager /compile
while read -r model batch size type modes; do
    ours=$("$B/bench_train" --device cuda --model "$model" --batch "$batch" --size "$size" --precision "$type" --json | field images_per_s)
    peer=$(python3 bench/torch_peer.py --model "$model" --batch "$batch" --size "$size" --precision "$type" --mode "$modes" \
        --seconds "${1:-5}") || peer=
    eager=$(grep '"eager"' <<<"$peer" | field images_per_s) || eager=
    compiled=$(grep '"compile"' <<<"$peer" | field images_per_s) || compiled=
    awk -v m="$model" -v b="$batch" -v s="$size" -v t="$type" -v o="$ours" -v e="$eager" -v c="$compiled" 'BEGIN {
        printf "%-9s %5d %5d %-5s %14.0f %14s %14s %9s %9s\n", m, b, s, t, o, e, c, e ? sprintf("%.2f", o / e) : "-",
            c ? sprintf("%.2f", o / c) : "-" }'
done <<'CASES'
resnet18 512 32 tf32 eager,compile
resnet18 512 32 fp16 eager,compile
resnet50 128 224 fp16 eager,compile
CASES
