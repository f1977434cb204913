#!/bin/bash
# test_train_loss.sh : tests `train --loss`. The network's own loss by name and a smoothing of 0
# change no bit.
set -u
. "$(dirname "$0")/../lib/in_folder.sh"

ranks=2
common="--batch 8 --warmup 0 --schedule const --steps 6"
smooth=cross-entropy:smoothing=0.1
lenet="--data synthetic:160,3 --model lenet5 --lr 0.02"
fcn="--data shapes:40,2 --model fcn --width 0.06 --lr 0.05"
. "$here/lib/one_and_real.sh"
last() { sed -n "s/^{\"kind\":\"$2\",.*\"$3\":\"*\\([^,}\"]*\\).*/\\1/p" "$1.jsonl" | tail -n 1; }

for options in "$lenet" "$lenet --precision fp16-pure" "$fcn"; do
    rm -f ./*.jsonl
    # shellcheck disable=SC2086
    {
        one auto $options --device cpu
        one own $options --device cpu --loss cross-entropy
        one zero $options --device cpu --loss cross-entropy:smoothing=0
        one whole $options --device cpu --loss $smooth
        real real $options --device cpu --loss $smooth
        one half $options --device cpu --loss $smooth --steps 3
        one rest $options --device cpu --loss $smooth --resume half.ck
    }
    [ -n "$(sum auto)" ] || fail "$options: no checksum"
    for name in own zero; do [ "$(sum $name)" = "$(sum auto)" ] || fail "$options: $name ends in $(sum $name), not $(sum auto)"; done
    [ "$(sum whole)" != "$(sum auto)" ] || fail "$options: smoothing changes nothing"
    same_state whole.ck real.ck || fail "$options: real ranks end in other bits than emulated ones"
    same_state whole.ck rest.ck || fail "$options: a run that is resumed ends in other bits"
    ! grep -qa '^loss=' auto.ck || fail "$options: a checkpoint names the default loss, which older ones did not"
    grep -qax "loss=$smooth" whole.ck || fail "$options: the checkpoint does not say its loss"
    [ "$(last whole run loss), $(last whole run used_loss)" = "$smooth, cross-entropy" ] || fail "$options: the log does not say its loss: $(head -n 1 whole.jsonl)"
    [ "$(last auto run loss), $(last auto run used_loss)" = "auto, cross-entropy" ] || fail "$options: the log says another loss: $(head -n 1 auto.jsonl)"

    # with fixed weights, the loss option changes the training's loss, not the test's
    for loss in auto $smooth; do
        # shellcheck disable=SC2086
        one $loss $options --device cpu --loss $loss --lr 1e-30 --weight-decay 0 --momentum 0
    done
    [ "$(last auto epoch test_loss)" = "$(last $smooth epoch test_loss)" ] || fail "$options: test loss $(last auto epoch test_loss), smoothed $(last $smooth epoch test_loss)"
    [ "$(last auto step loss)" != "$(last $smooth step loss)" ] || fail "$options: training does not print the smoothed loss"
done

# two steps, as batch norms of few images soon amplify round-off
if [ -f "$B/emu/libnarrowcast_cuda.so" ]; then
    export NARROWCAST_CUDA=$B/emu/libnarrowcast_cuda.so NARROWCAST_CONV=first
    for options in "$lenet 1e-4" "$lenet --precision fp16-pure 1e-3" "$fcn --lr 0.005 1e-3"; do
        for device in cpu cuda; do
            # shellcheck disable=SC2086
            one $device ${options% *} --format fp32 --device $device --loss $smooth --steps 2
            sed -n 's/.*"kind":"step".*"loss":\([0-9.]*\).*/\1/p' $device.jsonl >$device
        done
        paste cpu cuda | awk -v most="${options##* }" '{ d = $1 - $2; n += d <= most * $1 && -d <= most * $1 } END { exit n != 2 }' || fail "$options: losses: $(paste cpu cuda)"
    done
else
    echo 'skip: no emulated GPU'
fi

# shellcheck disable=SC2086,SC2317 # options are words; refused calls it
alone() { "$n" train $common --device cpu "$@"; }
# shellcheck disable=SC2086
{
    alone $lenet --loss $smooth --steps 3 --save half.ck >out 2>&1 || fail "3 steps: $(cat out)"
    refused "cannot resume 'half.ck': it was made with loss '$smooth', this run has 'auto'" alone $lenet --resume half.ck
    refused "cannot resume 'half.ck': it was made with loss '$smooth', this run has 'cross-entropy:smoothing=0.2'" alone $lenet --resume half.ck --loss cross-entropy:smoothing=0.2
    refused "network 'lenet5' needs one label per sample, for which there is no --loss ctc: choose auto or cross-entropy" alone $lenet --loss ctc
    refused "network 'fcn' needs a label per pixel or time step, for which there is no --loss ctc: choose auto or cross-entropy" alone $fcn --loss ctc
    refused "unknown --loss 'mse': need auto, cross-entropy[:smoothing=X] or ctc" alone $lenet --loss mse
    refused "bad --loss 'ctc:smoothing=0.1': only cross-entropy has labels to smooth" alone $lenet --loss ctc:smoothing=0.1
    refused "bad --loss 'cross-entropy:smoothing= 0.1': need" alone $lenet --loss 'cross-entropy:smoothing= 0.1'
    refused "bad --loss 'cross-entropy:smoothing=1': need smoothing=X after the colon, with 0 <= X < 1" alone $lenet --loss cross-entropy:smoothing=1
}
exit $bad
