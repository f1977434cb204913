#!/bin/bash
# test_train_optim.sh : trains with `--optimizer adamw`.
set -eu
. "$(dirname "$0")/../lib/in_folder.sh"

common='--device cpu --data synthetic:400,3 --batch 24 --model lenet5 --lr 0.005 --schedule const --optimizer adamw'
on() {
    ranks=$1 && shift
    # shellcheck disable=SC2086
    mpirun -np "$ranks" "$n" train $common --steps 10 "$@"
}
checksum() { on "$@" 2>said | sum_of; }
# shellcheck disable=SC2086,SC2317 # options are words; refused calls it
alone() { "$n" train $common --steps 4 "$@"; }

whole=$(checksum 2)
[ -n "$whole" ] || fail "no checksum: $(cat said)"
[ "$(checksum 2 --overlap on --bucket-bytes 8k)" = "$whole" ] || fail "other bits with overlap: $(cat said)"
# shellcheck disable=SC2086
[ "$("$n" emulate --ranks 2 $common --steps 10 2>said | sum_of)" = "$whole" ] || fail "other bits of emulated ranks: $(cat said)"
for options in '' '--precision fp16-pure --eps 1e-4' '--quant error=e4m3,overflow=inf --loss-scale dynamic'; do
    rm -f log
    # shellcheck disable=SC2086
    whole=$(checksum 2 $options --save whole.ck --log log)
    # shellcheck disable=SC2086
    on 2 $options --steps 6 --save ckpt >out 2>said || fail "6 steps: $(cat said)"
    # shellcheck disable=SC2086
    again=$(checksum 2 $options --resume ckpt --save again.ck)
    { [ -n "$whole" ] && [ "$again" = "$whole" ]; } || fail "$options: resumed $again, uninterrupted $whole: $(cat said)"
    same_state whole.ck again.ck || fail "$options: another checkpoint when resumed"
done
grep '"kind":"step"' log | head -n 6 | grep -q '"skipped":true' || fail "no step was skipped before the checkpoint"

plain=$(checksum 1)
for options in '--beta1 0.8' '--beta2 0.99' '--eps 1e-3' '--weight-decay 0.1' '--optimizer sgd'; do
    # shellcheck disable=SC2086
    differ "$options changes nothing" "$(checksum 1 $options)" "$plain"
done

on 1 --steps 2 --save adamw.ck --stats adamw.stats >out 2>said || fail "2 steps: $(cat said)"
on 1 --steps 2 --save sgd.ck --optimizer sgd --stats sgd.stats >out 2>said || fail "2 steps: $(cat said)"
has() { grep -qaxF -- "$2" "$1" || fail "$1 does not say $2"; }
for line in optimizer=adamw beta1=0.9 beta2=0.999 eps=1e-08; do has adamw.ck $line; done
for line in optimizer=sgd momentum=0.9 trust=0.001; do has sgd.ck $line; done
! grep -qaE '^(beta1|beta2|eps)=' sgd.ck || fail "a checkpoint of SGD names what it did not name before there was AdamW"
grep stats_network adamw.stats | grep -q '"updates_lost":null' || fail "AdamW has no array of updates: $(grep stats_network adamw.stats)"
grep stats_network sgd.stats | grep -q '"updates_lost":[0-9]' || fail "SGD has updates: $(grep stats_network sgd.stats)"

refused "cannot resume 'adamw.ck': it was made with beta2 '0.999', this run has '0.99'" alone --resume adamw.ck --beta2 0.99
refused "cannot resume 'sgd.ck': it was made with optimizer 'sgd', this run has 'adamw'" alone --resume sgd.ck
refused "--momentum needs --optimizer sgd or lars" alone --momentum 0.5
refused "--nesterov needs --optimizer sgd" alone --nesterov
refused "--trust needs --optimizer lars" alone --trust 0.1
refused "--beta2 needs --optimizer adamw" alone --beta2 0.99 --optimizer lars
refused "--beta1 '1': must be from 0 to 0.999999" alone --beta1 1
refused "--eps '0': must be from 1e-30 to 1" alone --eps 0
refused "--beta1 0.99999: the first step's factor 1 / (1 - beta1) is inf in fp16: --precision fp16-pure needs at most 0.99998" alone \
    --precision fp16-pure --eps 1e-7 --beta1 0.99999
refused "--eps 1e-08 becomes 0 in fp16: --precision fp16-pure needs at least 2^-24 (6e-8)" alone --precision fp16-pure
refused "--optimizer 'adam': must be one of sgd|lars|adamw: did you mean 'adamw'?" alone --optimizer adam

for options in '' '--precision fp16-pure --eps 6e-8'; do
    # shellcheck disable=SC2086
    accuracy=$(on 1 --steps 0 --epochs 12 --schedule cosine $options 2>said | sed -n 's/^accuracy \([0-9.]*\)$/\1/p')
    awk -v a="$accuracy" 'BEGIN { exit !(a > 0.6) }' || fail "accuracy '$accuracy' $options: $(cat said)"
done
exit $bad
