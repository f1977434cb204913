#!/bin/bash
# test_gpu_sanitizer.sh : compute-sanitizer's opinion of the GPU's tests, four at a time: memcheck, and with `long` racecheck, initcheck and
# synccheck. Needs a real GPU; on the emulator the same is found by what it traps (tests/emu/README.md).
# environment: LIMIT, seconds that one test may take (300).
set -u
B=${B:-build}
PATH=$PATH:${CUDA_HOME:-/usr/local/cuda}/bin
[ -e /dev/nvidiactl ] || { echo 'skip: no GPU'; exit 77; }
[ -f "$B/libnarrowcast_cuda.so" ] || { echo "skip: no $B/libnarrowcast_cuda.so"; exit 77; }
command -v compute-sanitizer >/dev/null || { echo 'skip: no compute-sanitizer'; exit 77; }
logs=$(mktemp -d)
trap 'rm -rf "$logs"; kill $(jobs -p) 2>/dev/null' EXIT
trap 'exit 143' TERM

# look CHECK TEST
look() {
    local log=$logs/$1-${2##*/} rc=0
    timeout -k 5 "${LIMIT:-300}" compute-sanitizer --tool "$1" --error-exitcode 9 --quiet "$2" >"$log" 2>&1 || rc=$?
    case $rc in
    0) echo "$1 ${2##*/}: clean" ;;
    77) echo "$1 ${2##*/}: skipped" ;;
    *) tail -n 20 "$log" && echo "FAIL $1 ${2##*/}: $rc" && touch "$logs/bad" ;;
    esac
}

checks=memcheck
[ "${1-}" = long ] && checks='memcheck racecheck initcheck synccheck'
for check in $checks; do
    for t in "$B"/tests/test_gpu_* "$B/tests/test_gemm_low_gpu"; do
        case ${t##*/} in *_mpi | *_all | *.*) continue ;; esac
        [ "$check" = initcheck ] && case $t in *test_gpu_conv | *test_gpu_model | *test_gpu_step) continue ;; esac # cuDNN reads padding
        [ "$(jobs -rp | wc -l)" -lt 4 ] || wait -n
        look "$check" "$t" &
    done
    wait
done
[ ! -e "$logs/bad" ]
