#!/bin/bash
# test_deadline.sh : tests the one line that ends a job after a wait beyond the deadline. It names
# the ranks that do not answer, or says that all answer. Ranks that no rank waits for may stop for
# long.
set -u
. "$(dirname "$0")/../lib/in_folder.sh"
log=$dir/log
for how in vote some; do
    timeout -k 2 100 mpirun -np 3 "$B/tests/test_comm_fail_mpi" stopped $how >"$log.$how" 2>&1 </dev/null &
    pids="${pids-} $!"
done
ends() {
    timeout -k 2 100 mpirun -np 4 "$B/tests/test_comm_fail_mpi" silent "$1" >"$log" 2>&1 </dev/null
    rc=$?
    said=$(tr -d '\0' <"$log" | grep '^narrowcast:')
    if [ "$rc" = 0 ] || [ "$rc" = 124 ] || [ "$said" != "narrowcast: $2" ]; then
        fail "silent $1: exit $rc, said \"$said\" instead of \"$2\": $(tail -n 20 "$log")"
    fi
}
ends barrier 'rank 3 of 4 did not answer for 1.5 s'
ends machines 'rank 3 of 4 did not answer for 1.5 s'
ends ring 'rank 3 of 4 did not answer for 1.5 s'
ends held 'rank 3 of 4 did not answer for 1.5 s'
ends two 'ranks 2, 3 of 4 did not answer for 1.5 s'
ends mismatch 'waited 1.5 s for each other although all 4 ranks answer: '\
'they run different steps, or the deadline is too short'
for pid in $pids; do
    wait "$pid" || fail "a job whose ranks were stopped ends with $?: $(tail -n 20 "$log".*)"
done
exit $bad
