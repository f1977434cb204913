# shellcheck shell=bash disable=SC2154 # names of script.sh
# cuda_train.sh : for scripts that train on a GPU or the emulator. Sets NARROWCAST_CUDA, unless it
# is set, to the real library (which must exist) if there is a GPU, else to the emulator. Without
# either, skips the script. Needs script.sh's names; a training LABEL writes $dir/LABEL.out, .err
# and perhaps .stats.
if [ -z "${NARROWCAST_CUDA-}" ]; then
    export NARROWCAST_CUDA=$B/emu/libnarrowcast_cuda.so
    case ${CUDA_VISIBLE_DEVICES-0} in
    '' | -*) ;; # hide all GPUs
    *)
        if [ -e /dev/nvidiactl ]; then
            export NARROWCAST_CUDA=$B/libnarrowcast_cuda.so
            [ -f "$NARROWCAST_CUDA" ] || { echo "FAIL a GPU is here (/dev/nvidiactl), but no $NARROWCAST_CUDA: make builds it, where nvcc is"; exit 1; }
        fi
        ;;
    esac
fi
[ -f "$NARROWCAST_CUDA" ] || { echo "skip: no $NARROWCAST_CUDA"; exit 77; }
echo "library: $NARROWCAST_CUDA"
export NARROWCAST_CONV=first # plans chosen by their speed may round differently

sum() { sum_of "$dir/$1.out"; }
loss() { sed -n 's/^loss *\([0-9.]*\) .*/\1/p' "$dir/$1.out"; }
# network LABEL KEY: a figure of the first step's statistics
network() { sed -n "s/.*stats_network\",\"step\":1,.*\"$2\":\([^,}]*\).*/\1/p" "$dir/$1.stats"; }
# same LABEL LABEL WHAT: both end with the same weights
same() {
    [ -n "$(sum "$1")" ] || fail "$1 ended without a checksum"
    [ "$(sum "$1")" = "$(sum "$2")" ] || fail "$3: $1 ended in '$(sum "$1")', $2 in '$(sum "$2")': $(tail -n 1 "$dir/$2.err")"
}
# near X Y MOST WHAT: both are above 0, and differ by at most MOST of X
near() {
    awk -v a="$1" -v b="$2" -v most="$3" 'BEGIN { d = (a - b) / a; exit !(a > 0 && b > 0 && d <= most && -d <= most) }' || fail "$4: $1 and $2"
}
