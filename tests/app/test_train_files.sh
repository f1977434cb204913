#!/bin/bash
# test_train_files.sh : tests the files that `train` writes.
set -u
. "$(dirname "$0")/../lib/in_folder.sh"

on() { timeout 120 "$n" train --data synthetic:240,3 --batch 24 --model mlp --lr 0.05 --schedule const "$@"; }

long=$(printf '%0256d' 0)
for o in save trace log; do
    refused "--$o '': need the name of a file" on --steps 3 --$o=
    refused "'$long': File name too long" on --steps 3 --$o "$long"
    refused "'no/folder/x': No such file" on --steps 3 --$o no/folder/x
    refused "'.': Is a directory" on --steps 3 --$o .
done
refused "--log and --save both name 'same': need two files" on --steps 3 --log same --save same
refused "--trace and --resume both name 'same': need two files" on --steps 3 --trace same --resume same
touch there
mkdir sub
ln there hard
ln -s there soft
ln -s ../none sub/dangling
refused "--log 'there' and --stats './there' are the same file: need two files" on --steps 3 --stats ./there --log there
refused "--log 'none' and --save 'sub/../none' are the same file: need two files" on --steps 3 --log none --save sub/../none
refused "--trace 'sub/dangling' and --stats '$PWD/none' are the same file: need two files" on --steps 3 --stats "$PWD/none" --trace sub/dangling
refused "--log 'soft' and --stats 'hard' are the same file: need two files" on --steps 3 --log soft --stats hard
refused "--stats 'hard' and --resume 'there' are the same file: need two files" on --steps 3 --stats hard --resume there
if [ -s there ] || [ -e none ]; then fail "a file was written before it was refused"; fi
on --steps 1 --log /dev/stdout --stats /dev/stdout 2>said | cat >both || fail "two into one pipe: $(cat said)"
for kind in step stats_network; do grep -q "\"kind\":\"$kind\"" both || fail "two into one pipe: $(cat both)"; done
on --steps 1 --log /dev/null --trace /dev/null --stats /dev/null >/dev/null 2>said || fail "/dev/null: $(cat said)"
on --steps 1 --log hard --stats sub/there --save sub/dangling >/dev/null 2>said || fail "files of like names: $(cat said)"
refused "--resume '': need the name of a file" on --steps 3 --resume=
refused "--dump-gradients '': need the name of a file" on --steps 3 --dump-gradients=
refused "longer than 8192 bytes" on --steps 3 --data "synthetic:$(printf '%09000d' 240),3"
on --steps 1 --save "${long#?}" --trace "t${long#??}" >/dev/null 2>said || fail "names of 255 bytes: $(cat said)"
if [ ! -s "${long#?}" ] || [ ! -s "t${long#??}" ]; then fail "names of 255 bytes: nothing is there"; fi

# --- folders of pictures: any processes, threads and kinds of runs give the same weights ---
many() { "$here/../host/ranks.sh" "$@"; }
mkdir pics
"$B/tests/test_imagefolder" make pics || fail "no pictures"
pics() { sum=$("$@" --model resnet8 --device cpu --augment crop+flip --batch 6 --lr 0.05 --schedule const --steps 7 2>said | grep ^weights) || fail "$*: $(cat said)"; }
pics many 3 "$n" train --data imagefolder:pics,32 --save pics.ck
want=$sum
for run in "many 1 $n train --blocks 3" "many 2 $n train --blocks 3" "$n emulate --ranks 3"; do
    # shellcheck disable=SC2086
    pics $run --data imagefolder:pics,32,2
    [ "$sum" = "$want" ] || fail "pictures by $run: $sum, not $want"
done
pics many 3 "$n" train --data imagefolder:pics,32 --seed 2
[ "$sum" != "$want" ] || fail "another seed changes nothing"
pics many 3 "$n" train --data imagefolder:pics,32 --steps 4 --save half.ck
pics many 3 "$n" train --data imagefolder:pics,32 --resume half.ck
[ "$sum" = "$want" ] || fail "pictures, resumed: $sum, not $want"
refused "--augment cutout is impossible for pictures" "$n" train --data imagefolder:pics,32 --model resnet8 --batch 6 --augment cutout
long=$(printf '%0200d' 0)
ln -s pics "$long"
refused "cannot scale pictures of 'imagefolder:$long,32'" "$n" train --data "imagefolder:$long,32" --model resnet8 --batch 6 --image 64
refused "cannot read folder 'nowhere/train'" "$n" train --data imagefolder:nowhere --batch 6
# files that are damaged later end the run with their name, before anything is saved
# names FILE: the only line names it
names() { [ "$(grep -c "^narrowcast: " said)" = 1 ] && grep -q "^narrowcast: '$1' offset" said; }
shown() { many 2 "$n" train --data imagefolder:pics,32 --model resnet8 --device cpu --batch 6 --steps 9 --save bad.ck >out 2>said; }
cp -r pics sound
head -c 700 "sound/train/class b/3.JPEG" >"pics/train/class b/3.JPEG"
if shown; then fail "a damaged picture is no failure"; fi
names 'pics/train/class b/3.JPEG' || fail "a damaged picture: $(cat said)"
cp "sound/train/class b/3.JPEG" "pics/train/class b/3.JPEG"
head -c 700 "sound/train/class b/5.JPEG" >"pics/train/class b/5.JPEG"
for ranks in 2 3; do # they share the data, so only the one that read the picture knows the reason
    if "$n" emulate --ranks $ranks --data imagefolder:pics,32 --model resnet8 --batch 6 --steps 9 >out 2>said; then fail "$ranks emulated ranks: a damaged picture is no failure"; fi
    names 'pics/train/class b/5.JPEG' || fail "$ranks emulated ranks: $(cat said)"
done
cp "sound/train/class b/5.JPEG" "pics/train/class b/5.JPEG"
echo text >"pics/val/class a/0.jpg"
if shown; then fail "a damaged test picture is no failure"; fi
grep -q "^narrowcast: 'pics/val/class a/0.jpg' offset 0: unknown kind of picture" said || fail "a damaged test picture: $(cat said)"
[ ! -e bad.ck ] || fail "saved after a damaged picture"

# --- --init: the weights of any run, by name and shape; all kinds of runs start with them ---
on --steps 5 --save from.ck >from.out 2>said || fail "a run to start from: $(cat said)"
still=(--steps 1 --lr 0 --weight-decay 0 --init from.ck)
want=$(grep ^weights from.out)
starts() {
    "$@" "${still[@]}" >out 2>said || fail "$*: $(cat said)"
    [ "$(grep ^weights out)" = "$want" ] || fail "$*: $(grep ^weights out), the file has $want"
    [ "$(grep -c '^init: ' said)" = 1 ] || fail "$* says $(cat said)"
}
common=(--data "synthetic:240,3" --batch 24 --model mlp)
starts "$n" train "${common[@]}"
starts many 2 "$n" train "${common[@]}" --codec onebit
starts many 2 "$n" train "${common[@]}" --blocks 3
starts many 2 "$n" train "${common[@]}" --shard optimizer
starts many 2 "$n" train "${common[@]}" --shard optimizer --gather delta:e4m3
starts "$n" emulate --ranks 3 "${common[@]}"
still+=(--seed 7)
starts "$n" train "${common[@]}"
on --steps 5 --init from.ck --save more.ck >out 2>said || fail "5 steps more: $(cat said)"
on --steps 5 --init from.ck --save half.ck --save-every 3 >again 2>said || fail "the same: $(cat said)"
[ "$(grep ^weights out)" = "$(grep ^weights again)" ] || fail "two runs from equal weights end in others"
[ "$(grep ^weights out)" != "$want" ] || fail "nothing is learned after --init"
on --steps 6 --resume half.ck >again 2>said || fail "a run with --init, resumed: $(cat said)"
refused "cannot open 'none.ck'" on --steps 1 --init none.ck
refused "cannot use 'said': it is" on --steps 1 --init said
refused "--init '': need the name of a file" on --steps 1 --init=
refused "--save and --init both name 'from.ck': need two files" on --steps 1 --init from.ck --save from.ck
refused "--init does not work with --resume: leave one of them out" on --steps 1 --init from.ck --resume from.ck
refused "--init does not work with --receipts: leave one of them out" on --steps 1 --init from.ck --receipts receipts
refused "cannot start from 'from.ck': no layer has the name and shape of one of model 'fcn'" "$n" train --data shapes:40,1 --model fcn --width 0.06 --device cpu --batch 8 --steps 1 --init from.ck
head -c 3000 from.ck >cut.ck
refused "cannot use 'cut.ck': it is damaged or truncated: its checksum is wrong" on --steps 1 --init cut.ck

zeros=$(printf '%04000d' 0)
on --steps 1 --data "synthetic:${zeros}240,3" --save long.ck >/dev/null 2>said || fail "long options: $(cat said)"
on --steps 2 --data "synthetic:${zeros}240,3" --resume long.ck >/dev/null 2>said || fail "long options resumed: $(cat said)"
refused "it was made with data" on --steps 3 --data "synthetic:${zeros}240,4" --resume long.ck
refused "it was made with width '1', this run has '0.5'" on --steps 3 --data "synthetic:${zeros}240,3" --width 0.5 --resume long.ck

# --- the folder disappears during the run; the log's reader holds the run: its pipe is full ---
mkdir gone
mkfifo log.pipe
{ read -r _; rmdir gone; cat >/dev/null; } <log.pipe &
on --steps 400 --save gone/ck --trace gone/trace --log log.pipe >stdout 2>said && fail "what could not be saved was no failure"
wait
grep -q '^weights checksum' stdout || fail "the table is lost: $(cat stdout said)"
[ "$(grep '^narrowcast:' said)" = "narrowcast: cannot write 'gone/ck': No such file or directory" ] || fail "at the end: $(cat said)"

head -n 3 <log.pipe >/dev/null &
on --steps 4000 --batch 210 --log log.pipe >stdout 2>said
code=$?
wait
[ $code -eq 1 ] || fail "a log without a reader: status $code"
[ "$(grep '^narrowcast:' said)" = "narrowcast: cannot write 'log.pipe': Broken pipe" ] || fail "a log without a reader: $(cat said)"

for ranks in 1 2; do
    head -n 3 <log.pipe >/dev/null &
    timeout 120 mpirun -np $ranks "$n" train --data synthetic:240,3 --batch 24 --model mlp --steps 1000 --log log.pipe --save broken.ck >stdout 2>said
    code=$?
    wait
    [ $code -eq 1 ] || fail "a log without a reader, $ranks ranks that save: status $code"
    { grep -qxF "narrowcast: cannot write 'log.pipe': Broken pipe" said &&
        grep -qx "stopped after step [0-9]* of 1000; --resume 'broken.ck' continues from there" said; } ||
        fail "a log without a reader, $ranks ranks that save: $(cat said)"
    grep -q '^weights checksum' stdout && fail "a table of a run that ended early"
    timeout 120 mpirun -np $ranks "$n" train --data synthetic:240,3 --batch 24 --model mlp --steps 1000 --resume broken.ck >stdout 2>said ||
        fail "a log without a reader, $ranks ranks resumed: $(cat said)"
    grep '^weights checksum' stdout >resumed
    timeout 120 mpirun -np $ranks "$n" train --data synthetic:240,3 --batch 24 --model mlp --steps 1000 >stdout 2>said
    grep '^weights checksum' stdout | cmp -s - resumed || fail "$ranks ranks: what was saved is not what was trained: $(cat resumed)"
done

for schedule in linear cosine step; do
    on --steps 5 --schedule $schedule --save scheduled.ck >/dev/null 2>said || fail "$schedule: $(cat said)"
    refused "its schedule is for 5 steps in all, this run has 9: pass --steps 5; only runs with --schedule const or exp can be made longer" on --steps 3 \
        --steps 9 --schedule $schedule --resume scheduled.ck
    on --steps 5 --schedule $schedule --resume scheduled.ck >/dev/null 2>said || fail "$schedule, as the message says: $(cat said)"
done

mkfifo none.pipe
refused "cannot open 'none.pipe': no process has opened this pipe for reading" on --steps 3 --log none.pipe

# --- the training ends although no process reads stderr: 1500 epoch lines overfill its pipe ---
mkfifo unread.pipe
exec 9<>unread.pipe
timeout 60 "$n" train --data synthetic:60,1 --model mlp --batch 60 --epochs 1500 --schedule const 2>unread.pipe >stdout 9>&- ||
    fail "a stderr that nobody reads: exit $?"
exec 9>&-
grep -q '^weights checksum' stdout || fail "a stderr that nobody reads: $(tail -n 1 stdout)"

data() { seq "$1" "$2" >text && timeout 120 "$n" train --data text:text --batch 4 --model charlstm --width 0.02 --schedule const "${@:3}"; }
data 1 9000 --steps 1 --save text.ck >/dev/null 2>said || fail "a text: $(cat said)"
data 1 9000 --steps 2 --resume text.ck >/dev/null 2>said || fail "a text resumed: $(cat said)"
data 2 9001 --steps 2 --resume text.ck >/dev/null 2>said && fail "went on with another text of the same name"
grep -qE "^narrowcast: cannot resume 'text.ck': it was made with checksum of the data '[0-9a-f]{8}', this run has '[0-9a-f]{8}'$" said || fail "said: $(cat said)"

steps() {
    [ "$(sed -n 's/^{"kind":"step","step":\([0-9]*\),.*}$/\1/p' log | tr '\n' ' ')" = "$* " ] || fail "steps in the log: $(cut -c1-40 log)"
    grep -qv '^{.*}$' log && fail "a torn line in the log"
}
{
    on --steps 7 --save seven.ck --log log
    on --steps 12 --save twelve.ck --log log --resume seven.ck
} >/dev/null 2>&1
steps 1 2 3 4 5 6 7 8 9 10 11 12
printf '{"kind":"step","step":1' >>log
on --steps 13 --log log --resume twelve.ck >/dev/null 2>&1
steps 1 2 3 4 5 6 7 8 9 10 11 12 13
on --steps 9 --log log --resume seven.ck >/dev/null 2>&1
steps 1 2 3 4 5 6 7 8 9
on --steps 12 --log log --resume twelve.ck >/dev/null 2>&1
on --steps 12 --log log --resume twelve.ck >/dev/null 2>&1
[ "$(grep -c '"kind":"end","step":12,' log) $(grep -c '"kind":"end"' log)" = "1 3" ] || fail "the ends after steps 7, 9 and 12: $(grep '"end"' log)"
[ "$(grep -c '"kind":"epoch".*"step":12,' log)" -eq 1 ] || fail "the test behind step 12: $(grep epoch log)"
printf 'a note of mine' >note
refused "'note': it is not a log" on --steps 3 --resume seven.ck --log note --steps 12
[ "$(cat note)" = "a note of mine" ] || fail "a file that is no log has changed"

# --- with --resume, only a file of the checkpoint's own run is truncated ---
# kept TEXT FILE OPTIONS...: must refuse FILE for --log and for --stats and leave it unchanged
kept() {
    said_words=$1 file=$2
    shift 2
    cp "$file" before
    for o in log stats; do
        refused "cannot append to '$file': $said_words" on --steps 3 "--$o" "$file" --steps 12 "$@"
        cmp -s before "$file" || fail "--$o: '$file' has changed, though it was refused"
    done
}
on --steps 40 --seed 7 --save other.ck --log other.log --stats other.stats --stats-every 1 >/dev/null 2>&1
on --steps 40 --log twin.log >/dev/null 2>&1 # the options of seven.ck, but another run
of_another() { echo "it belongs to run $(sed -n '1s/.*"run_id":"\([0-9a-f]*\)".*/\1/p' "$1"), and checkpoint '$2' to another; name another file"; }
for file in other.log other.stats twin.log; do kept "$(of_another $file seven.ck)" $file --resume seven.ck; done
sed '1s/"run_id":"[0-9a-f]*",//' log >nameless.log
kept 'it is not a log of narrowcast' nameless.log --resume seven.ck
head -c 5000 "$n" >binary
printf '{' >brace
printf '{"kind":"run"' >torn
printf '{"kind":"info","version":"0"}\n' >info
echo >blank
tail -n +2 other.log >headless
for file in note binary brace torn info blank headless seven.ck; do kept 'it is not a log' $file --resume twelve.ck; done
for o in log stats; do
    for file in new empty; do
        rm -f "$o.$file"
        [ $file = new ] || : >"$o.$file"
        on --steps 12 --resume seven.ck "--$o" "$o.$file" >/dev/null 2>said || fail "--$o $file: $(cat said)"
        grep -q "$(grep -o '"run_id":"[0-9a-f]*"' log | head -n 1)" "$o.$file" || fail "--$o $file: not the id of the run: $(head -c 80 "$o.$file")"
        [ "$(grep -c '"kind":"run"' "$o.$file")" = 1 ] || fail "--$o $file: $(cut -c1-40 "$o.$file")"
    done
done
# the run's own file of the other option, even with only its first line
for o in log stats; do
    if [ $o = log ]; then other=stats; else other=log; fi
    for file in "$o.new" "$o.first"; do
        [ -e "$file" ] || head -n 1 "$o.new" >"$file"
        cp "$file" before
        refused "--$other '$file' is this run's file of --$o: name another file" on --steps 3 "--$other" "$file" --steps 12 --resume twelve.ck
        cmp -s before "$file" || fail "--$other: '$file' has changed, though it was refused"
    done
done

# --- each file has one writer ---
# begin LOG OPTIONS...: starts a long run, $first, and waits for its first steps
begin() {
    timeout 120 "$n" train --data synthetic:240,3 --batch 24 --model mlp --schedule const --steps 1000000 --log "$@" >/dev/null 2>&1 &
    first=$!
    until grep -qs '"kind":"step"' "$1"; do kill -0 $first 2>/dev/null || break; sleep 0.05; done
}
# busy OPTION FILE: refused while the first run has the file
busy() {
    begin first.log "--$1" "$2"
    while [ -f "$2" ] && [ "$(wc -l <"$2")" -lt 3 ] && kill -0 $first 2>/dev/null; do sleep 0.05; done
    head -n 3 "$2" >begun 2>/dev/null
    busy=1 refused "'$2': another process is writing to it; give this run a name of its own" on --steps 3 "--$1" "$2" --seed 5
    kill -TERM $first
    wait $first
    head -n 3 "$2" 2>/dev/null | cmp -s begun - || fail "--$1: the second run changed what the first had written"
    [ ! -f "$2" ] || [ "$(grep -cv '^{.*}$' "$2") $(grep -c '"kind":"run"' "$2")" = "0 1" ] || fail "--$1: two runs in one file"
    on --steps 3 "--$1" "$2" >/dev/null 2>said || fail "--$1: the file is still locked: $(cat said)"
    rm -f first.log
}
busy log first.log
busy stats shared.stats
busy dump-gradients shared.dump
# a resumed run waits for one that is about to end
on --steps 5 --save turn.ck --log turn.log >/dev/null 2>&1
timeout 120 "$n" train --data synthetic:240,3 --batch 24 --model mlp --lr 0.05 --schedule const --steps 1000000 --resume turn.ck --log turn.log >/dev/null 2>&1 &
first=$!
until grep -qs '"kind":"step","step":6,' turn.log; do kill -0 $first 2>/dev/null || break; sleep 0.05; done
{ sleep 1; kill -TERM $first; } &
on --steps 8 --resume turn.ck --log turn.log >/dev/null 2>said || fail "the next run did not wait: $(cat said)"
wait
mv turn.log log
steps 1 2 3 4 5 6 7 8
exit $bad
