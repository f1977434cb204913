# shellcheck shell=bash
# train_codec.sh : runs short trainings with a codec on the CPU.
. "$(dirname "${BASH_SOURCE[0]}")/in_folder.sh"

model=resnet8
on() {
    ranks=$1
    shift
    timeout 120 mpirun -np "$ranks" "$n" train --device cpu --model "$model" --data synthetic:240,3 --batch 24 --lr 0.05 --schedule const --steps 8 "$@" 2>>stderr
}

# same RANKS OPTIONS...: a whole run and resumed, overlapped and small-message ones must be equal
same() {
    ranks=$1
    shift
    rm -f ./*.ck
    on "$ranks" "$@" --save whole.ck >whole.txt || fail "$*: exit $?: $(tail -n 1 stderr)"
    on "$ranks" "$@" --steps 5 --save half.ck >/dev/null || fail "$*: exit $?"
    on "$ranks" "$@" --resume half.ck --save again.ck >/dev/null || fail "$*: --resume"
    same_state whole.ck again.ck || fail "$*: other bits when resumed"
    on "$ranks" "$@" --overlap on --save overlap.ck >/dev/null || fail "$*: --overlap on"
    same_state whole.ck overlap.ck || fail "$*: other bits with overlap"
    on "$ranks" "$@" --bucket-bytes 4k >small.txt || fail "$*: --bucket-bytes"
    [ "$(grep checksum whole.txt)" = "$(grep checksum small.txt)" ] || fail "$*: other bits in small messages"
}

trains() {
    local ranks=$1
    shift
    timeout 60 mpirun -np "$ranks" "$n" train --device cpu "$@"
}
