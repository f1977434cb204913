#!/bin/bash
# test_train_relgrad.sh : trains with `--codec relgrad` and `--scale quantile`.
set -u
. "$(dirname "$0")/../lib/train_codec.sh"
model=mlp
same 4 --codec relgrad:every=3,samples=64 --algo group-scatter:2 --first-steps-fp32 2
same 1 --codec relgrad
same 2 --scale quantile:every=4 --sum fp32

on 2 --codec relgrad --first-steps-fp32 8 >first.txt || fail "--first-steps-fp32"
on 2 --format fp32 --scale none >fp32.txt
equal "8 steps of fp32 are not those of --format fp32" "$(grep checksum first.txt)" "$(grep checksum fp32.txt)"
on 2 --codec relgrad --first-steps-fp32 7 >first.txt
differ "the last step is in fp32 as well" "$(grep checksum first.txt)" "$(grep checksum fp32.txt)"

# an epoch is 10 steps
for options in '--format fp32 --scale none' '--codec relgrad --first-epochs-fp32 2' '--codec relgrad --first-epochs-fp32 1' '--codec relgrad --first-steps-fp32 10'; do
    # shellcheck disable=SC2086
    on 2 --steps 12 $options | grep checksum || fail "12 steps, $options"
done >epochs
[ "$(uniq -c epochs | awk '{ print $1 }' | xargs)" = '2 2' ] || fail "first epochs in fp32: $(cat epochs)"

# two stages differ from one; MPI's own sums of 2 ranks equal direct's
for words in '' ' --algo group-scatter:2' ' --sum nearest' ' --sum exact' ':eps=1e-3' ':of=gradient' ':q=0.5'; do
    # shellcheck disable=SC2086
    on 4 --steps 3 --codec relgrad$words >relgrad.txt || fail "relgrad$words"
    grep checksum relgrad.txt
done >sums
[ "$(sort -u sums | wc -l)" = 7 ] || fail "two of seven kinds of relgrad have the same bits"
on 2 --codec relgrad --algo direct >direct.txt || fail "direct"
on 2 --codec relgrad --algo native >native.txt || fail "native"
equal "native has other bits than direct" "$(grep checksum direct.txt)" "$(grep checksum native.txt)"
on 4 --steps 3 --codec relgrad --sum exact >whole.txt || fail "exact"
on 4 --steps 3 --codec relgrad --sum exact --algo group-scatter:2 >half.txt || fail "exact by group-scatter"
equal "exact sums by group-scatter have other bits than direct's" "$(grep checksum whole.txt)" "$(grep checksum half.txt)"

refused 'algorithm "ring" cannot add codec "relgrad": need one of self direct group-scatter:K gather gather-sum native' trains 2 --codec relgrad --algo ring
refused 'cannot add by --sum exact with algorithm "native", which adds by nearest, trunc' trains 2 --codec relgrad --sum exact --algo native
exit $bad
