#!/bin/bash
# gpu_all.sh : runs all GPU measurements and tests in parts with time limits, and prints goals and
# results.
# usage: bench/gpu/gpu_all.sh [PART...]      1 to 9, 70 minutes at most; 1 to 4 take at most 30
#        bench/gpu/gpu_all.sh --table         the results so far
#     1  libraries; casts, scan, APS and sums by bytes moved, 1 and 4 GiB;
#        PyTorch's casts; tests of vectors with every float                    (8 minutes)
#     2  a training step of resnet18, batch 512, tf32 and fp16, PyTorch eager
#        and compiled, between runs of ours                                    (8)
#     3  the same of resnet50, 224 pixels, fp16                                (4)
#     4  every test of the GPU; trainings; collectives of 2 and 4 ranks on it  (9)
#     5  the share of the all-reduce hidden by overlap with 2 and 4 ranks,
#        without and with NVIDIA's multi-process service                       (9)
#     6  ncu on five kernels, if installed; the kernels of a step by time      (9)
#     7  compute-sanitizer: memcheck, racecheck, synccheck, initcheck          (9)
#     8  NCCL loads libnccl-net-narrowcast.so and sums through a simulated card (5)
#     9  a step of PyTorch's DDP, resnet50, with each hook: a rank on each GPU,
#        or two on the only one                                               (9)
# Output in $OUT [$B/gpu_all]: PART.txt, figures in PART.jsonl, table in summary.txt and .json.
# Environment: B, the build folder; PYTHON, one with PyTorch [python3]; MIB and SECONDS_A_RUN
# shorten arrays and PyTorch's runs; EMULATED=1 tries the script without a GPU.
set -u
. "$(dirname "$0")/../usage.sh"
export B=${B:-build}
OUT=${OUT:-$B/gpu_all}
PYTHON=${PYTHON:-python3}
PATH=$PATH:${CUDA_HOME:-/usr/local/cuda}/bin # ncu, nsys
limits=(0 480 440 240 540 540 540 540 300 540)
jobs=$((($(nproc) + 1) / 2))

have() { command -v "$1" || { echo "skip  no $1" && return 1; }; }
# figure NAME VALUE [WHY]: print a JSON line; VALUE null: no figure, because WHY
figure() { printf '{"kind":"gpu_all","name":"%s","value":%s%s}\n' "$1" "$2" "${3:+,\"why\":\"$3\"}"; }
# verdict NAME COMMAND...: record 0 if COMMAND succeeds, 1 if not, none if it is
# missing (77) or out of time (124)
verdict() {
    local rc=0
    "${@:2}" || rc=$?
    case $rc in
    0) figure "$1" 0 ;;
    77) figure "$1" null "not here" ;;
    124) figure "$1" null "not ended in time" ;;
    *) figure "$1" 1 ;;
    esac >>"$figures"
}
field() { sed -n "s/.*\"$1\":\"\{0,1\}\([^,\"}]*\).*/\1/p"; }

part_1() {
    local mib rc tests=(test_gpu_vec test_gpu_cast test_gpu_uncast test_gpu_sum test_gpu_sum_exact test_gpu_optim)
    "$B/narrowcast" info
    for mib in ${MIB:-1024 4096}; do
        rc=0
        "$B/bench_gpu" --mib "$mib" --json ${EMULATED:+--emulated} >"$OUT/rows" || rc=$?
        {
            cat "$OUT/rows"
            figure "rows of $mib MiB: failures" "$([ $rc = 0 ] && echo 0 || echo 1)"
        } >>"$figures"
        "$PYTHON" bench/casts/torch_casts.py --mib "$mib" >>"$figures"
    done
    verdict "tests of vectors" tests/run.sh "${tests[@]/#/$B/tests/}"
    verdict "all 2^32 floats, six formats: differences" "$B/tests/test_gpu_cast_all"
}

# ours: print our speed and keep it in $now
ours() {
    local said
    said=$("$B/bench_train" "${what[@]}" --classes "$classes" --json)
    echo "$said"
    now=$(field images_per_s <<<"$said")
}

# step MODEL BATCH SIZE PRECISION: run ours, PyTorch eager, ours, compiled, ours; one mode may fail
step() {
    local what=(--device cuda --model "$1" --batch "$2" --size "$3" --precision "$4") classes=10 mode said before now limit
    [ "$3" -lt 64 ] || classes=1000 # torch_peer.py's
    ours
    for mode in eager compile; do
        before=$now
        [ $mode = eager ] && limit=50 || limit=110
        # torch.compile falls back to cudagraphs
        said=$(timeout $limit "$PYTHON" bench/training/torch_peer.py "${what[@]}" --mode "$mode" --seconds "${SECONDS_A_RUN:-5}") || true
        echo "$said"
        ours
        awk -v name="$1 $3 px batch $2 $4 to $mode" -v mode="$mode" -v got="$(sed -n 's/.*"mode": *"\([^"]*\)".*/\1/p' <<<"$said")" -v a="$before" -v b="$now" -v t="$(field images_per_s <<<"$said")" 'BEGIN {
            if (t > 0 && a > 0 && b > 0 && got == mode) printf "{\"kind\":\"gpu_all\",\"name\":\"%s\",\"value\":%.4f,\"first\":%s,\"again\":%s,\"peer\":%s}\n", name, (a + b) / 2 / t, a, b, t
            else printf "{\"kind\":\"gpu_all\",\"name\":\"%s\",\"value\":null,\"why\":\"%s\"}\n", name, (a <= 0 || b <= 0 ? "bench_train failed" : t > 0 ? sprintf("PyTorch fell back to %s, %.2f", got, (a + b) / 2 / t) : "no figure of PyTorch, " mode) }' >>"$figures"
    done
}
part_2() { step resnet18 512 32 tf32; step resnet18 512 32 fp16; }
part_3() { step resnet50 128 224 fp16; }

part_4() {
    local t alone=() list=(tests/device/test_gpu_deadline.sh tests/app/test_train_cuda*.sh tests/app/test_emulate_cuda.sh)
    for t in "$B"/tests/test_gpu_* "$B/tests/test_gemm_low_gpu"; do
        case ${t##*/} in
        test_gpu_cast_all | *.*) ;;
        test_gpu_run | test_gpu_model | test_gpu_step) alone+=("$t") ;; # they watch the GPU's free memory
        *) list+=("$t") ;;
        esac
    done
    verdict "tests of GPU memory that fail" env JOBS=1 TEST_TIMEOUT=200 tests/run.sh "${alone[@]}"
    verdict "tests of the GPU that fail" env JOBS=$jobs TEST_TIMEOUT=400 tests/run.sh "${list[@]}"
}

# hidden NAME RANKS: record the share of the all-reduce that runs during the backward pass
hidden() {
    local said
    said=$(timeout 125 bench/allreduce/bench_overlap.sh "$2" --device cuda --model resnet50 --image 224 --data synthetic:8000,1 --precision fp16 --batch $((64 * $2)))
    echo "$said"
    figure "$1" "$(awk '$1 == "on" { share = $4 } END { print share == "" ? "null" : share / 100 }' <<<"$said")" >>"$figures"
}
part_5() {
    hidden "all-reduce hidden, 2 ranks on one GPU" 2
    hidden "all-reduce hidden, 4 ranks on one GPU" 4
    have nvidia-cuda-mps-control || return 0
    export NARROWCAST_MPS=1 # of host/ranks.sh
    hidden "all-reduce hidden, 2 ranks on one GPU, MPS" 2
    hidden "all-reduce hidden, 4 ranks on one GPU, MPS" 4
}

part_6() {
    local kernel
    if have ncu; then
        for kernel in 'fp32 -> e5m2' 'largest exponent' 'fp32 -> e5m2 stochastic' '8 x e5m2' 'e5m2 -> fp32'; do
            timeout 60 ncu --launch-skip 3 --launch-count 1 --section SpeedOfLight --section Occupancy "$B/bench_gpu" --mib 1024 --reps 1 --only "$kernel"
        done
    fi
    have nsys && timeout 200 nsys profile -o "$OUT/step" --force-overwrite true --stats=true "$B/bench_train" --device cuda --model resnet50 --batch 128 --size 224 --precision fp16
    return 0
}

part_7() {
    local tool
    for tool in memcheck racecheck synccheck initcheck; do
        verdict "$tool: findings" env TOOLS=$tool JOBS=$((2 * jobs)) ENDS_IN=130 tests/device/test_gpu_sanitizer.sh
    done
}

part_8() {
    verdict "NCCL by the plugin: failures" "$PYTHON" bench/gpu/nccl_plugin.py --build "$B"
}

# ddp RANK: time DDP's hooks on this rank of $n
ddp() {
    NARROWCAST_CUDA=${NARROWCAST_CUDA:-$(realpath "$B")/libnarrowcast_cuda.so} NARROWCAST_LIBRARY=$(realpath "$B")/libnarrowcast.so.0 DEVICE=$device \
        "$PYTHON" bench/allreduce/ddp_hooks.py "$1" "$n" 127.0.0.1:29555 "${size[@]}"
}
part_9() {
    local rank n device=cuda size=(224 64 9 resnet50)
    [ -z "${EMULATED-}" ] || device=cpu size=(32 2 3 resnet18)
    n=$("$PYTHON" -c 'import torch; print(max(2, torch.cuda.device_count()))') ||
        { figure "DDP with each hook: failures" null "no PyTorch" >>"$figures" && return; }
    for ((rank = 1; rank < n; rank++)); do ddp "$rank" & done
    verdict "DDP with each hook: failures" ddp 0 >"$OUT/hooks"
    cat "$OUT/hooks"
    awk -v model="${size[3]}" 'FNR > 2 { hook = substr($0, 1, 26); sub(/ +$/, "", hook); $0 = substr($0, 27)
        if (hook != "fp32") printf "{\"kind\":\"gpu_all\",\"name\":\"DDP step of %s, fp32 by %s\",\"value\":%.3f}\n", model, hook, 1 / $2 }' "$OUT/hooks" >>"$figures"
}

table() {
    local files=("$OUT"/[1-9].jsonl)
    [ -e "${files[0]}" ] || { echo "gpu_all.sh: nothing has been measured in $OUT" >&2 && return 1; }
    "$PYTHON" bench/gpu/gpu_summary.py "${files[@]}" --json "$OUT/summary.json" >"$OUT/summary.txt" && cat "$OUT/summary.txt"
}

if [ "${1-}" = --table ]; then
    table
    exit
fi
for part in "$@" ${GPU_ALL_PART:+"$GPU_ALL_PART"}; do
    case $part in [1-9]) ;; *) refuse "'$part': parts are 1 to 9" ;; esac
done
for mib in ${MIB-}; do whole MIB "$mib" 'a number of MiB'; done
whole SECONDS_A_RUN "${SECONDS_A_RUN:-5}" 'a number of seconds'
[ -e /dev/nvidiactl ] || [ "${EMULATED-}" ] || { echo 'skip  no GPU'; exit 77; }
mkdir -p "$OUT" || exit 1
[ $# -gt 0 ] || set -- 1 2 3 4 5 6 7 8 9
if [ "${GPU_ALL_PART-}" ]; then # in the process group that timeout kills
    figures=$OUT/$GPU_ALL_PART.jsonl
    "part_$GPU_ALL_PART"
    exit
fi
session=
trap '[ -z "$session" ] || pkill -KILL -s "$session"; exit 130' HUP INT TERM
for part in "$@"; do
    : >"$OUT/$part.jsonl"
    start=$SECONDS
    echo "part $part, ${limits[part]} s at most: $OUT/$part.txt"
    # a session, so that all its processes end
    GPU_ALL_PART=$part setsid timeout -k 10 "${limits[part]}" bench/gpu/gpu_all.sh "$part" >"$OUT/$part.txt" 2>&1 &
    session=$!
    wait "$session"
    rc=$?
    pkill -KILL -s "$session"
    [ $rc != 124 ] || echo "part $part did not end in time: what it had measured stands" | tee -a "$OUT/$part.txt"
    [ $rc = 0 ] || [ $rc = 124 ] || echo "part $part ended with $rc: $(tail -n 1 "$OUT/$part.txt")"
    echo "part $part took $((SECONDS - start)) s"
done
table
