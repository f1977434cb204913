#!/bin/bash
# run.sh : runs test programs and scripts and ends with the ten that took longest and one line:
#   N passed, N failed, N skipped
# usage: run.sh [--long | --check] PROGRAM|SCRIPT...     exit 0 when none failed and each that was asked for has a verdict
# --long: all get the argument `long`. --check: scripts get the argument `check`.
# A program whose source says RANKS: 1 2 4 in a comment runs under mpirun, once for each number; with --check for the second. These
# run last, two at a time: mpirun waits for longer than most of them compute; all else in the order given, $JOBS (3) at a time: scripts wait more
# than they compute, so that 3 keep two cores busy. JOBS=1: never two.
# Output goes to $B/logs; when a test fails, what it found wrong is shown. Each test has TEST_TIMEOUT seconds (900; with --long 7200).
set -u
here=$(dirname "$0")
case ${JOBS-} in # not for arithmetic, in which bash would run a word such as a[$(command)]
*[!0-9]* | 0* | ????*) echo "run.sh: JOBS '$JOBS': must be a number of tests at once, from 1 to 999" >&2 && exit 1 ;;
esac
B=${B:-build}
mkdir -p "$B/logs" "$B/tmp"
export B
long='' mode=  # for programs; for scripts
case ${1-} in
--long) long=long mode=long && shift ;;
--check) mode=check && shift ;;
esac
limit=${TEST_TIMEOUT:-$([ -n "$long" ] && echo 7200 || echo 900)}

# shellcheck source=host/ranks.sh
. "$here/../host/ranks.sh"
# shellcheck source=tests/lib/ranks_in.sh
. "$here/lib/ranks_in.sh"
case $B in /*) ranks_in "$B/tmp" ;; *) ranks_in "$PWD/$B/tmp" ;; esac
export OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_odls_base_sigkill_timeout=0 # nothing that a container may forbid; no waiting

# What check.h, the scripts, assert() and the sanitizers write of what they found wrong.
wrong='^[^ :]+\.[ch](pp|u)?:[0-9]+: |FAIL|SURVIVED|UNSOUND|^[a-z_]+\.sh: |: Assertion |runtime error: |ERROR: [A-Za-z]*Sanitizer|^WARNING: ThreadSan'
# What a script's own lines say when they do not do what they were written for: such a script proves nothing, whatever it ends with.
broken='^[^ ]*tests/([a-z]+/)*[a-z0-9_]+\.sh: line [0-9]+: (\[|.*(No such file|command not found|unbound variable))|^(grep|sed|awk|wc): '
asked=0 passed=0 failed=0 skipped=0
declare -A label=() since=()  # of a process that runs
times=() failures=()

# start LABEL COMMAND...: in the background
start() {
    local log=$B/logs/${1// /-}.log sight=(env CUDA_VISIBLE_DEVICES=)  # bits are promised on the CPU: --device auto stays there,
    case $1 in *gpu* | *cuda*) sight=() ;; esac                        # but in tests of the GPU
    asked=$((asked + 1))
    ("${sight[@]}" timeout -k 5 "$limit" "${@:2}"; exit) >"$log" 2>&1 </dev/null &  # exit: bash's word of a crash goes to the log
    label[$!]=$1 since[$!]=$SECONDS
}

# excerpt LOG: the first checks that failed, and the end
excerpt() {
    if grep -qE "$wrong|$broken" "$1"; then
        grep -E -m 10 -A 2 "$wrong|$broken" "$1" | head -n 20
        echo ...
        tail -n 5 "$1"
    else
        tail -n 25 "$1"
    fi
}

# ended PID: counts its verdict, and says it in a line
ended() {
    local rc=0 verdict name=${label[$1]} took=$((SECONDS - since[$1]))
    local log=$B/logs/${name// /-}.log
    wait "$1" || rc=$?
    unset "label[$1]"
    times+=("$(printf '%4d s  %s' "$took" "$name")")
    if [ "$rc" = 77 ]; then
        skipped=$((skipped + 1))
        printf '%-5s %-36s %s\n' skip "$name" "$(grep -m1 '^skip' "$log")"
        return
    fi
    [ "$rc" != 0 ] || ! grep -qE "$broken" "$log" || rc=1
    if [ "$rc" = 0 ]; then verdict=ok passed=$((passed + 1)); else verdict=FAIL failed=$((failed + 1)); fi
    printf '%-5s %-36s %4d s\n' "$verdict" "$name" "$took"
    grep -s '^skip' "$log" | sed "s/^/      $name: /"
    [ "$rc" = 0 ] && return
    failures+=("$log")
    [ "$rc" = 124 ] && echo "      still running after $limit s: stopped"
    excerpt "$log" 2>&1 | sed 's/^/      | /'
}

# fewer N: waits until fewer than N run
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

several=()  # words of those that run alone: ranks, program
for t in "$@"; do
    name=$(basename "$t")
    ranks=$(sed -n 's|.*/\* RANKS: \([0-9 ]*\)\*/.*|\1|p' "$here"/*/"$name.c" 2>/dev/null)
    [ "$mode" != check ] || ranks=$(echo "$ranks" | cut -d ' ' -f 2)
    if [ -n "$ranks" ]; then
        for p in $ranks; do several+=("$p" "$t"); done
        continue
    fi
    fewer "${JOBS:-3}"
    case $t in
    *.sh) start "$name" bash "$t" $mode ;;
    *) start "$name" "$t" $long ;;
    esac
done
for ((i = 0; i < ${#several[@]}; i += 2)); do
    p=${several[i]} t=${several[i + 1]}
    fewer $((${JOBS:-3} > 1 ? 2 : 1))
    start "$(basename "$t") $p ranks" env ASAN_OPTIONS="${ASAN_OPTIONS-}:detect_leaks=0" mpirun -np "$p" "$t" $long  # MPI's own leaks
done
fewer 1

if [ $asked -ge 10 ]; then
    echo "slowest:"
    printf '%s\n' "${times[@]}" | sort -rn | head -n 10
fi
[ ${#failures[@]} -eq 0 ] || printf 'failed: %s\n' "${failures[@]}"
if [ $asked -ne $((passed + failed + skipped)) ]; then
    echo "$asked tests were asked for, $((passed + failed + skipped)) have ended"
    failed=$((asked - passed - skipped))
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
