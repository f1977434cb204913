#!/bin/bash
# run.sh : runs test programs and scripts; prints each one's seconds and seconds of CPU time, the ten
# slowest, and the counts.
# usage: run.sh [--long | --check] PROGRAM|SCRIPT...
#   --long   all get the argument `long`
#   --check  scripts get the argument `check`; programs for several numbers of ranks run once
# The last line is "N passed, N failed, N skipped". Exit 0 if none failed, at least one
# passed, and every test has a verdict.
# Tests run $JOBS (4) at a time, in the given order: scripts often wait, so 4 keep two cores busy.
# A program whose source has the comment RANKS: 1 2 4 LONG: 3 8 runs under mpirun, once for each
# number before LONG (with --check the second only; with --long or RANKS=all for all). These run
# last. Output goes to $B/logs; run.sh shows the failed checks. Each test has TEST_TIMEOUT seconds
# (900; with --long 7200).
set -u
here=$(dirname "$0")
# not compared as a number: bash arithmetic would run the command in a[$(command)]
case ${JOBS-} in
*[!0-9]* | 0* | ????*) echo "run.sh: JOBS '$JOBS': must be a number of tests at once, from 1 to 999" >&2 && exit 1 ;;
esac
B=${B:-build}
mkdir -p "$B/logs" "$B/tmp"
export B
long='' mode=  # of programs; of scripts
case ${1-} in
--long) long=long mode=long && shift ;;
--check) mode=check && shift ;;
esac
limit=${TEST_TIMEOUT:-$([ -n "$long" ] && echo 7200 || echo 900)}

. "$here/../host/ranks.sh"
. "$here/lib/ranks_in.sh"
case $B in /*) ranks_in "$B/tmp" ;; *) ranks_in "$PWD/$B/tmp" ;; esac
# Containers may forbid single-copy. Killing ranks needs no delay.
export OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_odls_base_sigkill_timeout=0

# Failures as check.h, scripts, assert() and sanitizers print them.
wrong='^[^ :]+\.[ch](pp|u)?:[0-9]+: |FAIL|SURVIVED|UNSOUND|^[a-z_]+\.sh: |: Assertion |runtime error: |ERROR: [A-Za-z]*Sanitizer|^WARNING: ThreadSan'
# Errors of bash, and failures that a script forgot: it fails whatever its exit status.
broken='^FAIL [a-z0-9_]+\.sh: |^[^ ]*tests/([a-z]+/)*[a-z0-9_]+\.sh: line [0-9]+: (\[|.*(No such file|command not found|unbound variable))|^(grep|sed|awk|wc): '
asked=0 passed=0 failed=0 skipped=0
declare -A label=() since=()  # by process id
times=() failures=()

start() {
    local log=$B/logs/${1// /-}.log sight=(env CUDA_VISIBLE_DEVICES=)  # hide GPUs: equal bits hold on
    case $1 in *gpu* | *cuda*) sight=() ;; esac                        # the CPU, except in GPU tests
    asked=$((asked + 1))
    (
        "${sight[@]}" timeout -k 5 "$limit" "${@:2}"  # not exec: bash reports a crash in the log
        rc=$?
        times >"$log.times"
        exit $rc
    ) >"$log" 2>&1 </dev/null &
    label[$!]=$1 since[$!]=$SECONDS
}

excerpt() {
    if grep -qE "$wrong|$broken" "$1"; then
        grep -E -m 10 -A 2 "$wrong|$broken" "$1" | head -n 20
        echo ...
        tail -n 5 "$1"
    else
        tail -n 25 "$1"
    fi
}

ended() {
    local rc=0 verdict name=${label[$1]} took=$((SECONDS - since[$1])) cpu
    local log=$B/logs/${name// /-}.log
    wait "$1" || rc=$?
    unset "label[$1]"
    # "0m1.5s 0m0.2s" in the second line: user and system time of the test and what it waited for
    cpu=$(sed 's/[ms]/ /g' "$log.times" 2>/dev/null | awk 'NR == 2 { printf "%.0f", $1 * 60 + $2 + $3 * 60 + $4 }')
    times+=("$(printf '%4d s  %4d s of CPU  %s' "$took" "${cpu:-0}" "$name")")
    { [ "$rc" != 0 ] && [ "$rc" != 77 ]; } || ! grep -qE "$broken" "$log" || rc=1
    if [ "$rc" = 77 ]; then
        skipped=$((skipped + 1))
        printf '%-5s %-36s %s\n' skip "$name" "$(grep -m1 '^skip' "$log")"
        return
    fi
    if [ "$rc" = 0 ]; then verdict=ok passed=$((passed + 1)); else verdict=FAIL failed=$((failed + 1)); fi
    printf '%-5s %-36s %4d s %4d\n' "$verdict" "$name" "$took" "${cpu:-0}"
    grep -s '^skip' "$log" | sed "s/^/      $name: /"
    [ "$rc" = 0 ] && return
    failures+=("$log")
    [ "$rc" = 124 ] && echo "      still running after $limit s: stopped"
    excerpt "$log" 2>&1 | sed 's/^/      | /'
}

fewer() {
    local pid running
    while :; do
        running=" $(jobs -rp | tr '\n' ' ')"
        for pid in "${!label[@]}"; do
            [[ $running == *" $pid "* ]] || ended "$pid"
        done
        [ ${#label[@]} -lt "$1" ] && return
        wait -n
    done
}

# `timeout` passes the signal on to its test.
stop() {
    local pid
    for pid in "${!label[@]}"; do pkill -TERM -P "$pid"; done
    exit "$1"
}
trap 'stop 129' HUP
trap 'stop 130' INT
trap 'stop 143' TERM

several=() # tests under mpirun: number of ranks, program
for t in "$@"; do
    name=$(basename "$t")
    ranks=$(sed -n 's|.*/\* RANKS: \([0-9 LONG:]*\)\*/.*|\1|p' "$here"/*/"$name.c" 2>/dev/null)
    if [ -n "$long" ] || [ "${RANKS-}" = all ]; then ranks=${ranks/LONG:/}; else ranks=${ranks%LONG:*}; fi
    if [ "$mode" = check ]; then # the second, if there are several
        read -r first second _ <<<"$ranks" || true
        ranks=${second:-$first}
    fi
    if [ -n "$ranks" ]; then
        for p in $ranks; do several+=("$p" "$t"); done
        continue
    fi
    fewer "${JOBS:-4}"
    case $t in
    *.sh) start "$name" bash "$t" $mode ;;
    *) start "$name" "$t" $long ;;
    esac
done
for ((i = 0; i < ${#several[@]}; i += 2)); do
    p=${several[i]} t=${several[i + 1]}
    fewer "${JOBS:-4}"
    start "$(basename "$t") $p ranks" env ASAN_OPTIONS="${ASAN_OPTIONS-}:detect_leaks=0" mpirun -np "$p" "$t" $long  # MPI's own leaks
done
fewer 1

if [ $asked -ge 10 ]; then
    echo "slowest:"
    printf '%s\n' "${times[@]}" | sort -rn | head -n 10
fi
for log in "${failures[@]}"; do # again, at the end of a long output
    echo "failed: $log"
    { grep -E -m 3 "$wrong|$broken" "$log" || tail -n 5 "$log"; } | cut -c 1-400 | sed 's/^/      | /'
done
if [ $asked -ne $((passed + failed + skipped)) ]; then
    echo "$asked tests were asked for, $((passed + failed + skipped)) have ended"
    failed=$((asked - passed - skipped))
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
