#!/bin/bash
# test_micro.sh : compares `--micro N` (a rank takes its share in N passes) with N ranks.
set -u
. "$(dirname "$0")/../lib/in_folder.sh"
common="--data synthetic:240,3 --batch 24 --lr 0.05"
equal() { if [ -z "$2" ] || [ "$2" != "$3" ]; then fail "$1: checksum '$2' and '$3': $(tail -n 1 said)"; fi; }
# shellcheck disable=SC2086
train() { ranks=$1 && shift && mpirun -np "$ranks" "$n" train $common "$@" 2>said | sum_of; }
# shellcheck disable=SC2086
emulate() { ranks=$1 && shift && "$n" emulate --ranks "$ranks" $common "$@" 2>said | sum_of; }

# --- fp32 sums in rank order, no norms, no dropout: a pass equals a rank, bit for bit ---
plain="--model lenet5 --steps 12 --format fp32 --scale none --augment crop"
# shellcheck disable=SC2086
{
    three=$(train 3 $plain)
    equal "3 passes and 3 ranks" "$(train 1 $plain --micro 3)" "$three"
    equal "3 passes behind the rounding table" "$(train 1 $plain --micro 3 --quant act=e8m23,weight=e8m23,error=e8m23)" "$three"
    equal "8 passes and 8 ranks" "$(emulate 1 $plain --micro 8)" "$(emulate 8 $plain)"
    differ "3 passes and 1 end in the same weights" "$three" "$(train 1 $plain)"
}

norms="--model resnet8 --steps 12 --format e4m3 --round stochastic --schedule const --micro 3"
# shellcheck disable=SC2086
{
    two=$(train 2 $norms --save two.ck)
    equal "ranks and emulated ones" "$two" "$(emulate 2 $norms --save emulated.ck)"
    same_state two.ck emulated.ck || fail "emulated ranks save another checkpoint"
    equal "overlap" "$two" "$(train 2 $norms --overlap on)"
    emulate 2 $norms --steps 7 --save seven.ck >/dev/null
    equal "resumed" "$two" "$(emulate 2 $norms --resume seven.ck)"
    emulate 2 $norms --micro 2 --resume seven.ck >/dev/null
    grep -qF "made with micro '3', this run has '2'" said || fail "took a checkpoint of other passes: $(cat said)"
}
train 2 --model lenet5 --micro 5 >/dev/null
grep -qF "narrowcast: --micro 5 does not divide the 12 images of a rank: --batch must be a multiple of 10" said || fail "5 passes: $(cat said)"
exit $bad
