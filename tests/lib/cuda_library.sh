# shellcheck shell=bash
# cuda_library.sh : exports NARROWCAST_CUDA: as it is set; else, with a GPU, the real library, which
# must exist; else the emulator. Skips the script if there is none. Needs $B, absolute unless the
# script runs in the top folder.
if [ -z "${NARROWCAST_CUDA-}" ]; then
    export NARROWCAST_CUDA=$B/emu/libnarrowcast_cuda.so
    if [ -e /dev/nvidiactl ] && [ "${CUDA_VISIBLE_DEVICES-0}" != '' ]; then
        export NARROWCAST_CUDA=$B/libnarrowcast_cuda.so
        [ -f "$NARROWCAST_CUDA" ] || { echo "FAIL a GPU is here (/dev/nvidiactl), but no $NARROWCAST_CUDA: make builds it, where nvcc is"; exit 1; }
    fi
fi
[ -f "$NARROWCAST_CUDA" ] || { echo "skip: no $NARROWCAST_CUDA"; exit 77; }
echo "library: $NARROWCAST_CUDA"
