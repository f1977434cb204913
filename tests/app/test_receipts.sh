#!/bin/bash
# test_receipts.sh : tests `train --receipts`, which names a rank with a flipped bit, and `narrowcast
# verify`, which repeats steps of it.
set -u
. "$(dirname "$0")/../lib/in_folder.sh"
common='--model lenet5 --data synthetic:240,3 --batch 48 --lr 0.05 --schedule const'
# shellcheck disable=SC2086,SC2317  # words; called by name
{
    on() { if [ "$1" = 1 ]; then "$n" train $common "${@:2}"; else mpirun -np "$1" "$n" train $common "${@:2}"; fi; }
    emulate() { "$n" emulate $common "$@"; }
    verify() { "$n" verify "$@"; }
}
case $(on 1 --steps 1 --receipts r 2>&1 >/dev/null) in *'this build has no receipts'*) echo 'skip  the build has no libcrypto' && exit 77 ;; esac
flips() { NARROWCAST_TEST_FLIP=$1 "${@:2}"; }
does() { "$@" >out 2>said || fail "$*: $(tail -n 3 said)"; }

# --- 6 ranks, stopped and resumed, have the receipts of 6 blocks in 2 processes; 5 steps an epoch ---
does on 6 --steps 4 --save ck --receipts six
does on 6 --steps 7 --resume ck --receipts six
does on 2 --steps 7 --blocks 6 --receipts two --verify-every 2 --algo auto
[ "$(grep -c '"kind":"root"' six)" = 3 ] || fail "roots of six: $(grep '"kind":"root"' six)"
diff <(grep -v -e '"kind":"run"' -e '"kind":"root","epoch":1,"step":4' six) <(grep -v '"kind":"run"' two) >differs ||
    fail "6 ranks and 6 blocks: $(cut -c 1-99 differs)"

# --- one process verifies them ---
for words in '--step 7' '--step 6 --block 5' '--step 6 --resume ck'; do
    # shellcheck disable=SC2086
    does verify six $words
    grep -q "^step ${words:7:1}: .* are those of the receipt$" out || fail "verify $words: $(cat out)"
done
does verify six --epoch 1
root=$(sed -n 's/^epoch 1: root \([0-9a-f]\{64\}\) of steps 1 to 5$/\1/p' out)
does verify two --epoch 1 --root "$root"
if command -v python3 >/dev/null; then
    python3 - two >out <<'EOF' || fail 'the root in Python'
import hashlib, json, sys
def tree(leaves):
    if len(leaves) == 1:
        return hashlib.sha256(b'\0' + leaves[0]).digest()
    k = 1
    while 2 * k < len(leaves):
        k *= 2
    return hashlib.sha256(b'\1' + tree(leaves[:k]) + tree(leaves[k:])).digest()
lines = [(line, json.loads(line)) for line in open(sys.argv[1], 'rb').read().splitlines()]
print(tree([line for line, key in lines if key['kind'] == 'options' or (key['kind'] == 'step' and key['epoch'] == 1)]).hex())
EOF
    [ "$(cat out)" = "$root" ] || fail "the root in Python: $(cat out), not $root"
else
    echo 'not run: the root in Python (no python3)'
fi

# --- a changed file ---
sed '/"step":3,/s/"weights":"./"weights":"x/' six >changed
refused "'changed', line 7: the root does not fit" verify changed --epoch 1
refused "'changed', line 7: the root does not fit" verify changed --step 2
sed '/"kind":"step","step":2,/d' six >shorter
refused 'its step does not follow the one before it' verify shorter --epoch 1
sed 's/"lr=0.05/&1/; s/u000alr=0.05/&1/' six >other
refused 'the root does not fit' verify other --epoch 1
refused "the root of epoch 1 is $root, not 00" verify six --epoch 1 --root 00
grep -v '"kind":"root"' six | sed '/"step":3,/s/\("layers_of_codes":".\{336\}\)../\1zz/' >text
refused 'it lacks the digests of 6 ranks' verify text --step 4
grep -v '"kind":"root"' six | sed 's/synthetic:240,3/synthetic:240,4/' >data
refused "it was made with checksum of the data" verify data --step 4
refused "it was made with lr '0.05'" verify <(sed 's/u000alr=0.05/u000alr=0.06/' six | grep -v '"kind":"root"') --step 5 --resume ck

# An option that no receipt has, such as a file to write, is not taken; an empty one is the default.
sed 's/u000alr=0.05/&\\u000astats=victim\\u000adump-gradients=folder/; /"kind":"root"/d' six >evil
refused "it was made with stats 'victim', this run has ''" verify evil --step 1
{ [ ! -e victim ] && [ ! -e folder ]; } || fail 'verify wrote files that the receipts name'
for option in data optimizer overflow; do
    refused "it was made with $option '', this run has '" verify <(sed "s/\($option=\)[^\\]*/\1/; /\"kind\":\"root\"/d" six) --step 1
done
{ cat six && grep '"kind":"options"' six | sed 's/u000aseed=1/u000aseed=2/'; } >twice
refused "'twice', line $(wc -l <twice): a second line of kind options" verify twice --epoch 1
refused "'twice', line $(wc -l <twice): a second line of kind options" verify twice --step 1

# --- receipts that begin after the first step ---
does on 6 --steps 7 --resume ck --receipts late
does verify late --step 6
does verify late --step 6 --resume ck

# --- a flipped bit is found in its step ---
layer='layer "hidden1.weight"'
does flips codes:2:3 emulate --ranks 3 --steps 4 --receipts flip
refused "'flip', step 3: block 2 has other codes: $layer" verify flip --step 3 --block 2
refused "'flip', step 3: block 2 has other codes: $layer" verify flip --step 4 --block 0
does verify flip --step 3 --block 1
found=0
for rank in 0 1; do
    flips codes:$rank:3 on 2 --steps 3 --receipts again --verify-every 3 >out 2>said && continue
    found=$((found + 1))
    [ "$(cat said)" = "narrowcast: rank $rank has made other gradients in step 3 than rank $((1 - rank)), which made them again: $layer" ] ||
        fail "--verify-every 3: $(cat said)"
done
[ $found = 1 ] || fail "--verify-every 3 found $found of 2 ranks, and checks one"
found_in() {
    refused "narrowcast: rank $3 has other $2 than $4 after step 2: $layer" flips "$2:$3:2" on "$1" --steps 4 --receipts "$2" --save no.ck --save-every 1
}
busy=1
found_in 3 means 2 most
found_in 3 states 0 most
found_in 2 weights 1 'rank 0'
flips means:3:2 on 2 --blocks 6 --steps 4 --receipts blocks >out 2>said && fail 'a process with other means was no failure'
grep -qxF "narrowcast: block 3's process has other means than block 0 after step 2: $layer" said || fail "other means of a process: $(cat said)"
[ "$(grep -c '"kind":"step"' weights)" = 1 ] || fail "the step with an error has a receipt"
busy=

# --- refusals ---
long='--steps 100000'
# shellcheck disable=SC2086
{
    refused "cannot write '/dev/full': No space left" on 1 $long --receipts /dev/full
    refused "'no/r': No such file" on 1 $long --receipts no/r
    refused "--receipts '': need the name of a file" on 1 $long --receipts=
    refused "--log and --receipts both name 'r'" on 1 $long --receipts r --log r
    refused '--verify-every needs --receipts FILE' on 1 $long --verify-every 2
    refused '--receipts does not work with --shard' on 2 $long --receipts r --shard optimizer
    refused 'which --memory low does not keep' emulate $long --receipts r --memory low
    refused "NARROWCAST_TEST_FLIP 'sum:1:1': need KIND:RANK:STEP" flips sum:1:1 on 1 --receipts /dev/null
}
refused '--verify-every needs at least two ranks' on 1 --receipts /dev/null --verify-every 2
refused "it belongs to run" on 6 --steps 7 --resume ck --receipts flip
(ulimit -f 8 && emulate --ranks 6 --steps 9 --receipts full) >out 2>said && fail 'a full disk was no failure'
[ "$(grep -c "^narrowcast: cannot write 'full': File too large" said)" = 1 ] || fail "a full disk: $(cat said)"
refused 'verify needs either --step K or --epoch E' verify six
refused '--block and --resume need --step K' verify six --epoch 1 --block 1
refused '--root needs --epoch E' verify six --step 1 --root 00
refused "'six' has no root of epoch 3" verify six --epoch 3
grep -v '"kind":"root","epoch":1,"step":5' six >short
refused "'short': epoch 1 has a root of steps 1 to 4, none of those up to 5" verify short --epoch 1
refused "cannot verify 'six': it has no step 8" verify six --step 8
refused '--block 6: the training had 6 ranks or blocks, counted from 0' verify six --step 7 --block 6
refused "cannot verify step 4 from 'ck', which is after step 4" verify six --step 4 --resume ck
does emulate --ranks 2 --steps 2 --log log
refused "cannot verify 'log': it is not a file of --receipts" verify log --step 1
exit $bad
