#!/bin/bash
# test_train_quant.sh : trains with `--quant`: fp32's own format keeps all bits, others
# change them; it learns, checkpoints keep it, and wrong specs are refused.
set -eu
. "$(dirname "$0")/../lib/in_folder.sh"

on() {
    launch="mpirun -np $1"
    [ "$1" != 1 ] || launch=
    shift
    # shellcheck disable=SC2086
    $launch "$B/narrowcast" train --data synthetic:400,3 --batch 20 --lr 0.02 --warmup 0 --steps 12 --model mlp "$@"
}
checksum() { on "$@" 2>said | sum_of; }

plain=$(checksum 2)
[ -n "$plain" ] || fail "no checksum: $(cat said)"
[ "$(checksum 2 --quant act=e8m23,weight=e8m23,error=e8m23)" = "$plain" ] || fail "e8m23 changes the weights"
seen=$(checksum 1)
for words in act=e4m3 weight=e4m3 error=e5m2 'error=e5m2 --loss-scale 1024'; do
    # shellcheck disable=SC2086
    sum=$(checksum 1 --quant $words)
    [ -n "$sum" ] || fail "$words: $(cat said)"
    case " $seen " in *" $sum "*) fail "$words: the weights of another run, $sum" ;; esac
    seen="$seen $sum"
done

on 2 --quant act=e4m3,weight=e4m3,error=e5m2 --loss-scale 1024 --steps 60 --log log --save ckpt --schedule const >out 2>said || fail "60 steps: $(cat said)"
awk -F'"loss":' '/"kind":"step"/ { split($2, v, ","); if (!n++) first = v[1]; last = v[1] } END { exit !(n == 60 && last < first / 4) }' log ||
    fail "does not learn: $(tail -n 1 log)"
grep -q '"quant":"act=e4m3,weight=e4m3,error=e5m2"' log || fail "the log does not say --quant"
refused "it was made with quant 'act=e4m3,weight=e4m3,error=e5m2', this run has 'act=e4m3,weight=e4m3,error=e5m3'" \
    on 2 --quant act=e4m3,weight=e4m3,error=e5m3 --loss-scale 1024 --steps 61 --resume ckpt --schedule const

refused 'need none, or at least one of act=F' on 1 --quant acts=e4m3
refused 'eXmY with X 1..8' on 1 --quant act=e9m3
refused '--quant act=e4m3 rounds fp32 activations: it needs --precision fp32' on 1 --quant act=e4m3 --device cuda --precision fp16
refused '--loss-scale needs --precision fp16, fp16-pure or --quant error=F' on 1 --quant act=e4m3 --loss-scale 1024
refused 'power of two' on 1 --quant error=e4m3 --loss-scale 1000
exit $bad
