#!/bin/bash
# test_run.sh : tests run.sh: every test gets a verdict, and a failure shows the failed check.
set -u
cd "$(dirname "$0")/../.." || exit 1
dir=$(mktemp -d)
trap 'umount "$dir/full" 2>/dev/null; rm -rf "$dir"' EXIT
bad=0
fail() { echo "test_run.sh: $*: $(cat "$dir/said")"; bad=1; }
plant() { printf '#!/bin/bash\n%s\n' "$2" >"$dir/$1" && chmod +x "$dir/$1"; }
plant good.sh 'true'
plant bad.sh 'false'
plant none.sh 'echo "skip: nothing here"; exit 77'
plant crash.sh 'kill -SEGV $$'
plant chatty 'echo "tests/x.c:7: a == b: 3 apples" >&2; seq -f "good run %.0f" 200; exit 1'
plant forgets.sh 'echo "FAIL forgets.sh: 3 apples" >&2; true'
plant forgets_skip.sh 'echo "FAIL forgets_skip.sh: 4 apples" >&2; echo "skip: the rest"; exit 77'
plant slow.sh 'sleep 60'
plant stopped.sh 'sleep 61'
mkdir "$dir/tests"
# shellcheck disable=SC2016  # it is the script's to expand
plant tests/amiss.sh '[ "$(cat /none 2>/dev/null)" -ne 5 ] && exit 1; true' # bash prints an error, but the script exits 0

# says STATUS LAST PROGRAM...: the runner ends with STATUS and the line LAST
says() {
    local status=$1 last=$2 rc=0
    shift 2
    B=${B_OF_RUN-$dir/build} JOBS=2 tests/run.sh "$@" >"$dir/said" 2>&1 || rc=$?
    [ $rc = "$status" ] || fail "$*: exit $rc, not $status"
    [ "$(tail -n 1 "$dir/said")" = "$last" ] || fail "$*: the last line is not '$last'"
}
says 0 '1 passed, 0 failed, 0 skipped' "$dir/good.sh"
says 1 '0 passed, 0 failed, 1 skipped' "$dir/none.sh"
says 1 '1 passed, 3 failed, 1 skipped' "$dir"/{bad,good,crash,none}.sh "$dir/chatty"
grep -q '| tests/x.c:7: a == b: 3 apples$' "$dir/said" || fail 'the check that failed is not shown'
[ "$(grep -c 'good run' "$dir/said")" -le 7 ] || fail 'good runs are shown for a check that failed'
grep -q '^skip  none.sh  *skip: nothing here$' "$dir/said" || fail 'no reason for what was left out'
[ "$(grep -c '^failed: ' "$dir/said")" -eq 3 ] || fail 'failures are not listed at the end'
says 1 '0 passed, 1 failed, 0 skipped' "$dir/tests/amiss.sh"
grep -q '| .*amiss.sh: line 2: ' "$dir/said" || fail 'a script that counts nothing is not shown'
says 1 '0 passed, 1 failed, 0 skipped' "$dir/forgets.sh"
grep -q '| FAIL forgets.sh: 3 apples$' "$dir/said" || fail 'a failure that a script forgot is not shown'
says 1 '0 passed, 1 failed, 0 skipped' "$dir/forgets_skip.sh"
B=$dir/build setsid tests/run.sh "$dir/stopped.sh" >"$dir/said" 2>&1 &
until pgrep -fx 'sleep 61' >/dev/null; do sleep 0.1; done
kill -TERM $!
wait $!
for ((i = 0; i < 50; i++)); do pgrep -fx 'sleep 61' >/dev/null || break; sleep 0.1; done
[ $i -lt 50 ] || fail 'a test goes on after run.sh was stopped'
TEST_TIMEOUT=1 says 1 '0 passed, 1 failed, 0 skipped' "$dir/slow.sh"
grep -q 'still running after 1 s' "$dir/said" || fail 'does not say why it stopped a test'
# --- numbers of ranks: test_nc_shard_mpi.c has 1 2 4 LONG: 3 5 ---
plant test_nc_shard_mpi true
plant mpirun 'shift 2; exec "$@"'
PATH=$dir:$PATH says 0 '3 passed, 0 failed, 0 skipped' "$dir/test_nc_shard_mpi"
PATH=$dir:$PATH says 0 '5 passed, 0 failed, 0 skipped' --long "$dir/test_nc_shard_mpi"
RANKS=all PATH=$dir:$PATH says 0 '5 passed, 0 failed, 0 skipped' "$dir/test_nc_shard_mpi"
PATH=$dir:$PATH says 0 '1 passed, 0 failed, 0 skipped' --check "$dir/test_nc_shard_mpi"
grep -q '^ok .*test_nc_shard_mpi 2 ranks ' "$dir/said" || fail '--check does not take the second number of ranks'
# --- values of JOBS that bash would evaluate ---
export dir
# shellcheck disable=SC2016  # it is bash's to expand, if it does
for jobs in 'a[$(touch "$dir/hit")0]' all 2x -1 0 08 1+1 1.5 ' 2' 9999999999999999999999; do
    JOBS=$jobs B=$dir/build tests/run.sh "$dir/good.sh" >"$dir/said" 2>&1 && fail "JOBS=$jobs: was taken"
    [ "$(cat "$dir/said")" = "run.sh: JOBS '$jobs': must be a number of tests at once, from 1 to 999" ] || fail "JOBS=$jobs"
    [ ! -e "$dir/hit" ] || fail "JOBS=$jobs: was run"
done
ten=$(for _ in $(seq 12); do echo "$dir/good.sh"; done)
# shellcheck disable=SC2086
says 0 '12 passed, 0 failed, 0 skipped' $ten
[ "$(sed -n '/^slowest:/,$p' "$dir/said" | grep -c ' s of CPU  good.sh$')" -eq 10 ] || fail 'not the ten slowest'

touch "$dir/file"
B_OF_RUN=$dir/file says 1 '0 passed, 2 failed, 0 skipped' "$dir/good.sh" "$dir/bad.sh"
if mkdir "$dir/full" && mount -t tmpfs -o size=64k none "$dir/full" 2>/dev/null; then
    head -c 1M /dev/zero >"$dir/full/zeros" 2>/dev/null
    B_OF_RUN=$dir/full says 1 '0 passed, 1 failed, 0 skipped' "$dir/bad.sh"
    grep -q 'cannot' "$dir/said" && fail 'more than a verdict'
else
    echo 'skip: no tmpfs may be mounted here: a full disk was not tried'
fi
exit $bad
