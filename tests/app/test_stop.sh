#!/bin/bash
# test_stop.sh : stops `train` by signals to mpirun, ranks.sh or one rank. It must save and resume
# to the same bits.
set -u
. "$(dirname "$0")/../lib/in_folder.sh"
ranks=$here/../host/ranks.sh
job=
trap '[ -z "$job" ] || kill -9 "$job" 2>/dev/null; rm -rf "$dir"' EXIT

# Shells make background commands ignore SIGINT.
train="env --default-signal=INT,TERM"
options="train --data synthetic:240,3 --batch 24 --model lenet5 --lr 0.05 --schedule const --save ck --log log"

until_done() {
    for ((i = 0; i < 900; i++)); do
        "$@" && return 0
        sleep 0.1
    done
    fail "waited in vain: $*"
    return 1
}
# shellcheck disable=SC2317 # called by its name
has_steps() { [ -e log ] && [ "$(grep -c '"kind":"step"' log)" -ge 3 ]; }
# shellcheck disable=SC2317
handlers_gone() { [ $((0x$(sed -n 's/^SigCgt:\t//p' "/proc/$1/status") & 1 << 14)) -eq 0 ]; }
rank_of() { pgrep -f "^$n train" -P "$(pgrep -f "^(mpirun|prterun).*$n" -s "$1" | head -n 1)"; }

# start HOW...: an endless run as $job; waits for three steps
start() {
    rm -f log ck
    # shellcheck disable=SC2086
    $train setsid "$@" >out 2>said </dev/null &
    job=$!
    until_done has_steps
}

# stopped LABEL STATUS SIGNAL: the printed step must be the last, and saved
stopped() {
    wait "$job"
    code=$?
    job=
    [ "$code" -eq "$2" ] || fail "$1: status $code instead of $2: $(cat said)"
    step=$(sed -n "s/^stopped by $3 after step \([0-9]*\) of 1000000; --resume 'ck' continues from there\$/\1/p" said)
    if [ -z "$step" ] || [ ! -s ck ]; then fail "$1: $(cat said)"; fi
    [ "$(grep '"kind":"step"' log | tail -n 1 | sed 's/.*"step":\([0-9]*\),.*/\1/')" = "$step" ] || fail "$1: $step steps, the log ends with $(tail -n 1 log)"
    [ ! -s out ] || fail "$1: printed $(cat out)"
    tail -n 1 log | grep -q "^{\"kind\":\"end\",\"step\":$step,.*\"reason\":\"$3\"" || fail "$1: the log's end: $(tail -n 1 log)"
    tail -n 1 log | grep -qE '"(test_loss|checksum)"' && fail "$1: the log's end has figures of a test: $(tail -n 1 log)"
}

# shellcheck disable=SC2086
for signal in INT:130 TERM:143 USR1:138; do
    start "$n" $options --steps 1000000
    kill "-${signal%:*}" "$job"
    stopped "one rank" "${signal#*:}" "SIG${signal%:*}"
done

# --- one of three ranks, overlapped, through a card; each resumes to an unstopped run's bits ---
# shellcheck disable=SC2086
for more in "" "--overlap on" "--offload sim:c"; do
    start mpirun -np 3 "$n" $options $more --steps 1000000
    kill -TERM "$(rank_of "$job" | tail -n 1)"
    stopped "one of three ranks $more" 143 SIGTERM
    mv ck ck.stopped
    mv log log.stopped
    for run in "--resume ck.stopped --log log.stopped" ""; do
        "$ranks" 3 "$n" $options $more --steps $((step + 5)) $run >"out$run" 2>>said || fail "$more $run: $(tail -n 3 said)"
    done
    [ "$(tail -n 1 "out--resume ck.stopped --log log.stopped")" = "$(tail -n 1 out)" ] || fail "$more: other weights after a stop"
    for log in log log.stopped; do grep -o '"kind":"step","step":[0-9]*' $log >$log.steps; done
    cmp log.steps log.stopped.steps || fail "$more: other steps in the log after a stop"
done

# --- mpirun forwards SIGUSR1; ranks.sh sends it on ^C ---
# shellcheck disable=SC2086
{
    start mpirun -np 2 "$n" $options --steps 1000000
    kill -USR1 "$job"
    stopped "SIGUSR1 to mpirun" 138 SIGUSR1
    for signal in INT:130 TERM:143; do
        start "$ranks" 2 "$n" $options --steps 1000000
        kill "-${signal%:*}" "$job"
        stopped "SIG${signal%:*} to ranks.sh" "${signal#*:}" SIGUSR1
    done
}

# --- a signal before mpirun has started ranks ends it: a fake catches SIGUSR1 and starts none ---
mkdir early && mkfifo early/never
printf '#!/bin/bash\ntrap : USR1\n: >early/ready\nread -rt 20 <>early/never\n' >early/mpirun
chmod +x early/mpirun
# shellcheck disable=SC2086
PATH=$dir/early:$PATH $train setsid "$ranks" 2 true >out 2>said </dev/null &
job=$!
until_done test -e early/ready
kill -INT "$job"
wait "$job"
code=$?
job=
[ $code -eq 130 ] || fail "SIGINT before there are ranks: status $code: $(cat said)"

# --- a second signal ends the run in mid-step, while another rank sleeps ---
# shellcheck disable=SC2086
start mpirun -np 2 "$n" $options --steps 1000000
read -r -d '' one two < <(rank_of "$job" | tr '\n' ' ')
kill -STOP "$two"
kill -TERM "$one"
until_done handlers_gone "$one"
[ ! -e ck ] || fail "saved in the middle of a step"
kill -TERM "$one"
wait "$job"
code=$?
job=
[ $code -eq 143 ] || fail "a second signal: status $code"
if [ -e ck ] || grep -q '^stopped' said; then fail "a second signal: $(cat said)"; fi
exit $bad
