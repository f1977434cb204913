#!/bin/bash
# breakeven.sh : where narrow floats pay: the ratio to MPI's fp32 all-reduce over the speed of the links, by netlab.sh.
# usage: bench/breakeven.sh [SIZE [OPTION OF bench_allreduce...]]      SIZE: fp32 bytes a rank [16M]
# environment: B, the build folder; RATES, words of RATE:NODES. Writes $B/breakeven.json, a table, and $B/breakeven.svg.
# A machine of few cores carries all nodes' packets, so 10 Gbit/s are honest for 2 nodes only.
set -eu
cd "$(dirname "$0")/.."
size=${1:-16M}
shift $(($# > 0))
B=${B:-build}
rates=${RATES:-100mbit:4 250mbit:4 1gbit:4 2.5gbit:4 10gbit:2 none:2 none:4}
[ $# -gt 0 ] || set -- --algo direct --format e5m2,e3m0/e4m3,e3m0/e3m0 --scale aps
json=$B/breakeven.json
: >"$json"
for word in $rates; do
    rate=${word%:*} nodes=${word#*:}
    echo "breakeven.sh: $nodes nodes, $rate" >&2
    # MPI's launcher warns of what its stand-in for ssh may not do; nothing depends on it.
    # shellcheck disable=SC2016  # the variables are netlab.sh's
    bench/netlab.sh -n "$nodes" -r "$rate" -- bash -c 'mpirun $NETLAB_MPI -np "$0" "$@"' "$nodes" \
        "$B/bench_allreduce" --json --label "$rate, $nodes nodes" --sizes "$size" --reps "${REPS:-9}" "$@" \
        2> >(grep -v setpgid >&2) >>"$json" || exit
done
echo
printf '%-18s %-24s %12s %8s\n' links 'algorithm and format' 'ms' 'ratio'
sed -n 's/.*"label":"\([^"]*\)","algo":"\([^"]*\)","type":"\([^"]*\)".*"time_us":\([0-9.e+-]*\),.*"ratio":\([0-9.e+-]*\),.*/\1|\2 \3|\4|\5/p' \
    "$json" | awk -F'|' '{ printf "%-18s %-24s %12.2f %8.2f\n", $1, $2, $3 / 1000, $4 }'
if [ -n "$(command -v gnuplot)" ]; then
    gnuplot -e "json='$json'; chart='$B/breakeven.svg'" bench/breakeven.gp && echo "chart $B/breakeven.svg"
else
    echo 'skip  gnuplot: not installed'
fi
