#!/bin/bash
# test_train_pure.sh : trains with `--precision fp16-pure`. With `long` more optimisers are resumed.
set -eu
. "$(dirname "$0")/../lib/in_folder.sh"

on() {
    launch="mpirun -np $1"
    [ "$1" != 1 ] || launch=
    shift
    # shellcheck disable=SC2086
    $launch "$n" train --device cpu --precision fp16-pure --data synthetic:400,3 --batch 24 --lr 0.05 --warmup 0 --steps 8 --schedule const --block swap "$@"
}
checksum() { on "$@" 2>said | sum_of; }

# Adaptive scales are refreshed in steps 0, 3 and 6: after step 5, scales and step must be saved.
adaptive='--loss-scale adaptive:0.1,3 --block swap:0.003'
for options in '--micro 2' '--optimizer lars --trust 0.02 --lr 2' '--nesterov --momentum 0.9' "$adaptive"; do
    case ${1-}/$options in /--optimizer* | /--nesterov*) continue ;; esac
    # shellcheck disable=SC2086
    whole=$(checksum 2 $options --save whole.ck)
    # shellcheck disable=SC2086
    on 2 $options --steps 5 --save ckpt >out 2>said || fail "5 steps: $(cat said)"
    # shellcheck disable=SC2086
    again=$(checksum 2 $options --resume ckpt --save again.ck)
    { [ -n "$whole" ] && [ "$again" = "$whole" ]; } || fail "$options: resumed $again, uninterrupted $whole: $(cat said)"
    same_state whole.ck again.ck || fail "$options: another checkpoint when resumed"
done
# shellcheck disable=SC2086
differ "scales found in every step end as those of every third" "$(checksum 2 $adaptive --loss-scale adaptive:0.1,1)" "$whole"

# Without codec state, layer scales come before the checksum: 4 bytes per layer, rank by rank.
# shellcheck disable=SC2086
on 2 $adaptive --steps 5 --save ckpt >out 2>said || fail "5 steps: $(cat said)"
head -c -4 ckpt | signed same.ck
cmp ckpt same.ck || fail "the checksum that this test makes is wrong"
# shellcheck disable=SC2059
last() { head -c -8 ckpt && printf "$1"; } # sets the last rank's scale of the last layer (fp32)
[ "$(head -c -4 ckpt | tail -c 4 | od -An -tf4 | tr -d ' ')" = 1 ] || fail "no scale where one is to be changed"
for bytes in '\000\000\100\100 3' '\000\000\000\000 0' '\000\000\200\277 -1' '\000\000\200\177 inf' '\000\000\300\177 nan' '\001\000\200\077 1.00000012'; do
    last "${bytes% *}" | signed odd.ck
    # shellcheck disable=SC2086
    if on 2 $adaptive --resume odd.ck >out 2>said; then fail "a scale of ${bytes#* } was resumed"; fi
    { [ "$(grep -c '^narrowcast: ' said)" = 1 ] && grep -q "cannot resume 'odd.ck': a layer's scale is ${bytes#* }, not a power of two" said; } ||
        fail "a scale of ${bytes#* }: $(cat said)"
done
last '\000\000\000\067' | signed small.ck # 2^-17
# shellcheck disable=SC2086
sum=$(checksum 2 $adaptive --resume small.ck)
{ [ -n "$sum" ] && [ "$sum" != "$whole" ]; } || fail "a saved scale of 2^-17 bears on nothing: $sum: $(cat said)"

four=$(checksum 4 --algo direct)
for how in '--algo gather' '--algo group-scatter:2' '--overlap on --bucket-bytes 4k'; do
    # shellcheck disable=SC2086
    sum=$(checksum 4 $how)
    [ "$sum" = "$four" ] || fail "4 ranks, $how: $sum, direct $four: $(cat said)"
done
emulated=$("$n" emulate --ranks 4 --device cpu --precision fp16-pure --data synthetic:400,3 --batch 24 --lr 0.05 --warmup 0 --steps 8 --schedule const --block swap 2>said | sum_of)
[ "$emulated" = "$four" ] || fail "4 emulated ranks: $emulated, real $four: $(cat said)"
differ "1 rank ends as 4 do" "$(checksum 1)" "$four"

wide='--algo direct --format fp32 --scale none' # e4m3's means are mostly numbers of e5m10
# shellcheck disable=SC2086
differ "--reduce-in fp32 changes nothing" "$(checksum 4 $wide --reduce-in fp32)" "$(checksum 4 $wide)"
one=$(checksum 1)
differ "--gemm e5m10 changes nothing" "$(checksum 1 --gemm e5m10 --steps 1)" "$(checksum 1 --steps 1)"
differ "fp16-pure is fp32" "$(checksum 1 --precision fp32)" "$one"

loss() {
    on "$1" --precision "$2" --model lenet5 --block plain --format fp32 --scale none --log "log$1$2" >out 2>said || fail "$*: $(cat said)"
    awk -F'"loss":' '/"kind":"step"/ { split($2, v, ","); last = v[1] } END { print last }' "log$1$2"
}
for precision in fp32:1e-5 fp16-pure:1e-2; do
    name=${precision%:*}
    a=$(loss 1 "$name") b=$(loss 4 "$name")
    awk -v a="$a" -v b="$b" -v most="${precision#*:}" 'BEGIN { d = (a - b) / a; exit !(a > 0 && b > 0 && d <= most && -d <= most) }' ||
        fail "$name: loss $a on 1 rank, $b on 4"
done

on 1 --model mlp --block plain --lr 0.02 --steps 60 --log log >out 2>said || fail "60 steps: $(cat said)"
awk -F'"loss":' '/"kind":"step"/ { split($2, v, ","); if (!n++) first = v[1]; last = v[1] } END { exit !(n == 60 && last < first / 2) }' log ||
    fail "does not learn: $(tail -n 1 log)"
"$n" info | grep -q '^wider in fp16-pure  *sums inside' || fail "info does not say what stays wider"

refused 'use --device cpu' on 1 --device cuda --gemm e5m10
refused '--quant act=e4m3 rounds fp32 activations: it needs --precision fp32' on 1 --quant act=e4m3
refused '--reduce-in needs --precision fp16-pure' on 1 --precision fp32 --reduce-in fp16
exit $bad
