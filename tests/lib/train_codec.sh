# shellcheck shell=bash
# train_codec.sh : short trainings by a codec on the CPU; test_train_codecs.sh and test_train_relgrad.sh source it. They run in a folder
# of their own, which goes with them; `fail` sets bad=1.
# shellcheck source=host/ranks.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../host/ranks.sh"
# shellcheck source=tests/lib/same_state.sh
. "$(dirname "${BASH_SOURCE[0]}")/same_state.sh"
B=${B:-build}
case $B in /*) ;; *) B=$PWD/$B ;; esac
n=$B/narrowcast
test=$(basename "$0")
dir=$(mktemp -d)
cd "$dir" || exit 1
trap 'rm -rf "$dir"' EXIT
bad=0
fail() {
    echo "$test: $*" >&2
    # shellcheck disable=SC2034  # the script that sources this ends with it
    bad=1
}

# on RANKS OPTIONS...: a short run of $model
model=resnet8
on() {
    ranks=$1
    shift
    timeout 120 mpirun -np "$ranks" "$n" train --device cpu --model "$model" --data synthetic:240,3 --batch 24 --lr 0.05 --schedule const --steps 8 "$@" 2>>stderr
}

# same RANKS OPTIONS...: whole; in two runs; with overlap, in small messages
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

# refused RANKS LINE OPTIONS...
refused() {
    ranks=$1 line=$2
    shift 2
    timeout 60 mpirun -np "$ranks" "$n" train --device cpu "$@" >out 2>said && fail "$*: accepted"
    [ "$(grep -c '^narrowcast: ' said)" = 1 ] || fail "$*: said $(grep '^narrowcast' said)"
    grep -qF -- "narrowcast: $line" said || fail "$*: said $(grep '^narrowcast' said)"
}
