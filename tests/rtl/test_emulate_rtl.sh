#!/bin/bash
# test_emulate_rtl.sh : `narrowcast emulate --reduce-on`: sums of chosen layers by the Verilated card, or by the one in C, are the
# ranks' own; weights are what they are without; and what no card adds is refused.
set -u
# shellcheck source=tests/lib/in_folder.sh
. "$(dirname "$0")/../lib/in_folder.sh"
rtl=rtl
! grep -q 'built without Verilator' "$B/narrowcast-sim" || { rtl=model && echo 'skip: built without Verilator: --reduce-on rtl'; }
common="--data synthetic:240,3 --batch 24 --lr 0.05 --steps 3"

# same SUMS ON OPTIONS...: so many sums of layers by it, and the same checkpoint
same() {
    sums=$1 on=$2 && shift 2
    # shellcheck disable=SC2086
    "$n" emulate $common "$@" --save without.ck >out 2>&1 || fail "$*: $(tail -n 1 out)"
    # shellcheck disable=SC2086
    "$n" emulate $common "$@" --save with.ck --reduce-on "$on" >out 2>&1 || fail "--reduce-on $on $*: $(tail -n 1 out)"
    same_state without.ck with.ck || fail "--reduce-on $on changes the checkpoint: $*"
    grep -q "^reduced on     $sums sums of layers, the same bytes as the ranks'; ${on%%:*}: " out || fail "--reduce-on $on $*: $(grep '^reduced on' out)"
}
same 9 $rtl:stem --ranks 4 --model resnet8 --format e5m2 --scale aps                    # a convolution and its norm
same 69 model --ranks 3 --model resnet8 --format e4m3 --algo gather --bucket-bytes 4k     # all 23 of them
same 9 model:hidden1,hidden2.weight --ranks 8 --model mlp --format e3m0 --scale aps-tight --algo group-scatter:2 --overflow inf
same 2 model:classifier --ranks 2 --model mlp --first-steps-fp32 2                       # fp32 does not go there
same 6 model:hidden2,classifier --ranks 2 --model mlp --fp32-last-layer --format e5m2     # nor this

# refused WORDS OPTIONS...
refused() {
    words=$1 && shift
    # shellcheck disable=SC2086
    timeout 60 "$n" emulate $common --model mlp "$@" >out 2>said && fail "was taken: $*"
    [ "$(grep -c '^narrowcast: ' said)" -eq 1 ] || fail "did not say one line: $*: $(cat said)"
    grep -qF -- "$words" said || fail "did not say '$words': $*: $(cat said)"
}
refused "a card cannot add by --sum kahan: it adds exactly" --ranks 4 --reduce-on model --sum kahan
refused "cannot add codes of qsgd:4" --ranks 4 --reduce-on model --codec qsgd:4
refused "needs the codes of all ranks at once: --memory full" --ranks 4 --reduce-on model --memory low
refused "has no layer 'conv9': the first is 'hidden1.weight', the last 'classifier.bias'" --ranks 4 --reduce-on rtl:hidden1,conv9
refused "--reduce-on model:classifier would add nothing: these layers travel in fp32" --ranks 4 --reduce-on model:classifier --fp32-last-layer
refused "--reduce-on model:hidden1.bias would add nothing: these layers travel in fp32" --ranks 4 --reduce-on model:hidden1.bias --quantise large
refused "--reduce-on model would add nothing: all 3 steps travel in fp32" --ranks 4 --reduce-on model --first-steps-fp32 3
refused "--reduce-on model would add nothing: all 3 steps travel in fp32" --ranks 4 --reduce-on model --first-epochs-fp32 1
refused "cannot read --reduce-on 'gate': want cpu, rtl or model" --ranks 4 --reduce-on gate
refused "a card cannot add 80 ranks: 64 at most" --ranks 80 --batch 80 --reduce-on model
exit $bad
