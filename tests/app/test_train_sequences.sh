#!/bin/bash
# test_train_sequences.sh : trains small networks on sequences.
set -u
. "$(dirname "$0")/../lib/in_folder.sh"

le() {
    local i v=$2
    for ((i = 0; i < $1; i++)); do
        # shellcheck disable=SC2059  # an octal escape
        printf "\\$(printf %03o $((v & 255)))"
        v=$((v >> 8))
    done
}
sound() {
    { printf RIFF && le 4 $((36 + $2)) && printf 'WAVEfmt ' && le 4 16 && le 2 1 && le 2 1 && le 4 16000 && le 4 32000 && le 2 2 && le 2 16 &&
        printf data && le 4 "$2" && head -c $((20000 + $2)) "$n" | tail -c "$2"; } >"an4/wav/$1.wav"
}
mkdir -p an4/etc an4/wav
for part in train test; do
    words=(YES NO GO STOP 'A B' ONE)
    for i in $(seq 0 17); do
        [ $part = test ] && [ "$i" -gt 2 ] && break
        echo "$part$i" >>an4/etc/an4_$part.fileids
        echo "<s> ${words[i % 6]} </s> ($part$i)" >>an4/etc/an4_$part.transcription
        sound "$part$i" $((4000 + 800 * i))
    done
done
for i in $(seq 60); do echo "to be, or not to be, that is the question: $((i * i))"; done >text

of() { sed -n 's/.*"kind":"epoch".*"'"$2"'":\([0-9.e+-]*\).*/\1/p' "$1" | tail -n 1; }
speech="--data an4:an4 --model lstm --width 0.03125 --batch 6 --lr 0.02 --warmup 0 --schedule const --format e5m2"
text="--data text:text --model charlstm --width 0.0625 --batch 6 --lr 0.3 --warmup 0 --schedule const --format e4m3"

both() {
    name=$1 && shift
    mpirun -np 2 "$n" train "$@" --steps 6 --log "$name.jsonl" --save real.ck >"$name.out" 2>&1 || fail "$name: $(tail -n 3 "$name.out")"
    "$n" emulate --ranks 2 "$@" --steps 6 --log "$name-virtual.jsonl" --save virtual.ck >out 2>&1 || fail "$name emulated: $(tail -n 3 out)"
    same_state real.ck virtual.ck || fail "$name: two ranks and two emulated ones end in other bits"
    "$n" emulate --ranks 2 "$@" --steps 4 --save half.ck >out 2>&1 || fail "$name: $(tail -n 3 out)"
    "$n" emulate --ranks 2 "$@" --steps 6 --resume half.ck --save whole.ck >out 2>&1 || fail "$name resumed: $(tail -n 3 out)"
    same_state whole.ck virtual.ck || fail "$name: a run that is resumed ends in other bits"
}

# shellcheck disable=SC2086  # options are words
both speech $speech
grep -q '^error rate     [0-9.]* % of the letters of 3 test utterances (CER)$' speech.out || fail "no error rate: $(cat speech.out)"
cer=$(of speech.jsonl test_cer)
virtual=$(of speech-virtual.jsonl test_cer)
[ "${cer:-none}" = "$virtual" ] || fail "CER '$cer', of emulated ranks '$virtual'"
awk -v a="$cer" -v b="$(sed -n 's/^CER //p' speech.out)" 'BEGIN { exit !(a > 0 && a - b < 1e-4 && b - a < 1e-4) }' || fail "CER $cer: $(cat speech.out)"
# a network that says only O, by its bias, is 3, 1 and 1 letters off YES, NO and GO
head -c -4 real.ck >only_o
printf '\0\0\172\104' | dd of=only_o bs=1 seek=$(($(at_last real.ck weights) - 4 * 11)) conv=notrunc 2>/dev/null # 1000; after O come 11
signed only_o.ck <only_o
# shellcheck disable=SC2086
"$n" train $speech --init only_o.ck --lr 0 --steps 1 --log only_o.jsonl >out 2>&1 || fail "only O: $(tail -n 3 out)"
[ "$(of only_o.jsonl test_cer)" = 0.714285714 ] || fail "only O: CER $(of only_o.jsonl test_cer), not 5 / 7"

# shellcheck disable=SC2086
both text $text
bits=$(of text.jsonl test_bits) loss=$(of text.jsonl test_loss)
virtual=$(of text-virtual.jsonl test_bits)
[ "${bits:-none}" = "$virtual" ] || fail "bits '$bits', of emulated ranks '$virtual'"
awk -v a="$bits" -v b="$loss" 'BEGIN { d = a * log(2) - b; exit !(a > 1 && a < 8 && d < 1e-5 && d > -1e-5) }' || fail "bits $bits, loss $loss"
grep -q "^bits $(printf %.4f "$bits")$" text.out || fail "bits $bits: $(cat text.out)"
grep -q '^accuracy .* of [0-9]* test windows of text' text.out || fail "$(grep ^accuracy text.out)"

# shellcheck disable=SC2317 # refused calls it
short() { "$n" train "$@" --batch 2 --steps 1; }
refused 'needs transcripts' short --data text:text --model lstm
mkdir other && { tail -c +2001 text; head -c 2000 text; } >other/text
# shellcheck disable=SC2086,SC2016  # options are words; for the ranks
mpirun -np 2 sh -c '[ "$OMPI_COMM_WORLD_RANK" = 0 ] || cd other; exec "$0" "$@"' "$n" train $text --steps 1 >out 2>err && fail "ranks with other texts"
grep -q 'what --data holds differs between ranks: rank 1' err || fail "other texts: $(cat err)"
refused 'needs a label per pixel or time step: choose one of text:FILE' short --data an4:an4 --model charlstm
refused "network 'lstm' needs sequences, not images: choose one of an4:DIR (" short --model lstm
refused "network 'charlstm' needs sequences, not images: choose one of text:FILE (" short --data shapes --model charlstm
refused "network 'fcn' needs images, not sequences: choose one of shapes[:n,seed], cityscapes:DIR[,SIDE[,CROPS]] (train" short --data text:text --model fcn
refused "network 'lenet5' needs images, not sequences: choose one of synthetic[:n,seed]," short --data text:text --model lenet5
refused 'needs one label' short --data an4:an4 --model mlp
refused 'augment' short --data an4:an4 --model lstm --augment flip

if [ -f "$B/emu/libnarrowcast_cuda.so" ]; then
    for device in cpu cuda; do
        # shellcheck disable=SC2086
        NARROWCAST_CUDA=$B/emu/libnarrowcast_cuda.so "$n" train --device $device $speech --format fp32 --steps 4 --log $device.jsonl >out 2>&1 ||
            fail "$device: $(tail -n 3 out)"
        sed -n 's/.*"kind":"step".*"loss":\([0-9.]*\).*/\1/p' $device.jsonl >$device
    done
    paste cpu cuda | awk '{ d = $1 - $2; n += d < 1e-4 * $1 && -d < 1e-4 * $1 } END { exit n != 4 }' || fail "losses: $(paste cpu cuda)"
else
    echo 'skip: no emulated GPU'
fi

mkdir -p data/an4 data/tinyshakespeare && mv an4 data/an4/an4 && cp text data/tinyshakespeare/input.txt
for kind in an4 text; do
    (cd "$here/.." && NARROWCAST_DATA=$dir/data B=$B TABLES=$dir/tables EPOCHS=1 bench/sequences/sequences.sh $kind) >out 2>&1 || fail "bench: $(cat out)"
    if [ "$(wc -l <"tables/$kind.tsv")" -ne 5 ] || ! grep -q '^| onebit | 1 | [0-9]' out; then fail "bench, $kind: $(cat out)"; fi
done
(cd "$here/.." && B=$B TABLES=$dir/tables bench/sequences/sequences.sh --table text) | grep -q '^| qsgd:2 | 1 | [0-9]' || fail "no table"
exit $bad
