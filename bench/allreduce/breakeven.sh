#!/bin/bash
# breakeven.sh : measures the ratio of narrow floats to MPI's fp32 all-reduce over link speeds.
# usage: bench/allreduce/breakeven.sh [SIZE [OPTION OF bench_allreduce...]]
# SIZE: fp32 bytes per rank [16M]. Environment: B, the build folder; RATES, a list of RATE:NODES;
# REPS. Writes $B/breakeven.json, a table, and $B/breakeven.svg. A card in plain C is on a
# port without limit.
set -eu
. "$(dirname "$0")/../usage.sh"
size=${1:-16M}
shift $(($# > 0))
export B=${B:-build} NODES
rates=${RATES:-100mbit:4 250mbit:4 1gbit:4 2.5gbit:4 10gbit:2 none:2 none:4}
json=$B/breakeven.json
: >"$json"

# mpirun's warning of a setpgid is harmless.
# shellcheck disable=SC2016  # the variables are netlab.sh's
at_head='
"$B/narrowcast" sim --listen 10.77.0.254:4000 --engine c >/dev/null &
trap "kill $!" EXIT
sleep 0.5
mpirun $NETLAB_MPI -np "$NODES" "$B/bench_allreduce" "$@" --offload udp://10.77.0.254:4000 2> >(grep -v setpgid >&2)'

for word in $rates; do
    rate=${word%:*} NODES=${word#*:}
    for formats in e5m2,e3m0/e3m0 e3m0/e4m3; do # two jobs of 64 slots share a card of 128
        echo "breakeven.sh: $NODES nodes, $rate, $formats" >&2
        bench/netlab.sh -n "$NODES" -r "$rate" -- bash -c "$at_head" bench --json --label "$rate, $NODES nodes" \
            --sizes "$size" --reps "${REPS:-9}" --algo direct,offload --format "$formats" --scale aps "$@" >>"$json" || exit
    done
done
echo
printf '%-18s %-24s %12s %8s\n' links 'algorithm and format' 'ms' 'ratio'
sed -n 's/.*"label":"\([^"]*\)","algo":"\([^"]*\)","type":"\([^"]*\)".*"time_us":\([0-9.e+-]*\),.*"ratio":\([0-9.e+-]*\),.*/\1|\2 \3|\4|\5/p' \
    "$json" | awk -F'|' '{ printf "%-18s %-24s %12.2f %8.2f\n", $1, $2, $3 / 1000, $4 }'
if [ -n "$(command -v gnuplot)" ]; then
    FILE=$json gnuplot -d bench/allreduce/breakeven.gp >"$B/breakeven.svg" && echo "chart $B/breakeven.svg"
else
    echo 'skip  gnuplot: not installed'
fi
