#!/bin/bash
# test_train_scale.sh : trains with `--loss-scale`: none, 1 and auto are equal where no scale
# moves.
set -eu
. "$(dirname "$0")/../lib/in_folder.sh"

half='--quant error=e4m7,overflow=inf'
on() {
    launch="mpirun -np $1"
    [ "$1" != 1 ] || launch=
    shift
    # shellcheck disable=SC2086
    $launch "$n" train --data synthetic:400,3 --batch 20 --lr 0.02 --warmup 0 --steps 7 --model lenet5 --schedule const $half "$@"
}
checksum() { on "$@" 2>said | sum_of; }

plain=$(checksum 1)
[ -n "$plain" ] || fail "no checksum: $(cat said)"
equal "none is not auto" "$(checksum 1 --loss-scale none)" "$plain"
equal "1 is not none" "$(checksum 1 --loss-scale 1)" "$plain"
seen=$plain
for word in 16 256 dynamic adaptive adaptive:0.01,3 adaptive:0.1,1,64,2; do
    sum=$(checksum 1 --loss-scale $word)
    [ -n "$sum" ] || fail "$word: $(cat said)"
    case " $seen " in *" $sum "*) fail "$word: the weights of another run, $sum" ;; esac
    seen="$seen $sum"
done
equal "the defaults of adaptive" "$(checksum 1 --loss-scale adaptive:1e-3,1,65504,65504)" "$(checksum 1 --loss-scale adaptive)"
on 1 --loss-scale adaptive >out 2>said || fail "adaptive: $(cat said)"
grep -q '^skipped steps  0' out || fail "adaptive overflows: $(cat out)"

# Scales are refreshed in steps 0, 3 and 6, so a run that ends after step 4 must save them.
for every in 1 3; do
    whole=$(checksum 2 --loss-scale adaptive:0.01,$every)
    on 2 --loss-scale adaptive:0.01,$every --steps 4 --save ckpt >out 2>said || fail "4 steps: $(cat said)"
    equal "every $every: resumed to other weights" "$(checksum 2 --loss-scale adaptive:0.01,$every --resume ckpt)" "$whole"
    # shellcheck disable=SC2086
    sum=$("$n" emulate --ranks 2 --data synthetic:400,3 --batch 20 --lr 0.02 --warmup 0 --steps 7 --model lenet5 --schedule const $half \
        --loss-scale adaptive:0.01,$every 2>said | sum_of)
    [ "$sum" = "$whole" ] || fail "every $every: emulated ranks end in $sum, real ones in $whole: $(cat said)"
done
if on 2 --loss-scale adaptive --resume ckpt >out 2>said; then fail "another --loss-scale was resumed"; fi
grep -q loss-scale said || fail "another --loss-scale: $(cat said)"

refused 'need auto, none, a power of two from 1 to 16777216, dynamic, or adaptive' on 1 --loss-scale half
for words in 3 0x10 0.5 33554432 adaptive: adaptive:x adaptive:0 adaptive:0.6 adaptive:1e-3,0 adaptive:1e-3,1.5 adaptive:1e-3,1,0.5 \
    adaptive:1e-3,1,2,2,2 adaptive,1 dynamic:2; do
    refused "bad --loss-scale $words" on 1 --loss-scale $words
done
half='--quant error=e5m10'
refused '--loss-scale dynamic needs errors that overflow' on 1 --loss-scale dynamic
half='--quant act=e5m10'
refused '--loss-scale needs --precision fp16, fp16-pure or --quant error=F' on 1 --loss-scale adaptive
exit $bad
