# shellcheck shell=bash
# cuda_library.sh : which library trains: $NARROWCAST_CUDA, else the real one where there is a GPU, which then must be there, else the
# emulator; a script that sources it is skipped where there is none. For scripts that have $B, absolute unless they stand in the project's folder.
if [ -z "${NARROWCAST_CUDA-}" ]; then
    export NARROWCAST_CUDA=$B/emu/libnarrowcast_cuda.so
    if [ -e /dev/nvidiactl ] && [ "${CUDA_VISIBLE_DEVICES-0}" != '' ]; then
        export NARROWCAST_CUDA=$B/libnarrowcast_cuda.so
        [ -f "$NARROWCAST_CUDA" ] || { echo "FAIL a GPU is here (/dev/nvidiactl), but no $NARROWCAST_CUDA: make builds it, where nvcc is"; exit 1; }
    fi
fi
[ -f "$NARROWCAST_CUDA" ] || { echo "skip: no $NARROWCAST_CUDA"; exit 77; }
echo "library: $NARROWCAST_CUDA"
