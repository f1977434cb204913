#!/bin/bash
# test_nc_fault.sh : kills or stops a rank inside nc_wait(), or calls nc_abort() from another
# thread. The job must end. A stopped rank is named; else narrowcast prints nothing.
set -u
. "$(dirname "$0")/../../host/ranks.sh"
. "$(dirname "$0")/../lib/script.sh"
ends() {
    local start=$SECONDS rc=0
    timeout -k 2 60 mpirun -np 3 "$B/tests/test_nc_fault_mpi" "$1" >"$dir/log" 2>&1 </dev/null || rc=$?
    said=$(tr -d '\0' <"$dir/log" | grep -v 'warning' | grep '^narrowcast:')
    if [ "$rc" = 0 ] || [ "$rc" = 124 ] || [ $((SECONDS - start)) -gt 25 ] || [ "$said" != "$2" ] || grep -q 'goes on' "$dir/log"; then
        echo "FAIL $1: exit $rc after $((SECONDS - start)) s, said \"$said\" instead of \"$2\""
        tail -n 20 "$dir/log"
        bad=1
    fi
}
ends kill ''
# Open MPI 5 may wait for a stopped rank for ever.
(sleep 10; pkill -KILL -f "$B/tests/test_nc_fault_mpi stop") 2>/dev/null &
ends stop 'narrowcast: rank 2 of 3 did not answer for 1.5 s'
kill $! 2>/dev/null
ends abort ''
"$B/tests/test_nc_life" traps >"$dir/log" 2>&1 || { echo "FAIL an exit with traps: exit $?"; tail -n 20 "$dir/log"; bad=1; }
timeout -k 2 60 mpirun -np 1 "$B/tests/test_nc_life" forgets >"$dir/log" 2>&1 </dev/null
code=$?
{ [ $code -gt 0 ] && [ $code -lt 124 ]; } || fail "no nc_close(): exit $code"
[ "$(grep -c '^narrowcast: warning: this process ends without nc_close(), so the job fails$' "$dir/log")" = 1 ] || fail "no nc_close(): $(tail -n 5 "$dir/log")"

if ! command -v valgrind >/dev/null; then
    echo 'not run: valgrind (not installed)'
elif nm -D "$B/tests/test_nc_life" 2>/dev/null | grep -q __asan; then
    echo 'not run: valgrind (the program has sanitizers)'
else
    # Valgrind's list omits MPI's start and end, and the loader's memory for the library of
    # keep_loaded().
    NARROWCAST_ISA=scalar timeout 300 valgrind --leak-check=full --show-leak-kinds=definite,indirect --num-callers=40 \
        "$B/tests/test_nc_life" >"$dir/log" 2>&1 || { echo "FAIL test_nc_life under valgrind"; tail -n 20 "$dir/log"; bad=1; }
    grep -q 'ERROR SUMMARY' "$dir/log" || { echo "FAIL valgrind did not run"; bad=1; }
    wrong=$(sed 's/^==[0-9]*== *//' "$dir/log" | awk -v RS= '/lost in loss record|Invalid|ninitialised/ && /: (buf_alloc|nc_|comm_|reducer_|job_)/ &&
        !/: (ompi_mpi_(init|finalize)|keep_loaded)|MPI[DR]?_(Init|Finalize)/ { print; print "" }')
    [ -z "$wrong" ] || { echo "FAIL valgrind:"; echo "$wrong"; bad=1; }
fi
exit $bad
