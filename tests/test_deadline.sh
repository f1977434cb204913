#!/bin/bash
# test_deadline.sh : a rank that never answers: the others end within seconds, with one line that names it.
set -u
B=${B:-build}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
bad=0
ends() {  # ends HOW LINE: 4 ranks, some silent
    start=$SECONDS
    timeout -k 2 40 mpirun -np 4 "$B/tests/test_comm_mpi" silent "$1" >"$log" 2>&1 </dev/null
    rc=$?
    took=$((SECONDS - start))
    said=$(grep '^narrowcast:' "$log")
    if [ "$rc" = 0 ] || [ "$rc" = 124 ] || [ "$took" -gt 20 ] || [ "$said" != "narrowcast: $2" ]; then
        echo "silent $1: exit $rc after $took s, said \"$said\" instead of \"$2\""
        tail -n 20 "$log"
        bad=1
    fi
}
ends barrier 'rank 3 of 4 did not answer for 1.5 s'
ends ring 'rank 3 of 4 did not answer for 1.5 s'
ends held 'rank 3 of 4 did not answer for 1.5 s'
ends two 'ranks 2, 3 of 4 did not answer for 1.5 s'
ends mismatch 'waited 1.5 s for each other though all 4 ranks answer: '\
'they take different steps, or the deadline is too short'
exit $bad
