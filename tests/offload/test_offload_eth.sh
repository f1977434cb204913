#!/bin/bash
# test_offload_eth.sh : trains through cards controlled by datagrams (eth://); the weights must
# equal those over MPI. The Verilated rtl/shell/control controls the C model and the Verilated core.
# `long`: also ranks stopped for longer than a lease. `check`: only the first case.
set -eu
. "$(dirname "$0")/../lib/card_net.sh"
[ -n "$rtl" ] || exit 77

told() { "$B/tests/test_fpga_eth" "$(sed 's/^eth:..//' "$1.at")"; }

on 3 --steps 4 --algo direct >direct.out 2>>stderr
card plain --control 0 --engine c
through "3 ranks, the C model" "$(sum_of direct.out)" 3 "$(at plain)" --steps 4
[ "${1-}" != check ] || exit $bad
[ "$(told plain)" = "live 0 expired 0 malformed 0 busy 0" ] || fail "a run that has ended leaves: $(told plain)"
card core --control 0
through "3 ranks, the Verilated core" "$(sum_of direct.out)" 3 "$(at core)" --steps 4
[ "$(counter core IN_ADDED)" -gt 0 ] || fail "no counters by datagrams: $("$n" sim --counters "$(at core)")"
[ "$(counter core leases) $(counter core leases_expired) $(counter core control_malformed)" = "0 0 0" ] || fail "leases: $("$n" sim --counters "$(at core)")"
uncard core
card bad --control 0 --engine c --drop 0.05 --dup 0.05 --reorder 0.1 --seed 3
through "a bad network" "$(sum_of direct.out)" 3 "$(at bad)" --steps 4
uncard bad

kill -STOP "$(cat plain.pid)"
(sleep 3; kill -CONT "$(cat plain.pid)") &
through "a card that is silent at first" "$(sum_of direct.out)" 3 "$(at plain)" --steps 4 --card-deadline 60
uncard plain
on 1 --steps 1 --offload "$(at plain)" >out 2>err || fail "a card that is gone: exit $?"
grep -q "cannot reach card $(at plain)" err || fail "a card that is gone: $(cat err)"

card shared --control 0 --engine c
on 2 --steps 30 --algo direct >direct.out 2>>stderr
on 2 --steps 1000000 --offload "$(at shared)" --seed 8 --log "$dir/log.victim" >/dev/null 2>&1 &
victim=$!
while kill -0 $victim 2>/dev/null && ! grep -qs '"kind":"step"' log.victim; do sleep 0.05; done
on 2 --steps 30 --offload "$(at shared)" --log "$dir/log.goes-on" >out 2>err &
goes_on=$!
while kill -0 $goes_on 2>/dev/null && ! grep -qs '"kind":"step"' log.goes-on; do sleep 0.05; done
"$B/tests/test_fpga_eth" "$(sed 's/^eth:..//' shared.at)" 0.5 || fail "the stranger: exit $?"
for pid in $(pgrep -f "train .*$dir/log.victim"); do kill -KILL "$pid" 2>/dev/null || true; done
wait $goes_on || fail "the run beside them: exit $?"
cat err >>stderr
wait $victim 2>/dev/null || true
same "the run beside them" out "$(sum_of direct.out)"
[ "$(by_card log.goes-on)" = "30 of 30" ] || fail "the run beside them: $(by_card log.goes-on) steps came through the card"
for _ in $(seq 100); do
    case "$(told shared)" in "live 0 expired 1 "*) break ;; esac
    sleep 0.1
done
case "$(told shared)" in "live 0 expired 1 "*) ;; *) fail "the lease of who was killed: $(told shared)" ;; esac
on 1 --steps 1 --offload "$(at shared)" --card-slots 128 >out 2>err || fail "the next run: exit $?"
grep -q 'through 1 card (eth://.*), 128 slots each' err || fail "the slots of who was killed are not free: $(cat err)"

# --- stopped SECONDS STEPS: 1 s has no effect; after its lease the run uses MPI, then the card ---
stopped() {
    on 2 --steps "$2" --algo direct >direct.out 2>>stderr
    rm -f log
    on 2 --steps "$2" --offload "$(at shared)" --log "$dir/log" >out 2>err &
    run=$!
    while kill -0 $run 2>/dev/null && ! grep -qs '"kind":"step"' log; do sleep 0.05; done
    ranks=$(pgrep -f "train .*$dir/log" | tail -n 2)
    for pid in $ranks; do kill -STOP "$pid"; done
    sleep "$1"
    for pid in $ranks; do kill -CONT "$pid"; done
    wait $run || fail "stopped for $1 s: exit $?"
    cat err >>stderr
    same "stopped for $1 s" out "$(sum_of direct.out)"
}
if [ "${1-}" = long ]; then
    stopped 1 20
    [ "$(by_card log)" = "20 of 20" ] || fail "stopped for 1 s: $(by_card log) steps came through the card: $(cat err)"
    stopped 8 200
    grep -q 'offload abandoned: card eth://.* has received nothing from this program for 5 s' err || fail "stopped for 8 s: no word about the lease: $(cat err)"
    grep -q 'offload works again' err || fail "stopped for 8 s: the card does not come back: $(cat err)"
fi
exit $bad
