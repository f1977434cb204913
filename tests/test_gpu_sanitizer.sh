#!/bin/bash
# test_gpu_sanitizer.sh : compute-sanitizer's opinion of the GPU's tests: memcheck, and with `long` racecheck, initcheck and synccheck.
# Needs a real GPU; on the emulator the same is found by what it traps (tests/emu/README.md).
set -u
B=${B:-build}
tool=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
[ -e /dev/nvidiactl ] || { echo 'skip: no GPU'; exit 77; }
[ -f "$B/libnarrowcast_cuda.so" ] || { echo "skip: no $B/libnarrowcast_cuda.so"; exit 77; }
[ -x "$tool" ] || { echo 'skip: no compute-sanitizer'; exit 77; }
bad=0
checks=memcheck
[ "${1-}" = long ] && checks='memcheck racecheck initcheck synccheck'
for check in $checks; do
    for t in "$B"/tests/test_gpu_* "$B/tests/test_gemm_low_gpu"; do
        case $t in *_mpi | *_all) continue ;; esac
        [ "$check" = initcheck ] && case $t in *test_gpu_conv | *test_gpu_model | *test_gpu_step) continue ;; esac # cuDNN reads padding
        echo "$check ${t##*/}"
        "$tool" --tool "$check" --error-exitcode 9 --quiet "$t" >"$B/logs/sanitizer.log" 2>&1
        rc=$?
        [ $rc = 0 ] || [ $rc = 77 ] || { tail -n 20 "$B/logs/sanitizer.log"; echo "FAIL $check ${t##*/}: $rc"; bad=1; }
    done
done
exit $bad
