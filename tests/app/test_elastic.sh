#!/bin/bash
# test_elastic.sh : processes of `train --elastic` are killed, stopped for longer than the deadline, and
# added, also with a card that dies. The run must end with the weights and the log of an undisturbed
# one. Needs an MPI with fault tolerance (Open MPI 5). `long [SEED]`: 200 random events, at least 20 runs, resnet8 and charlstm
# in turn; prints how long it took to go on. `machines`: two nodes of bench/netlab.sh, whose link is cut for 30 s.
set -u
. "$(dirname "$0")/../lib/in_folder.sh"
. "$here/lib/refused.sh"
if [ "${1-}" = machines ]; then
    cd "$OLDPWD" && in_netlab -n 2 -s 2 && cd "$dir" || exit 1
fi
blocks=12 receipts='' n_events=0 run='' card='' by_card='' launch=(mpirun --with-ft ulfm -np)
trap 'kill $run $card 2>/dev/null; wait; rm -rf "$dir"' EXIT

refused '--elastic needs --blocks V' "$n" train --elastic 1
refused "unknown word 'joins'" "$n" train joins --steps 1
refused '--elastic 5 is more than the 2 blocks' "$n" train --blocks 2 --elastic 5
if ! "$n" train --help elastic | grep -q ulfm; then fail 'no help'; fi
if mpirun --with-ft ulfm -np 1 true 2>/dev/null; then
    refused 'mpirun --with-ft ulfm' mpirun -np 1 "$n" train --elastic 1 --blocks 4 --data synthetic:240,3
else
    refused 'needs an MPI with fault tolerance (ULFM)' "$n" train --elastic 1 --blocks 4 --data synthetic:240,3
    [ $bad = 0 ] || exit 1
    echo "skip: $(mpirun --version | head -n 1) has no fault tolerance; Open MPI 5 has"
    exit 77
fi

members() { # those of netlab.sh see no other processes
    local starter
    [ -z "${NETLAB_HOSTS-}" ] || { pgrep -x narrowcast && return; }
    starter=$(pgrep -d, -f "with-ft ulfm .*$dir/run.jsonl") && pgrep -x -P "$starter" narrowcast
}
one() { members | shuf -n 1 --random-source=<(yes "$RANDOM"); }
# waits until N more processes than live now go on
go_on_with() {
    local last n_then n_wait
    n_then=$(members | wc -l)
    for ((n_wait = 0; n_wait < 200; n_wait++)); do
        last=$(grep -aoE '[0-9]+ process(es go| goes) on' run.err | tail -n 1)
        last=${last%% *}
        [ "$1" != 0 ] || n_then=$(members | wc -l)
        [ "${last:-$processes}" != $((n_then + $1)) ] || return 0
        sleep 0.1
    done
    return 1
}
# within S COMMAND...: repeats it until it succeeds
within() {
    local n_wait
    for ((n_wait = 0; n_wait < $1 * 10; n_wait++)); do
        ! "${@:2}" || return 0
        sleep 0.1
    done
    return 1
}
event() {
    local who n_now
    who=$(one) n_now=$(members | wc -l)
    case $1 in
    card) kill -9 "$card" ;;
    noticed) within 5 grep -aqE 'process(es go| goes) on' run.err || fail "a death was not noticed within 5 s: $(tail -n 3 run.err)" ;;
    replaced)
        rm "$n"
        kill -USR2 "$who"
        within 5 grep -aq 'cannot start one more process: the program file was replaced' run.err || fail "a program that was removed: $(tail -n 3 run.err)"
        ;;
    link) ip link set p2 down && sleep "$2" && ip link set p2 up ;;
    kill) [ "$n_now" -gt 1 ] && kill -9 "$who" ;;
    stop) [ "$n_now" -gt 1 ] && kill -STOP "$who" && { sleep "$2"; kill -CONT "$who" 2>/dev/null || true; } ;;
    join) # without deaths until it is connected, which Open MPI does not survive
        go_on_with 0 && who=$(one) && [ "$(members | wc -l)" -lt 6 ] && grep -qs '^SigCgt:.*[89a-f]..$' "/proc/$who/status" &&
            kill -USR2 "$who" && { go_on_with 1 || true; }
        ;;
    esac
}

start_card() {
    [ -z "$card" ] || kill "$card" 2>/dev/null
    "$n" sim --listen 127.0.0.1:0 --engine c "$@" >card.out 2>card.err &
    card=$!
    until grep -qs '^listening on ' card.out || ! kill -0 $card; do sleep 0.1; done
}

# true if all processes are in the job, which they are before the first step
joined() {
    local pid n_in=0
    for pid in $(members); do
        ! grep -qs '/dev/shm/narrowcast-' "/proc/$pid/maps" || n_in=$((n_in + 1))
    done
    [ $n_in = "$1" ]
}

# disturbed PROCESSES "EVENT ..." OPTIONS...: an event is a pause in s, kill, join, or stop:SECONDS. The first
# one comes after the first step, or, if it is `early`, as soon as the processes have joined.
disturbed() {
    local processes=$1 events=$2 e idle done_ones=
    shift 2
    rm -f run.jsonl run.receipts plain.receipts
    "$n" emulate --ranks $blocks --log plain.jsonl ${receipts:+--receipts plain.receipts} "$@" >plain.out 2>&1 || fail "undisturbed: $(tail -n 3 plain.out)"
    # shellcheck disable=SC2086  # words
    "${launch[@]}" "$processes" "$n" train --blocks $blocks --elastic 1 --deadline 2 ${receipts:+--receipts run.receipts} --log "$dir/run.jsonl" $by_card "$@" >run.out 2>run.err &
    run=$!
    until if [ "${events%% *}" = early ]; then joined "$processes"; else grep -qs '"kind":"step"' run.jsonl; fi || ! kill -0 $run; do sleep 0.05; done
    for e in ${events#early}; do
        kill -0 $run 2>/dev/null || break
        case $e in
        [0-9]*) sleep "$e" ;;
        epoch) until grep -qs '"kind":"epoch"' run.jsonl || ! kill -0 $run; do sleep 0.05; done ;;
        *) event "${e%:*}" "${e#*:}" && done_ones+=" $e" ;;
        esac
    done
    # Open MPI 5.0.11's mpirun sometimes hangs after all its processes have ended
    for ((idle = 0; idle < 200; idle++)); do
        kill -0 $run 2>/dev/null || break
        [ -z "$(members)" ] || idle=0
        sleep 0.1
    done
    [ $idle -lt 200 ] || { echo 'mpirun hangs' && kill -9 $run; }
    # mpirun's status may be that of a process that was killed, or 1 if it joined before
    wait $run
    status=$?
    [[ $status =~ ^(0|1|137)$ ]] || fail "$processes processes,$done_ones: exit $status: $(grep -av NBC_ run.err | tail -n 3)"
    run=''
    diff <(grep checksum plain.out) <(grep checksum run.out) >/dev/null || fail "$processes processes,$done_ones: $(grep checksum run.out), not $(grep checksum plain.out)"
    diff <(timeless plain.jsonl) <(timeless run.jsonl) >differs || fail "$processes processes,$done_ones: another log: $(head -n 4 differs)"
    if [ -n "$receipts" ]; then
        diff <(grep -v '"kind":"run"' plain.receipts) <(grep -v '"kind":"run"' run.receipts) >differs ||
            fail "$processes processes,$done_ones: other receipts: $(cut -c 1-200 differs | head -n 4)"
    fi
    if grep -a 'narrowcast: ' run.err | grep -aEv 'did not (answer|connect)|file was replaced|cannot connect a new|has waited|none is left|offload abandoned'; then fail "$processes processes,$done_ones: other lines"; fi
    tr -d '\0' <run.err | awk '
        /did not answer/ { kind = "stop" }
        /process.* lost$/ && kind == "" { kind = "kill" }
        / goe?s? on from step .* after the change/ { print kind == "" ? "join" : kind, $(NF - 4); kind = "" }' >went_on
    cat went_on >>all_went_on
    # shellcheck disable=SC2086  # words
    n_events=$((n_events + $(printf '%s\n' $done_ones | grep -c '[a-z]')))
    echo "$processes processes,$done_ones: went on $(awk '{ printf "%s after %s s ", $1, $2 }' went_on)"
}

figures() {
    for kind in kill stop join; do
        sed -n "s/^$kind //p" all_went_on | sort -n |
            awk -v kind=$kind '{ s[NR] = $1 } END { if (NR) print kind ": went on " NR " times after " s[1] " to " s[NR] " s, median " s[int((NR + 1) / 2)] " s" }'
    done
}

receipts=yes # with the roots of an undisturbed run
if "$n" emulate --data synthetic:240,3 --steps 1 --receipts r 2>&1 >/dev/null | grep -q 'this build has no receipts'; then
    receipts=''
    echo 'not run: receipts (the build has no libcrypto)'
fi
resnet8="--data synthetic:960,3 --batch 48 --lr 0.05 --model resnet8 --format e5m2 --scale aps"
seq 9000 >text
charlstm="--model charlstm --data text:text --width 0.2 --batch 48 --lr 0.05 --codec onebit"
if [ "${1-}" = long ]; then
    seed=${2:-$(date +%s)}
    RANDOM=$seed
    echo "seed $seed"
    for ((i = 1; i <= 20 || n_events < 200; i++)); do
        events=
        [ $((RANDOM % 3)) != 0 ] || events='early kill'
        for _ in $(seq 10); do
            case $((RANDOM % 4)) in 0 | 1) e='kill' ;; 2) e='join' ;; *) e=stop:$((RANDOM % 2 + 3)) ;; esac
            events+=" 0.$((RANDOM % 90 + 10)) $e"
            [ "$e" != kill ] || [ $((RANDOM % 2)) = 0 ] || events+=' 1 join'
        done
        # shellcheck disable=SC2086  # words
        if [ $((i % 2)) = 0 ]; then disturbed $((RANDOM % 5 + 2)) "$events" $resnet8 --epochs 30; else disturbed $((RANDOM % 5 + 2)) "$events" $charlstm --epochs 6; fi
        [ $bad = 0 ] || { cp run.err run.out "${TMPDIR:-/tmp}"; exit 1; }
    done
    echo "$((i - 1)) runs, $n_events events"
    figures
    bash "$here/app/${0##*/}" machines || [ $? = 77 ] || bad=1
elif [ "${1-}" = machines ]; then
    # shellcheck disable=SC2206  # words
    launch=(env OMPI_MCA_btl_tcp_if_include=10.77.0.0/24 mpirun $NETLAB_MPI --with-ft ulfm -np) # ranks.sh: lo
    # shellcheck disable=SC2086  # words
    disturbed 4 '0.2 kill 0.3 link:30 0.5 kill' $resnet8 --epochs 20
else
    # shellcheck disable=SC2086  # words
    disturbed 3 '0.3 kill 0.7 join 0.8 kill 0.3 stop:3' $resnet8 --epochs 5
    # shellcheck disable=SC2086  # words
    disturbed 4 'early kill 0.4 kill' $resnet8 --epochs 1
    export NARROWCAST_TEST_PAUSE=1
    # shellcheck disable=SC2086  # words
    disturbed 3 'epoch 0.3 kill' $resnet8 --epochs 3 --until 0.12
    unset NARROWCAST_TEST_PAUSE
    start_card
    by_card="--offload udp://$(sed -n 's/^listening on //p' card.out) --card-deadline 3"
    # shellcheck disable=SC2086  # words
    disturbed 3 '0.4 kill 0.9 card kill' $resnet8 --epochs 5
    # no connection to the card tells of a death; the program file is removed
    by_card='--deadline 20'
    if grep -q 'built without Verilator' "$B/narrowcast-sim"; then
        echo 'not run: an eth:// card (no Verilator)'
    else
        start_card --control 0
        by_card+=" --offload eth://$(sed -n 's/^listening on .*, controlled at //p' card.out) --card-deadline 2"
    fi
    cp "$n" narrowcast && n=$dir/narrowcast
    # shellcheck disable=SC2086  # words
    disturbed 3 '0.4 kill noticed replaced' $resnet8 --scale none --epochs 3
    by_card='' n=$B/narrowcast
    # its status is that of the run
    launch=(env NARROWCAST_RESTARTS=1 "$(realpath "$here/../host/ranks.sh")")
    # shellcheck disable=SC2086  # words
    disturbed 3 '0.3 kill 0.5 join 0.5 kill' $resnet8 --epochs 5
    [ "$status" = 0 ] || fail "ranks.sh: exit $status"
    if grep -a 'all start again' run.err; then fail 'ranks.sh started again'; fi
fi
exit $bad
