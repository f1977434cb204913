#!/bin/bash
# train_peer.sh : compares images per second of a training step with PyTorch's, in turn, on one GPU
# or on a CPU. PyTorch runs channels last, eager and compiled, on a GPU also with graphs.
# usage: bench/training/train_peer.sh [gpu|cpu [SECONDS of PyTorch's runs, 5 [TURNS, 1 [CORES, 1]]]]
# Skips a missing GPU or PyTorch. With NARROWCAST_DATA, whose tinyshakespeare/input.txt is a text, a CPU
# also trains charlstm.
set -euo pipefail
. "$(dirname "$0")/../usage.sh"
PYTHON=${PYTHON:-python3}
field() { sed -n "s/.*\"$1\": *\"\{0,1\}\([^,\"}]*\).*/\1/p"; }

where=${1:-gpu}
case $where in
gpu)
    [ -e /dev/nvidiactl ] || { echo 'skip  no GPU'; exit 77; }
    device=cuda on_cores=() modes='eager compile graphs'
    cases='resnet18 512 32 tf32
resnet18 512 32 fp16
resnet50 128 224 fp16'
    ;;
cpu)
    whole CORES "${4:-1}"
    last=$(taskset -cp $$ | sed 's/.*[ ,-]//')
    device=cpu modes='eager compile'
    on_cores=(env "OMP_NUM_THREADS=${4:-1}" "OPENBLAS_NUM_THREADS=${4:-1}" taskset -c "$((last - ${4:-1} + 1))-$last")
    cases='resnet20 128 32 fp32'
    [ -z "${NARROWCAST_DATA-}" ] || cases+='
charlstm 16 32 fp32
charlstm 64 32 fp32'
    ;;
*) echo "train_peer.sh: '$where': must be gpu or cpu" >&2 && exit 2 ;;
esac
whole SECONDS "${2:-5}"
whole TURNS "${3:-1}"
[ -x "$B/bench_train" ] || { echo "train_peer.sh: there is no $B/bench_train: build it (make), or say where it is (B=DIR)" >&2 && exit 2; }
why=$("$PYTHON" -c 'import torch' 2>&1) || { echo "skip  no PyTorch to be beside: ${why##*$'\n'}" && exit 77; }
printf '%-9s %5s %5s %-5s %14s' model batch size type 'ours img/s'
for mode in $modes; do printf ' %16s %6s' "$mode img/s" ratio; done
echo
for ((turn = 0; turn < ${3:-1}; turn++)); do
    while read -r model batch size type; do
        what=(--device "$device" --model "$model" --batch "$batch" --size "$size" --precision "$type" --threads "${4:-1}")
        data=()
        [ "$model" != charlstm ] || data=(--data "text:$NARROWCAST_DATA/tinyshakespeare/input.txt")
        ours=$("${on_cores[@]}" "$B/bench_train" "${what[@]}" ${data[@]+"${data[@]}"} --classes "$((size < 64 ? 10 : 1000))" --json | field images_per_s)
        printf '%-9s %5d %5d %-5s %14.0f' "$model" "$batch" "$size" "$type" "$ours"
        for mode in $modes; do # where one fails, the others' figures stand
            peer=$("${on_cores[@]}" "$PYTHON" bench/training/torch_peer.py "${what[@]}" --mode "$mode" --seconds "${2:-5}" | field images_per_s) || peer=
            awk -v o="$ours" -v p="$peer" 'BEGIN { printf " %16s %6s", p ? p : "-", p ? sprintf("%.2f", o / p) : "-" }'
        done
        echo
    done <<<"$cases"
done
