# shellcheck shell=bash
# cuda_library.sh : sets NARROWCAST_CUDA, unless it is set, to the real library (which must exist)
# if there is a GPU, else to the emulator. Without either, skips the script. Needs $B, absolute
# unless the script runs in the top folder.
if [ -z "${NARROWCAST_CUDA-}" ]; then
    export NARROWCAST_CUDA=$B/emu/libnarrowcast_cuda.so
    if [ -e /dev/nvidiactl ] && [ "${CUDA_VISIBLE_DEVICES-0}" != '' ]; then
        export NARROWCAST_CUDA=$B/libnarrowcast_cuda.so
        [ -f "$NARROWCAST_CUDA" ] || { echo "FAIL a GPU is here (/dev/nvidiactl), but no $NARROWCAST_CUDA: make builds it, where nvcc is"; exit 1; }
    fi
fi
[ -f "$NARROWCAST_CUDA" ] || { echo "skip: no $NARROWCAST_CUDA"; exit 77; }
echo "library: $NARROWCAST_CUDA"
