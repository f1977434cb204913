#!/bin/bash
# test_gpu_sanitizer.sh : runs GPU tests under compute-sanitizer's memcheck; `long` adds racecheck,
# initcheck and synccheck. Needs a real GPU; the emulator traps most of these errors
# itself (tests/emu/README.md).
# environment: TOOLS    of compute-sanitizer (memcheck, with `long` all four)
#              JOBS     tests at a time (4)
#              ENDS_IN  seconds for all tests (no limit)
# Exit 1: a finding; 124: no finding, but not all tests have run.
set -u
B=${B:-build}
PATH=$PATH:${CUDA_HOME:-/usr/local/cuda}/bin
limit=300

if [ "${1-}" = --one ]; then
    log=$LOGS/$2-${3##*/} left=$((ENDS - $(date +%s))) rc=0
    [ "$left" -ge "$limit" ] || limit=$left
    if [ "$limit" -gt 0 ]; then
        timeout --foreground -k 5 "$limit" compute-sanitizer --tool "$2" --error-exitcode 9 --quiet "$3" >"$log" 2>&1 || rc=$?
    else
        rc=124
    fi
    case $rc:$limit in
    0:*) echo "$2 ${3##*/}: clean" ;;
    77:*) echo "$2 ${3##*/}: skipped" ;;
    124:"$left") echo "$2 ${3##*/}: no time left" && touch "$LOGS/late" ;;
    *) tail -n 20 "$log" && echo "FAIL $2 ${3##*/}: $rc" && touch "$LOGS/bad" ;;
    esac
    exit 0
fi
[ -e /dev/nvidiactl ] || { echo 'skip: no GPU'; exit 77; }
[ -f "$B/libnarrowcast_cuda.so" ] || { echo "skip: no $B/libnarrowcast_cuda.so"; exit 77; }
command -v compute-sanitizer >/dev/null || { echo 'skip: no compute-sanitizer'; exit 77; }
LOGS=$(mktemp -d)
ENDS=$(($(date +%s) + ${ENDS_IN:-1000000}))
export LOGS ENDS
trap 'rm -rf "$LOGS"' EXIT
trap 'trap - TERM; kill 0; exit 143' TERM INT

tools=${TOOLS:-memcheck}
[ "${1-}" = long ] && tools='memcheck racecheck initcheck synccheck'
for check in $tools; do
    for t in "$B"/tests/test_gpu_* "$B/tests/test_gemm_low_gpu"; do
        case ${t##*/} in *_mpi | *_all | *.*) continue ;; esac
        # cuDNN reads padding
        [ "$check" = initcheck ] && case $t in *test_gpu_conv | *test_gpu_model | *test_gpu_step) continue ;; esac
        printf '%s\0' "$t"
    done | xargs -0 -P "${JOBS:-4}" -I{} "$0" --one "$check" {}
done
[ ! -e "$LOGS/bad" ] || exit 1
[ ! -e "$LOGS/late" ] || exit 124
