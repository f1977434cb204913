#!/bin/bash
# test_train_codecs.sh : trains with `--codec`: equal weights when resumed, overlapped or in other
# message sizes. With `long` also on one rank.
set -u
. "$(dirname "$0")/../lib/train_codec.sh"
[ -z "${1-}" ] || same 1 --codec qsgd:8
same 3 --codec qsgd:4
[ -z "${1-}" ] || same 1 --codec onebit
same 3 --codec onebit:64 --lr 0.02
same 2 --codec onebit:column --model lenet5 --lr 0.01
same 2 --codec ternary
same 3 --codec nvfp4
same 2 --codec qsgd:2,norm=2,bucket=32 --quantise all --fp32-last-layer --first-epochs-fp32 0

on 3 --codec qsgd:4 --algo gather >gather.txt || fail "gather"
on 3 --codec qsgd:4 --algo direct >direct.txt || fail "direct"
equal "gather has other bits than direct" "$(grep checksum gather.txt)" "$(grep checksum direct.txt)"
for algo in direct gather gather-sum; do
    on 3 --codec nvfp4 --quantise all --algo $algo | grep checksum >nvfp4.$algo || fail "nvfp4 by $algo"
    cmp nvfp4.direct nvfp4.$algo || fail "nvfp4: $algo has other bits than direct"
done
on 4 --codec ternary --quantise all --algo direct >whole.txt || fail "ternary"
on 4 --codec ternary --quantise all --algo group-scatter:2 >half.txt || fail "ternary by group-scatter"
equal "ternary: group-scatter has other bits than direct" "$(grep checksum whole.txt)" "$(grep checksum half.txt)"
grep -q '^gradients  *qsgd:4,bucket=512,norm=max,levels=sign, all-reduce direct$' direct.txt || fail "says $(grep ^gradients direct.txt)"

for which in large all; do
    on 2 --codec qsgd:4 --quantise $which --log $which.jsonl >$which.txt || fail "--quantise $which"
done
on 2 --codec qsgd:4 >auto.txt
equal "--quantise auto is not large" "$(grep checksum auto.txt)" "$(grep checksum large.txt)"
differ "--quantise all changes nothing" "$(grep checksum all.txt)" "$(grep checksum large.txt)"

# with conv, all and only the kernels of convolutions are cast
on 2 --format e4m3 --quantise conv --stats conv.stats --log conv.jsonl >conv.txt || fail "--quantise conv"
grep -q '"used_quantise":"conv"' conv.jsonl || fail "--quantise conv is not logged"
sed -n 's/.*"kind":"stats",.*"layer":"\([^"]*\)".*/\1 &/p' conv.stats | awk '{ kernel = $1 ~ /conv[0-9]*\.weight$/; cast = /"format":"e4m3"/; n[kernel]++ }
    kernel != cast { print $1; bad = 1 }
    END { exit bad || !n[0] || !n[1] }' >odd || fail "--quantise conv: cast or not against its kind: $(cat odd)"
on 2 --codec qsgd:4 --quantise conv >conv.txt || fail "qsgd --quantise conv"
for which in large all; do
    differ "--quantise conv is $which" "$(grep checksum $which.txt)" "$(grep checksum conv.txt)"
done

# by columns, a 3x3 convolution takes fp32's bytes: two means and a word for three weights
on 2 --codec onebit:column --model resnet20 --steps 1 --log column.jsonl >/dev/null || fail "columns of resnet20"
on 2 --codec onebit --model resnet20 --steps 1 --log bucket.jsonl >/dev/null || fail "buckets of resnet20"
share() { sed -n 's/.*"kind":"step".*"code_bytes":\([0-9]*\).*"fp32_bytes":\([0-9]*\).*/\1 \2/p' "$1" | awk '{ print int(100 * $1 / $2) }'; }
[ "$(share column.jsonl)" -ge 95 ] || fail "columns of resnet20: $(share column.jsonl) % of fp32's bytes"
[ "$(share bucket.jsonl)" -le 7 ] || fail "buckets of resnet20: $(share bucket.jsonl) % of fp32's bytes"

refused 'algorithm "ring" cannot add codec "nvfp4": need one of self direct gather gather-sum' trains 2 --codec nvfp4 --algo ring
refused 'cannot add codec "mx:e5m2" of 2 ranks, whose blocks have scales of their own: need --format e5m2 --scale aps-tight:32' trains 2 --codec mx:e5m2
refused "--quantise 'small': must be one of auto|large|all|conv" trains 2 --quantise small
refused "--quantise conv leaves nothing to quantise: model 'mlp' has no convolutions" trains 2 --model mlp --data synthetic:240,3 --quantise conv
exit $bad
