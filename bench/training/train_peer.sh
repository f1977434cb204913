#!/bin/bash
# train_peer.sh : compares images per second of a training step with PyTorch's, in turn, on one GPU
# or on a CPU. PyTorch runs channels last, eager and compiled, on a GPU also with graphs.
# usage: bench/training/train_peer.sh [gpu|cpu [SECONDS of PyTorch's runs, 5 [TURNS, 1 [CORES, 1]]]]
# Skips a missing GPU or PyTorch. If NARROWCAST_DATA is set (DIR/cifar10,
# DIR/tinyshakespeare/input.txt), a GPU also trains chargpt, and a CPU charlstm and chargpt. CORES > 1
# need it: as many ranks train, and PyTorch has as many threads. On a CPU with AVX512-BF16 all train in
# bf16 too (PyTorch: autocast).
set -euo pipefail
. "$(dirname "$0")/../usage.sh"
. bench/json.sh
PYTHON=${PYTHON:-python3}
field() { sed -n "s/.*\"$1\": *\"\{0,1\}\([^,\"}]*\).*/\1/p"; }

where=${1:-gpu}
case $where in
gpu)
    [ -e /dev/nvidiactl ] || { echo 'skip  no GPU'; exit 77; }
    device=cuda cores=1 on_cores=() modes='eager compile graphs'
    cases='resnet18 512 32 tf32
resnet18 512 32 fp16
resnet50 128 224 fp16'
    [ -z "${NARROWCAST_DATA-}" ] || cases+='
chargpt 256 32 fp16'
    ;;
cpu)
    cores=${4:-1}
    whole CORES "$cores"
    [ "$cores" = 1 ] || need_data 'cifar10/ and tinyshakespeare/'
    here=() # the CPUs that this process may use
    for range in $(taskset -cp $$ | sed 's/.*: //; s/,/ /g'); do
        for ((cpu = ${range%-*}; cpu <= ${range#*-}; cpu++)); do here+=("$cpu"); done
    done
    [ "$cores" -le ${#here[@]} ] || refuse "CORES '$cores': must be at most ${#here[@]}, the cores that it may use"
    device=cpu modes='eager compile' on_cores=(env "OMP_NUM_THREADS=$cores" taskset -c "$(IFS=, && echo "${here[*]: -cores}")")
    cases='resnet20 128 32 fp32'
    [ -z "${NARROWCAST_DATA-}" ] || cases+='
charlstm 16 32 fp32
charlstm 64 32 fp32
chargpt 16 32 fp32
chargpt 64 32 fp32'
    if grep -q avx512_bf16 /proc/cpuinfo && [ -e "$B/libnarrowcast_dnnl.so" ]; then
        cases+=$'\n'${cases//fp32/bf16}
    fi
    ;;
*) echo "train_peer.sh: '$where': must be gpu or cpu" >&2 && exit 2 ;;
esac
whole SECONDS "${2:-5}"
whole TURNS "${3:-1}"
for program in bench_train narrowcast; do
    [ -x "$B/$program" ] || refuse "there is no $B/$program: build it (make), or say where it is (B=DIR)"
done
why=$("$PYTHON" -c 'import torch' 2>&1) || { echo "skip  no PyTorch to be beside: ${why##*$'\n'}" && exit 77; }
data_of() { case $1 in char*) echo "text:$NARROWCAST_DATA/tinyshakespeare/input.txt" ;; *) echo "cifar10:$NARROWCAST_DATA/cifar10" ;; esac; }
# ours_of MODEL BATCH SIZE OPTION...: print images or windows per second
ours_of() {
    local data=()
    if [ "$cores" -gt 1 ]; then # the median of ten steps
        rm -f "$B/train_peer.jsonl"
        if ! "${on_cores[@]}" host/ranks.sh "$cores" "$B/narrowcast" train --model "$1" --batch "$2" --data "$(data_of "$1")" --steps 14 --warmup 0 \
            --format fp32 --scale none --precision "$type" --log "$B/train_peer.jsonl" </dev/null >"$B/train_peer.out" 2>&1; then
            tail -n 5 "$B/train_peer.out" >&2
            echo "train_peer.sh: $1 failed on $cores ranks" >&2
            return 1
        fi
        grep '"kind":"step"' "$B/train_peer.jsonl" | field samples_per_s | tail -n 10 | median '%.6g\n'
        return
    fi
    [[ $1 != char* ]] || data=(--data "$(data_of "$1")")
    OPENBLAS_NUM_THREADS=1 "${on_cores[@]}" "$B/bench_train" "${@:4}" ${data[@]+"${data[@]}"} --classes "$(($3 < 64 ? 10 : 1000))" --json | field images_per_s
}
printf '%-9s %5s %5s %-5s %14s' model batch size type 'ours img/s'
for mode in $modes; do printf ' %16s %6s' "$mode img/s" ratio; done
echo
for ((turn = 0; turn < ${3:-1}; turn++)); do
    while read -r model batch size type; do
        what=(--device "$device" --model "$model" --batch "$batch" --size "$size" --precision "$type")
        ours=$(ours_of "$model" "$batch" "$size" "${what[@]}") || exit 1
        printf '%-9s %5d %5d %-5s %14.0f' "$model" "$batch" "$size" "$type" "$ours"
        for mode in $modes; do # where one fails, the others' figures stand
            peer=$("${on_cores[@]}" "$PYTHON" bench/training/torch_peer.py "${what[@]}" --threads "$cores" --mode "$mode" --seconds "${2:-5}" 2>"$B/train_peer.err") || peer=
            # torch.compile falls back to cudagraphs
            case $peer in *"\"mode\": \"$mode\""*) peer=$(field images_per_s <<<"$peer") ;; *) peer='' ;; esac
            [ -n "$peer" ] || cat "$B/train_peer.err" >&2
            awk -v o="$ours" -v p="$peer" 'BEGIN { printf " %16s %6s", p ? p : "-", p ? sprintf("%.2f", o / p) : "-" }'
        done
        echo
    done <<<"$cases"
done
