#!/bin/bash
# test_shell_jobs.sh : jobs and leases of the card with LiteEth on a real Ethernet
# (bench/netlab.sh); weights must equal those over MPI. `long`: a card stopped for longer than a
# lease, and more steps.
set -eu
. "$(dirname "$0")/../lib/shell_net.sh"
eth=eth://$at:4712

steps() {
    if [ -s "$dir/log$1" ]; then grep -c '"kind":"step"' "$dir/log$1" || true; else echo 0; fi
}
# turns RUN: prints whether its steps came through the card, e.g. true false true
turns() { sed -n 's/.*"kind":"step".*"offload":\([a-z]*\).*/\1/p' "$dir/log$1" | uniq | tr '\n' ' '; }
ranks_of() {
    for pid in $(pgrep -x narrowcast); do
        ! tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | grep -q "$dir/log$1 " ||
            echo "$(tr '\0' '\n' <"/proc/$pid/environ" 2>/dev/null | sed -n 's/^OMPI_COMM_WORLD_RANK=\|^PMIX_RANK=//p' | head -n 1) $pid"
    done | sort -n | sed 's/.* //'
}

until_done() {
    for _ in $(seq 1200); do
        "$@" && return 0
        sleep 0.1
    done
    fail "waited in vain: $*"
}
# shellcheck disable=SC2317
{
    steps_done() { [ "$(steps 1)" -ge "$1" ]; }
    is_over() { case "$("$B/tests/test_fpga_eth" "$at:4712")" in "live 0 expired $1 "*) ;; *) false ;; esac; }
    is_back() { turns 1 | grep -q 'true false true'; }
    none_left() { [ -z "$(ranks_of 1)" ]; }
}
# start RUN RANKS OPTIONS...: starts $run in the background; returns after the first step through
# the card
start() {
    rm -f "$dir/log$1"
    on "$@" &
    run=$!
    until_done steps_done 1
}

few=2 ranks=2
[ "${1-}" != long ] || few=8 ranks=4

for job in 1 2; do on $job 2 --seed $job --steps $few --offload off || fail "job $job over MPI"; done
wanted1=$(checksum 1) wanted2=$(checksum 2)
[ "$wanted1" != "$wanted2" ] || fail 'two jobs have the same weights'
card --control 4712
hosts="--host 10.77.0.1:1,10.77.0.2:1" on 1 2 --seed 1 --steps $few --offload $eth &
first=$!
hosts="--host 10.77.0.3:1,10.77.0.4:1" on 2 2 --seed 2 --steps $few --offload $eth || fail 'job 2 of two'
wait $first || fail 'job 1 of two'
through 1 "$wanted1" $few 'job 1 of two'
through 2 "$wanted2" $few 'job 2 of two'

start 1 $ranks --steps 100000 --offload $eth
kill -KILL "$(ranks_of 1 | head -n 1)"
! wait $run || fail 'a killed rank went unnoticed'
until_done none_left
until_done is_over 1
on 1 2 --seed 1 --steps $few --offload $eth --card-slots 16 || fail 'after a killed job'
through 1 "$wanted1" $few 'after a killed job'
grep -q '16 slots each' "$dir/err1" || fail 'the slots of the job that was killed are not free'

start 1 $ranks --steps 100000 --offload $eth --save "$dir/saved"
kill -KILL "$card"
wait "$card" 2>/dev/null || true
card --control 4712
until_done is_back
kill -TERM "$(ranks_of 1 | head -n 1)"
! wait $run || fail 'a run that was asked to stop ended by itself'
[ "$(turns 1)" = 'true false true ' ] || fail "a card that came back: steps through it: $(turns 1)"
[ "$(grep -c 'warning' "$dir/err1")" = 2 ] || fail 'a card that came back: warnings'
grep -q "offload abandoned: card $eth has restarted" "$dir/err1" || fail 'a card that came back: no word of how it went'
grep -q 'offload works again' "$dir/err1" || fail 'a card that came back: no word of that'
total=$(($(steps 1) + 1))
rm -f "$dir/log2"
on 2 $ranks --steps $total --offload off --resume "$dir/saved" || fail 'on from what was saved'
on 1 $ranks --steps $total --offload off || fail 'over MPI, as many steps'
[ "$(checksum 1)" = "$(checksum 2)" ] || fail 'a card that came back: other weights than over MPI'
[ -n "$(checksum 1)" ] || fail 'a card that came back: no weights'

if [ "${1-}" = long ]; then
    on 1 2 --steps $few --offload off || fail 'over MPI, 2 ranks'
    wanted=$(checksum 1)
    start 1 2 --steps $few --offload $eth
    kill -STOP "$card"
    sleep 8
    kill -CONT "$card"
    wait $run || fail 'a card that stood still'
    through 1 "$wanted" $few 'a card that stood still'
fi
uncard
exit $bad
