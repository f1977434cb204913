#!/bin/bash
# test_train_together.sh : trains with pure fp16, adaptive loss scales and narrow gradients,
# emulated and on 4 ranks. Each codec with one of two models, with `long` with both.
set -u
. "$(dirname "$0")/../lib/in_folder.sh"

common="--device cpu --precision fp16-pure --loss-scale adaptive --data synthetic:400,3 --batch 16 --lr 0.05 --warmup 0 --schedule const --steps 100"
ranks=4
. "$here/lib/one_and_real.sh"
wrong() {
    awk -F'"loss":' '/"kind":"step"/ { split($2, v, ","); n++
            if (v[1] !~ /^[0-9.e+-]+$/ || /"skipped":true/) { print; exit odd = 1 }
            if (n <= 25) first += v[1]; if (n > 75) last += v[1]
        } END { if (!odd && !(n == 100 && last < first)) print n " steps, " first / 25 " at first, " last / 25 " at last" }' "$1.jsonl"
}
seen=
# a factor of 0.003 makes the second model's gradients small, so its scales move
for model in '--model lenet5 --width 0.5 --lr 0.02 --loss-scale adaptive:1e-6,3' '--model resnet8 --width 0.25 --block swap:0.003'; do
    for codec in '--format e5m2 --scale aps' '--codec relgrad --algo group-scatter:2' '--codec qsgd:8' '--codec onebit --overlap on'; do
        case ${1-}/$model/$codec in /*lenet5*/*relgrad* | /*lenet5*/*onebit* | /*resnet8*/*e5m2* | /*resnet8*/*qsgd*) continue ;; esac
        # shellcheck disable=SC2086
        one one $model $codec
        # shellcheck disable=SC2086
        real real $model $codec
        { [ -n "$(sum real)" ] && [ "$(sum one)" = "$(sum real)" ]; } || fail "$model $codec: $(sum real), in one process $(sum one)"
        same_state one.ck real.ck || fail "$model $codec: other checkpoints"
        for which in one real; do [ -z "$(wrong $which)" ] || fail "$model $codec, $which: $(wrong $which)"; done
        case " $seen " in *" $(sum real) "*) fail "$model $codec: the weights of another run, $(sum real)" ;; esac
        seen="$seen $(sum real)"
    done
done

for other in '--seed 2' '--precision fp32 --loss-scale none' '--loss-scale none' '--codec onebit:column'; do
    # shellcheck disable=SC2086
    one other $model $codec $other
    [ "$(sum other)" != "$(sum real)" ] || fail "$other ends in the same weights"
    if same_state other.ck real.ck; then fail "$other saves the same checkpoint"; fi
done
# shellcheck disable=SC2086
one still $model $codec --lr 0
[ -n "$(wrong still)" ] || fail "a training by a rate of 0 learns"
# shellcheck disable=SC2086
timeout 120 "$n" emulate --ranks 4 $common $model $codec --lr 1e5 --log wild.jsonl >wild.out 2>wild.err && fail "a rate of 1e5 ends well"
wrong wild | grep -q '"skipped":true\|"loss":null' || fail "a rate of 1e5 is not seen: $(wrong wild)"
exit $bad
