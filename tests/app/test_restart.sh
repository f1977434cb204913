#!/bin/bash
# test_restart.sh : host/ranks.sh with NARROWCAST_RESTARTS starts a training again whose ranks are killed.
# Weights and log must be those of an undisturbed run, also beside a checkpoint of another run.
set -u
. "$(dirname "$0")/../lib/in_folder.sh"
here=$(realpath "$here")
common="train --data synthetic:480,3 --batch 48 --lr 0.05 --model resnet8 --format e5m2 --scale aps --epochs 8 --save ck --save-every 5"
steps() {
    local n_steps
    n_steps=$(grep -cs '"kind":"step"' "$1")
    echo "${n_steps:-0}"
}
# kill_one LOG: the newest rank of the run with this log
kill_one() {
    local pid last=
    for pid in $(pgrep -f -- "--log $dir/$1\$"); do
        [ "$(cat "/proc/$pid/comm")" != narrowcast ] || last=$pid
    done
    [ -n "$last" ] && kill -9 "$last"
}
# shellcheck disable=SC2086  # words
"$here/../host/ranks.sh" 2 "$n" $common --log plain.jsonl >plain.out 2>&1 || fail "undisturbed: $(tail -n 3 plain.out)"

# the checkpoint of that run is there, and must not be resumed
# shellcheck disable=SC2086  # words
NARROWCAST_RESTARTS=2 "$here/../host/ranks.sh" 2 "$n" $common --log "$dir/run.jsonl" >run.out 2>run.err &
run=$!
trap 'kill $run 2>/dev/null; wait; rm -rf "$dir"' EXIT
for at in 3 17; do
    while kill -0 $run 2>/dev/null && [ "$(steps run.jsonl)" -lt $at ]; do sleep 0.02; done
    kill_one run.jsonl || fail "no rank to kill"
    while kill -0 $run 2>/dev/null && ! grep -qs "$((at / 10 == 1 ? 0 : 1)) restarts are left" run.err; do sleep 0.05; done
done
wait $run || fail "exit $?: $(tail -n 4 run.err)"
[ "$(grep -c 'all start again' run.err)" = 2 ] || fail "not started again twice: $(cat run.err)"
diff <(grep checksum plain.out) <(grep checksum run.out) || fail 'other weights'
diff <(timeless plain.jsonl) <(timeless run.jsonl) >differs || fail "another log: $(head -n 4 differs)"

# shellcheck disable=SC2086  # words
NARROWCAST_RESTARTS=0 "$here/../host/ranks.sh" 2 "$n" $common --epochs 100 --log "$dir/last.jsonl" >last.out 2>&1 &
run=$!
while kill -0 $run 2>/dev/null && [ "$(steps last.jsonl)" -lt 1 ]; do sleep 0.02; done
kill_one last.jsonl || fail "no rank to kill: $(tail -n 3 last.out)"
if wait $run; then fail 'no restarts: exit 0'; fi

# a run that is started again goes on with inf in its batch norms, and writes its label maps again
diverged=(--data "shapes:40,2" --model fcn --width 0.06 --device cpu --batch 8 --steps 4 --warmup 0 --schedule const --lr 1e6 --save inf.ck)
for i in 1 2; do
    NARROWCAST_RUN=0000000000000007 "$n" train "${diverged[@]}" --predict maps >"inf$i.out" 2>inf.err || fail "start $i of a run that diverges: $(cat inf.err)"
done
diff <(grep checksum inf1.out) <(grep checksum inf2.out) || fail 'a run that diverges: other weights after the second start'
refused 'hold inf or nan' "$n" train "${diverged[@]}" --resume inf.ck
for id in 12345 00000000000000AB 00000000000000abc; do
    refused "NARROWCAST_RUN '$id': need 16 of the digits" env NARROWCAST_RUN=$id "$n" train --steps 1
done
refused "must be 0 to 999" env NARROWCAST_RESTARTS=x "$here/../host/ranks.sh" 2 "$n" train
exit $bad
