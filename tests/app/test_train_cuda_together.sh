#!/bin/bash
# test_train_cuda_together.sh : shorter test_train_together.sh with --device cuda on 2 ranks, on a
# GPU or the emulator.
set -u
. "$(dirname "$0")/../lib/in_folder.sh"
. "$here/lib/cuda_library.sh"

export NARROWCAST_CONV=first # plans chosen by their speed may round differently
common="--device cuda --precision fp16-pure --loss-scale adaptive --data synthetic:40,3 --model resnet8 --width 0.25 --block swap:0.003 --batch 4 --lr 0.05 --warmup 0 --schedule const --steps 10"
ranks=2
. "$here/lib/one_and_real.sh"
finite() { [ "$(grep '"kind":"step"' "$1.jsonl" | grep '"skipped":false' | grep -c '"loss":[0-9]')" = 10 ]; }
seen=
for codec in '--format e5m2 --scale aps' '--codec relgrad --algo direct' '--codec qsgd:8' '--codec onebit'; do
    # shellcheck disable=SC2086
    one one $codec
    # shellcheck disable=SC2086
    real real $codec
    { [ -n "$(sum real)" ] && [ "$(sum one)" = "$(sum real)" ]; } || fail "$codec: $(sum real), in one process $(sum one)"
    same_state one.ck real.ck || fail "$codec: other checkpoints"
    for which in one real; do finite $which || fail "$codec, $which: $(grep '"kind":"step"' $which.jsonl)"; done
    case " $seen " in *" $(sum real) "*) fail "$codec: the weights of another run, $(sum real)" ;; esac
    seen="$seen $(sum real)"
done

# --- planted errors: other options, divergence ---
for other in '--seed 2' '--precision fp16' '--loss-scale none' '--device cpu'; do
    # shellcheck disable=SC2086
    one other $codec $other
    [ "$(sum other)" != "$(sum real)" ] || fail "$other ends in the same weights"
    if same_state other.ck real.ck; then fail "$other saves the same checkpoint"; fi
done
# shellcheck disable=SC2086
one wild $codec --lr 1e5
finite wild && fail "a rate of 1e5 is not seen: $(cat wild.jsonl)"
exit $bad
