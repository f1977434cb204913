#!/bin/bash
# test_train.sh : tests `narrowcast train` on several ranks: 1 to 4, with `long` also on 6.
set -eu
. "$(dirname "$0")/../lib/in_folder.sh"
: >stderr
trap 'code=$?; [ $code -eq 0 ] || tail -n 20 "$dir/stderr" >&2; rm -rf "$dir"' EXIT

# on RANKS OPTIONS...: 1, 2, 4 and 6 ranks divide a batch of 24; an epoch is 10 steps
common='--data synthetic:240,3 --batch 24 --lr 0.05'
on() {
    ranks=$1
    shift
    # shellcheck disable=SC2086
    mpirun -np "$ranks" "$n" train $common "$@"
}

checksum() { on "$@" 2>>stderr | sum_of; }

# ours: prints the program's own errors, without mpirun's lines (Open MPI 5: and a NUL)
ours() { tr -d '\0' <said | grep '^narrowcast: '; }

# shellcheck disable=SC2317 # refused calls it
small() {
    ranks=$1
    shift
    timeout 20 mpirun -np "$ranks" "$n" train --data synthetic:240,3 --batch 24 --lr 0.05 --model mlp --steps 4 "$@"
}

exact="--model lenet5 --steps 12 --sum exact --format e5m2 --scale aps-tight"
for ranks in 4 ${1:+6}; do
    # shellcheck disable=SC2086
    direct=$(checksum "$ranks" $exact --algo direct)
    # shellcheck disable=SC2086
    equal "$ranks ranks, direct and gather" "$direct" "$(checksum "$ranks" $exact --algo gather)"
    # shellcheck disable=SC2086
    equal "$ranks ranks, direct and gather-sum" "$direct" "$(checksum "$ranks" $exact --algo gather-sum)"
    # shellcheck disable=SC2086
    equal "$ranks ranks, direct and group-scatter:2" "$direct" "$(checksum "$ranks" $exact --algo group-scatter:2 --bucket-bytes 4k)"
    [ "$ranks" -eq 6 ] || last=$direct
done
# shellcheck disable=SC2086
differ "another seed" "$last" "$(checksum 4 $exact --algo direct --seed 2)"

# --- without batch norm and dropout, any number of ranks trains like one, up to fp32 rounding ---
for ranks in 1 3; do
    on $ranks --model lenet5 --steps 6 --format fp32 --scale none --log "loss$ranks" >/dev/null 2>>stderr
    sed -n 's/.*"kind":"step".*"loss":\([0-9.]*\).*/\1/p' "loss$ranks" >"loss$ranks.txt"
done
paste loss1.txt loss3.txt | awk '{ n++; if ($1 - $2 > 1e-3 || $2 - $1 > 1e-3) exit 1 } END { if (n != 6) exit 1 }' ||
    fail "1 and 3 ranks: the losses are $(paste loss1.txt loss3.txt)"

long="--model resnet8 --epochs 2 --scale aps --round stochastic --augment crop-reflect+flip+cutout:6 --optimizer lars --warmup 1"
# shellcheck disable=SC2086
on 2 $long --log whole.jsonl --save whole.ck >whole.txt 2>>stderr
# shellcheck disable=SC2086
on 2 $long --save-every 7 --save ck --log part.jsonl >part.txt 2>>stderr
# shellcheck disable=SC2086
equal "twice" "$(sum_of whole.txt)" "$(sum_of part.txt)"
cp ck end.ck
resumed() {
    rm -f resumed.ck
    # shellcheck disable=SC2086
    on 2 $long --resume ck --save resumed.ck --log "$2" >resumed.txt 2>>stderr
    for file in whole resumed; do grep -E '^(accuracy|loss|skipped|weights)' $file.txt | cut -d, -f1 >$file.end; done
    cmp -s whole.end resumed.end || fail "resumed $1: $(cat whole.end resumed.end)"
    same_state whole.ck resumed.ck || fail "resumed $1: another checkpoint at the end"
}
# a folder blocks the dump of step 10
rm -f ck
mkdir -p stop/step000010.rank0.f32
# shellcheck disable=SC2086
if on 2 $long --save-every 7 --save ck --log failed.jsonl --dump-gradients stop --dump-first 10 --dump-steps 1 >/dev/null 2>>stderr; then
    fail "did not stop at step 10"
fi
resumed "from the middle" failed.jsonl
[ "$(grep ^loss whole.txt)" = "$(grep ^loss resumed.txt)" ] || fail "resumed from the middle: $(grep ^loss whole.txt resumed.txt)"
rm -f ck
# not by on(), whose $! is a shell's
# shellcheck disable=SC2086
mpirun -np 2 "$n" train $common $long --save-every 7 --save ck --log killed.jsonl >/dev/null 2>&1 &
run=$!
while [ ! -e ck ]; do
    kill -0 $run 2>/dev/null || break
    sleep 0.02
done
pkill -9 -P $run || fail 'no ranks to kill'
wait $run && fail 'killed ranks end well'
steps=$(grep -c '"kind":"step"' killed.jsonl || true)
[ -e ck ] || fail "no checkpoint by --save-every"
if [ "$steps" -lt 7 ] || [ "$steps" -ge 20 ]; then fail "killed after $steps steps, not 7 to 19"; fi
resumed "after a kill" killed.jsonl
rm -f narrowcast.*.tmp
mv end.ck ck
resumed "at the end" part.jsonl
# 5 + 7 steps equal 12 with an endless schedule, despite the test after 5
scaled="--model lenet5 --width 0.4 --image 36 --augment crop --schedule exp:0.5/3 --warmup 0.2 --warmup-from 0.01 --bias-lr 2"
short="--model resnet8 --schedule const --momentum 0.5 --nesterov"
# shellcheck disable=SC2086
for way in "$scaled" "$short"; do
    on 2 $way --steps 5 --save five.ck
    on 2 $way --steps 12 --save twelve.ck
    on 2 $way --steps 12 --save more.ck --resume five.ck
    same_state twelve.ck more.ck || fail "5 steps and 7 more: another checkpoint at the end: $way"
done >/dev/null 2>>stderr

refused "model 'caffenet' does not fit images of 28x28: need at least 39 pixels a side" small 2 --model caffenet
refused "model 'vgg19' does not fit images of 31x31: need at least 32 pixels a side" small 1 --model vgg19 --image 31
refused "--width '0'" small 1 --width 0
refused "from 28x28 to 27x27 pixels" small 2 --image 27
refused "--image '228'" small 1 --image 228
refused 'unknown --augment "crop-mirror": need none, or crop (or crop-reflect), flip and cutout' small 2 --augment crop-mirror
refused '--augment cutout:29 does not fit images of 28x28: N may be at most 28' small 2 --augment flip+cutout:29 --image 40
refused "bad schedule 'exp:0.5': need exp:G/N" small 2 --schedule exp:0.5
refused "bad schedule 'poly': need poly:P" small 1 --schedule poly
refused "--warmup-from needs --warmup above 0" small 1 --warmup 0 --warmup-from 1

# shellcheck disable=SC2086
resume_refused() { words=$1 file=$2; shift 2; refused "$words" small 2 $short --resume "$file" "$@"; }
resume_refused "cannot open 'no.ck'" no.ck
resume_refused "'whole.txt': it is not a checkpoint" whole.txt
mkfifo pipe.ck
resume_refused "'pipe.ck': it is not a regular file" pipe.ck
head -c 2000 five.ck >cut.ck
resume_refused "damaged or truncated" cut.ck
head -c 20 five.ck >cut.ck
resume_refused "'cut.ck': it is truncated" cut.ck
: >cut.ck
resume_refused "'cut.ck': it is not a checkpoint" cut.ck
cp five.ck flip.ck
printf '\377\377' | dd of=flip.ck bs=1 seek=20000 conv=notrunc 2>/dev/null
resume_refused "damaged or truncated" flip.ck
head -c -4 five.ck | { head -c 8; printf '\4'; tail -c +2; } | signed four.ck
head -c -4 five.ck | LC_ALL=C sed 's/velocities/velocitiez/' | signed sections.ck
head -c -4 five.ck | { head -c 24; head -c 16 | tr '0-9a-f' 'G-V'; cat; } | signed id.ck
list=$(at_layers five.ck)
list=${list% *}
{ part five.ck 0 $((list + 4)); printf z; part five.ck $((list + 5)) $(($(wc -c <five.ck) - 4)); } | signed layers.ck
head -c -4 five.ck | signed same.ck
cmp five.ck same.ck || fail "the checksum that this test makes is wrong"
resume_refused "'four.ck': it has version 4, this program reads 5" four.ck
# shellcheck disable=SC2086
refused "'four.ck': it has version 4, this program reads 5" small 2 $short --init four.ck
resume_refused "'id.ck': its run id is not 16 hex digits" id.ck
resume_refused "its layers differ from those of this run" layers.ck
resume_refused "it has a section 'velocitiez' that this run does not have" sections.ck
resume_refused "it was made with lr '0.05', this run has '0.2'" five.ck --lr 0.2
resume_refused "it was made with seed '1', this run has '2'" five.ck --seed 2
resume_refused "it has done 5 steps, this run ends after 4" five.ck
# not_finite FILE SECTION TEXT OPTIONS...: makes the section's last number inf or nan and
# corrects the checksum
not_finite() {
    from=$1 words=$3 place=$(at_last "$1" "$2")
    shift 3
    for bits in '\0\0\0200\0177' '\01\0\0300\0177'; do
        head -c -4 "$from" >bad
        printf '%b' "$bits" | dd of=bad bs=1 seek="$place" conv=notrunc 2>/dev/null
        signed bad.ck <bad
        refused "$words" small 2 "$@" --resume bad.ck
    done
}
# shellcheck disable=SC2086
on 2 $short --codec onebit:64 --quantise all --steps 2 --save bits.ck >bits.txt 2>>stderr
# shellcheck disable=SC2086
for what in weights velocities; do
    not_finite bits.ck $what "cannot resume 'bad.ck': the $what of layer \"classifier.bias\" hold inf or nan" $short --codec onebit:64 --quantise all
done
# shellcheck disable=SC2086
not_finite bits.ck statistics "cannot resume 'bad.ck': the batch-norm statistics of rank 1 hold inf or nan" $short --codec onebit:64 --quantise all
# shellcheck disable=SC2086
not_finite bits.ck codec 'cannot load a state: layer "stem.conv.weight" holds inf or nan' $short --codec onebit:64 --quantise all
# shellcheck disable=SC2086
refused "it was made by 2 ranks, this run has 4" small 4 $short --resume five.ck

# shellcheck disable=SC2016  # for the script that is written
printf '#!/bin/sh\n[ "$OMPI_COMM_WORLD_RANK" = %s ] && export NARROWCAST_OFFLOAD=sim:c\nexec "%s" "$@"\n' 0 "$n" >first
sed 's/= 0/= 1/' first >second
chmod +x first second
program=$n
for n in "$PWD/first" "$PWD/second"; do refused "NARROWCAST_OFFLOAD" small 2; done
n=$program

refused "did you mean '--format'" small 2 --formt e4m3
refused "--epochs and --steps" small 2 --epochs 3
refused "must be a multiple of 4" small 4 --batch 30
refused "more than the 240 training images" small 2 --batch 242
refused "rign" small 2 --algo rign
refused "native" small 2 --algo native --format e4m3
refused "group-scatter" small 4 --algo group-scatter:3
refused "schedule" small 2 --schedule sometimes
refused "model" small 2 --model resnet9
refused "sometimes" small 2 --data sometimes
refused "nowhere" small 2 --data idx:nowhere
refused "GPU" small 2 --device cuda
refused "--save-every 5 needs --save" small 2 --save-every 5
if grep -qw avx512_bf16 /proc/cpuinfo && [ -e "$B/libnarrowcast_dnnl.so" ]; then
    few='--data synthetic:240,3 --batch 24 --lr 0.05 --model mlp --steps 4'
    # shellcheck disable=SC2086
    bf16=$(checksum 2 $few --precision bf16) fp32=$(checksum 2 $few)
    [ "$bf16" != "$fp32" ] || fail '--precision bf16 changes nothing'
    # shellcheck disable=SC2086
    emulated=$("$n" emulate --ranks 2 $few --precision bf16 2>>stderr | sum_of)
    equal 'train and emulate in bf16' "$bf16" "$emulated"
    refused 'NARROWCAST_DNNL names "nowhere"' env NARROWCAST_DNNL=nowhere "$n" train --precision bf16
else
    refused 'bf16' small 1 --precision bf16
fi
refused "--fabric has no effect without a card" small 2 --fabric udp
refused "--card-slots has no effect without a card" small 2 --offload off --card-slots 16
refused "--xclbin needs --offload xrt" small 2 --xclbin nowhere
refused "need --dump-gradients" small 2 --dump-steps 5
refused "--nesterov needs" small 2 --nesterov --optimizer lars
refused "--warmup" small 2 --warmup -1
refused "cannot write 'no/folder/ck'" small 2 --save no/folder/ck
refused "cannot open 'no/folder/log'" small 2 --log no/folder/log
refused "No space left" small 2 --log /dev/full
"$n" train --model mlp --data synthetic:120,1 --batch 24 --steps 1 >/dev/full 2>said && fail 'a table on a full disk'
[ "$(tail -n 1 said)" = 'narrowcast: cannot write to standard output: No space left on device' ] || fail "a table on a full disk: $(cat said)"
for command in train emulate; do
    "$n" $command --help >/dev/full 2>said && fail "$command --help on a full disk"
    grep -qx 'narrowcast: cannot write to standard output: an earlier write failed\|narrowcast: .* output: No space left on device' said || fail "$command --help on a full disk: $(cat said)"
    exec 3> >(:) # a reader that is gone
    wait $!
    rc=0
    "$n" $command --help >&3 2>said || rc=$?
    if [ $rc != 141 ] || [ -s said ]; then fail "$command --help into a closed pipe is not ended by SIGPIPE: $(cat said)"; fi
    exec 3>&-
done
mkdir taken
refused "cannot write 'taken'" small 2 --save taken
refused "'no/folder/dump'" small 2 --dump-gradients no/folder/dump
mkdir -p lame/step000002.rank1.f32
busy=1 refused "cannot write 'lame/step000002.rank1.f32'" small 2 --dump-gradients lame
if small 1 --lr 1e6 --warmup 0 --steps 80 --format fp32 --scale none >stdout 2>said; then fail 'a run that diverges ends well'; fi
ours | grep -q 'training has diverged' || fail "diverged: $(cat said)"
# the shell selects by rank: Open MPI 5.0's mpirun often crashes with two programs
code=0
# shellcheck disable=SC2016
timeout 20 mpirun -np 2 sh -c 'exec "$0" train --model mlp --lr 0.$((OMPI_COMM_WORLD_RANK + 1))' "$n" >stdout 2>said || code=$?
if [ $code -eq 0 ] || [ "$(ours)" != "narrowcast: rank 1 runs with other options: --lr '0.2', rank 0 has '0.1'" ]; then
    fail "other options on rank 1: status $code, $(cat said)"
fi
code=0
# shellcheck disable=SC2016
timeout 20 mpirun -np 2 sh -c 'case $OMPI_COMM_WORLD_RANK in 0) set -- --model mlp ;; *) set -- --momentun 3 ;; esac; exec "$0" train "$@"' "$n" >stdout 2>said || code=$?
if [ $code -eq 0 ] || [ "$(ours)" != "narrowcast: unknown option '--momentun': did you mean '--momentum'?" ]; then
    fail "a wrong option on rank 1: status $code, $(cat said)"
fi

for log in part failed killed; do
    ids=$(sed -n 's/^{"kind":"run","run_id":"\([0-9a-f]\{16\}\)",.*/\1/p' $log.jsonl)
    [ "$(echo "$ids" | wc -l) $(echo "$ids" | sort -u | wc -l)" = "2 1" ] || fail "$log.jsonl: not one run, begun and resumed: $ids"
done
[ "$(grep -c '"kind":"step"' whole.jsonl)" -eq 20 ] || fail "the log has not one line a step"
[ "$(grep -c '"kind":"epoch"' whole.jsonl)" -eq 2 ] || fail "the log has not one line an epoch"
grep '"kind":"epoch"' whole.jsonl | tail -n 1 | grep -q "$(sum_of whole.txt)" || fail "checksum in the log"
if command -v python3 >/dev/null; then
    python3 - whole.jsonl part.jsonl failed.jsonl killed.jsonl <<'END' || fail "the log is not what it should be"
import json, sys
for path in sys.argv[1:]:
    lines = [json.loads(line) for line in open(path)]
    assert lines[0]["kind"] == "run" and lines[0]["model"] == "resnet8" and lines[0]["lr"] == 0.05 and lines[0]["ranks"] == 2
    assert lines[0]["command"] == "train"
    for step in (line for line in lines if line["kind"] == "step"):
        # direct, 2 ranks: each sends half of the codes and half of the sums; a few bytes of
        # exponents
        assert 0 <= step["sent_bytes"] - step["code_bytes"] < 400 and 0 <= step["code_bytes"] - step["fp32_bytes"] / 4 < 8 * 40
        assert step["samples_per_s"] > 0 and 0 <= step["input_s"] < 120 / step["samples_per_s"] and step["comm_s"] > 0 and step["codec_s"] > 0 and step["skipped"] is False
    assert sum(line["input_s"] for line in lines if line["kind"] == "step") > 0 # the next step's are made ready beside this one
END
else
    echo "skip: no python3: log lines are counted, not parsed"
fi
on 2 --model mlp --steps 4 --dump-gradients dump --dump-first 1 --dump-steps 2 >/dev/null 2>>stderr
[ "$(cat dump/meta.txt)" = "ranks 2 steps 2 first 1" ] || fail "dump/meta.txt is '$(cat dump/meta.txt)'"
want="layers.txt meta.txt step000001.rank0.f32 step000001.rank1.f32 step000001.weights.f32 step000002.rank0.f32 step000002.rank1.f32 step000002.weights.f32"
[ "$(cd dump && echo *)" = "$want" ] || fail "dump holds $(cd dump && echo *)"
elements=$(awk '{ if ($2 != sum) exit 1; sum += $3 } END { print sum }' dump/layers.txt) || fail "dump/layers.txt has gaps"
awk 'NF != 5 || $4 < 1 || $5 < 1 || $3 % ($4 * $5) { exit 1 }' dump/layers.txt || fail "dump/layers.txt has columns that do not fill their layers"
on 2 --model mlp --steps 4 --dump-gradients few --dump-first 1 >/dev/null 2>>stderr
[ "$(cat few/meta.txt)" = "ranks 2 steps 3 first 1" ] || fail "few/meta.txt is '$(cat few/meta.txt)'"
on 1 --model mlp --steps 900 --until 0.05 --dump-gradients until >/dev/null 2>>stderr
[ "$(cat until/meta.txt)" = "ranks 1 steps $(find until -name '*.rank0.f32' | wc -l) first 0" ] || fail "until/meta.txt is '$(cat until/meta.txt)'"
timeout 20 mpirun -np 1 "$n" train --data synthetic:240,3 --batch 24 --model mlp --epochs 2 --until 0.01 --dump-gradients early --dump-first 12 --dump-steps 3 >out 2>&1 ||
    fail "a run that ends before its dump: $(tail -n 3 out)"
[ "$(cat early/meta.txt)" = 'ranks 1 steps 0 first 12' ] || fail "early/meta.txt is '$(cat early/meta.txt)'"
part="--model mlp --schedule const"
# shellcheck disable=SC2086
{
    on 2 $part --steps 4 --save half.ck --dump-gradients half --dump-steps 5
    on 2 $part --steps 6 --resume half.ck --dump-gradients half --dump-steps 5
    on 2 $part --steps 6 --resume half.ck --dump-gradients later
    on 2 $part --steps 40 --until 0.05 --save until.ck --log until.jsonl
    on 2 $part --steps 40 --until 0.05 --resume until.ck --log until.jsonl
} >out 2>>stderr
[ "$(cat half/meta.txt)" = "ranks 2 steps 5 first 0" ] || fail "a continued dump: '$(cat half/meta.txt)'"
[ "$(cat later/meta.txt)" = "ranks 2 steps 2 first 4" ] || fail "a dump that begins with a resumed run: '$(cat later/meta.txt)'"
[ "$(sum_of out | tail -n 2 | uniq | wc -l)" = 1 ] || fail "a run that has reached --until goes on when it is resumed: $(grep checksum out)"
[ "$(grep -c '"kind":"epoch","epoch":1,' until.jsonl)" = 1 ] || fail "two lines of an epoch: $(grep -c epoch until.jsonl)"
refused "--dump-first '4': must be a step of this run, 0 to 3" small 2 --dump-gradients none --dump-first 4
[ "$(wc -c <dump/step000002.rank1.f32)" -eq $((4 * elements)) ] || fail "a dump is not as long as its layers"
if cmp -s dump/step000001.rank0.f32 dump/step000001.rank1.f32; then fail "two ranks have the same gradients"; fi
help=$(mpirun -np 2 "$n" train --help | grep -c '^usage:')
[ "$help" -eq 1 ] || fail "train --help on 2 ranks speaks $help times"
for left in ./*.tmp; do
    [ ! -e "$left" ] || fail "left $left"
done
exit $bad
