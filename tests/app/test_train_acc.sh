#!/bin/bash
# test_train_acc.sh : trains with --acc-format and --rescale.
set -u
. "$(dirname "$0")/../lib/train_codec.sh"

model=lenet5
same 4 --format e5m2 --sum nearest --acc-format e6m9 --algo group-master:2
same 4 --format e4m3 --scale aps --sum nearest --rescale --algo group-scatter:2

same 3 --format fp32 --scale none --sum kahan --acc-format e4m3

sum() {
    on 4 --steps 4 --format e5m2 "$@" >out.txt || fail "$*: exit $?"
    grep checksum out.txt
}
equal "sums rounded to fp32 are not those in fp32" "$(sum --sum nearest --acc-format e8m23)" "$(sum --sum fp32)"
equal "the addends' own format is another" "$(sum --sum nearest --acc-format e5m2 --algo ring)" "$(sum --sum nearest --algo ring)"
equal "one group and a ring" "$(sum --sum nearest --acc-format e5m10 --algo group-master:4)" "$(sum --sum nearest --acc-format e5m10 --algo ring)"
differ "--acc-format changes nothing" "$(sum --sum kahan --acc-format e6m9)" "$(sum --sum kahan)"
on 4 --steps 4 --sum nearest --acc-format e5m10 --format e5m2 --algo ring | grep -qF 'nearest sums in e5m2, partial ones in fp16' || fail "the report does not name it"

# narrower than what travels: fp32's bytes, and other sums for each format and rule
seen=
for options in "--sum fp32" "--sum kahan --acc-format e5m2" "--sum nearest --acc-format e5m2" "--sum kahan --acc-format e4m3"; do
    # shellcheck disable=SC2086
    on 4 --steps 4 --format fp32 --scale none $options >out.txt || fail "$options: exit $?"
    grep -qF '(1.000)' out.txt || fail "$options does not send fp32: $(grep ^bytes out.txt)"
    case $seen in *"$(grep checksum out.txt)"*) fail "$options: the weights of another run" ;; esac
    seen="$seen $(grep checksum out.txt)"
done

refused '--acc-format e6m9 needs --sum nearest or kahan, not auto' trains 2 --acc-format e6m9
refused '--acc-format must represent every number of e4m3, which e6m2 does not: need e4m3 or more of both, or --scale none or const:K' trains 2 --format e4m3 --sum nearest --acc-format e6m2
refused '--acc-format e6m9 is impossible with algorithm "native", which adds in the format it sends; need direct, gather, gather-sum, ring, group-master or group-scatter' trains 2 \
    --format e5m2 --sum nearest --acc-format e6m9 --algo native
refused 'a card cannot add by --sum nearest: use --sum exact, or leave the card out' trains 2 --format e5m2 --sum nearest --acc-format e6m9 --offload sim:c
refused '--acc-format e6m9 has no effect with --codec qsgd' trains 2 --codec qsgd:4 --acc-format e6m9
narrow="--format e3m2 --scale aps --sum nearest --algo group-master:2"
# shellcheck disable=SC2086
differ "--rescale changes nothing" "$(on 4 --steps 4 $narrow --rescale | grep checksum)" "$(on 4 --steps 4 $narrow | grep checksum)"
refused '--rescale has no effect with --sum exact, which does not cast sums again between groups; need --sum nearest' trains 4 --rescale --algo group-scatter:2
refused '--rescale is impossible with algorithm "ring": need group-master:K or group-scatter:K' trains 4 --rescale --sum nearest --algo ring
refused '--rescale is impossible with algorithm "group-scatter" in such groups: need' trains 4 --rescale --sum nearest --algo group-scatter:4
refused '--rescale needs --scale aps: --scale none' trains 4 --rescale --scale none --sum nearest --algo group-scatter:2
on 2 --steps 2 --sum nearest --acc-format e6m9 --save acc.ck >/dev/null || fail "--save"
refused 'acc-format' trains 2 --model "$model" --data synthetic:240,3 --batch 24 --lr 0.05 --schedule const --steps 4 --sum nearest --acc-format e5m10 --resume acc.ck
exit $bad
