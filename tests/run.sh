#!/bin/bash
# run.sh : runs test programs and scripts, two at a time where they are single processes, and ends with one line:
#   N passed, N failed, N skipped
# usage: run.sh [--long] PROGRAM|SCRIPT...     exit 0 when none failed
# A program whose source says /* RANKS: 1 2 4 */ runs under mpirun, once for each number. Output goes to $B/logs and is shown
# when a test fails. Each test has TEST_TIMEOUT seconds (600; with --long 7200).
set -u
here=$(dirname "$0")
B=${B:-build}
mkdir -p "$B/logs" "$B/tmp"
export B TMPDIR="$PWD/$B/tmp"
case $B in /*) TMPDIR=$B/tmp ;; esac
long=
[ "${1-}" = --long ] && { long=long; shift; }
limit=${TEST_TIMEOUT:-$([ -n "$long" ] && echo 7200 || echo 600)}

# shellcheck source=host/ranks.sh
. "$here/../host/ranks.sh"
export OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_odls_base_sigkill_timeout=0 # nothing that a container may forbid; no waiting

one() {  # one LABEL COMMAND...: runs it, prints a line, keeps its log and verdict
    label=$1
    shift
    log=$B/logs/${label// /-}
    start=$SECONDS
    sight=(env CUDA_VISIBLE_DEVICES=)  # bits are promised on the CPU: --device auto stays there, but in tests of the GPU
    case $label in *gpu* | *cuda*) sight=() ;; esac
    "${sight[@]}" timeout -k 5 "$limit" "$@" >"$log.log" 2>&1 </dev/null
    rc=$?
    took=$((SECONDS - start))
    case $rc in
    0) verdict=ok ;;
    77) verdict=skip ;;
    *) verdict=FAIL ;;
    esac
    echo "$verdict" >"$log.verdict"
    if [ "$verdict" = skip ]; then
        printf '%-5s %-36s %s\n' skip "$label" "$(grep -m1 '^skip' "$log.log")"
    else
        printf '%-5s %-36s %4d s\n' "$verdict" "$label" "$took"
        grep '^skip' "$log.log" | sed "s/^/      $label: /"
    fi
    if [ "$verdict" = FAIL ]; then
        [ "$rc" = 124 ] && echo "      still running after $limit s: stopped"
        tail -n 25 "$log.log" | sed 's/^/      | /'
    fi
}

rm -f "$B"/logs/*.verdict
for t in "$@"; do
    name=$(basename "$t")
    source=$here/$name.c
    ranks=$(sed -n 's|.*/\* RANKS: \([0-9 ]*\)\*/.*|\1|p' "$source" 2>/dev/null)
    if [ -n "$ranks" ]; then
        while [ -n "$(jobs -rp)" ]; do wait -n; done
        for p in $ranks; do
            one "$name $p ranks" env ASAN_OPTIONS="${ASAN_OPTIONS-}:detect_leaks=0" mpirun -np "$p" "$t" $long  # MPI's own leaks
        done
        continue
    fi
    while [ "$(jobs -rp | wc -l)" -ge "${JOBS:-2}" ]; do wait -n; done
    case $t in
    *.sh) one "$name" bash "$t" $long & ;;
    *) one "$name" "$t" $long & ;;
    esac
done
wait

count() { cat "$B"/logs/*.verdict 2>/dev/null | grep -c "^$1$"; }
passed=$(count ok) failed=$(count FAIL) skipped=$(count skip)
[ "$failed" -gt 0 ] && grep -l FAIL "$B"/logs/*.verdict | sed 's/\.verdict$/.log/; s/^/failed: /'
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
