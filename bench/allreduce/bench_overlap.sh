#!/bin/bash
# bench_overlap.sh : measures the share of the all-reduce that the backward pass hides, by training
# with and without overlap.
# usage: bench/allreduce/bench_overlap.sh [RANKS [OPTION OF train...]]
# Environment: B, the build folder; STEPS [40].
#   bench/allreduce/bench_overlap.sh 4 --model resnet20 --batch 64 --bucket-bytes 64k
#   bench/allreduce/bench_overlap.sh 4 --device cuda --model resnet50
# Means of rank 0 over all steps except the first five:
#   reduce   casting, sending and adding, without the wait for the slowest rank's exponents
#   hidden   share of reduce before the end of the backward pass
#   waited   from the end of the backward pass to the means
# Exit 1 if the weights with and without overlap differ; on a GPU only with NARROWCAST_CONV=first,
# since convolutions chosen by speed may round differently.
set -eu
. "$(dirname "$0")/../usage.sh"
ranks=${1:-4}
shift $(($# > 0))
whole RANKS "$ranks" 'a number of ranks'
whole STEPS "${STEPS:-40}" 'a number of steps'
[ "${STEPS:-40}" -gt 5 ] || refuse "STEPS '$STEPS': must be above 5, because the first five are left out"
# steps_of OVERLAP: print overlap, weights checksum, batch and times of each step but the first five
steps_of() {
    local log=$B/bench_overlap.$1.jsonl batch sum
    batch=$(sed -n '1s/.*"batch":\([0-9]*\).*/\1/p' "$log")
    sum=$(sed -n 's/^weights checksum //p' "$log.out")
    sed -n "/\"kind\":\"step\"/s/.*\"samples_per_s\":\([^,]*\).*\"hidden_s\":\([^,]*\),\"exposed_s\":\([^,]*\),\"waited_s\":\([^,]*\).*/$1 $sum $batch \1 \2 \3 \4/p" "$log" |
        tail -n +6
}
for overlap in off on; do
    log=$B/bench_overlap.$overlap.jsonl
    host/ranks.sh "$ranks" "$B/narrowcast" train --steps "${STEPS:-40}" --overlap $overlap "$@" --log "$log" >"$log.out" 2>"$log.err" ||
        { cat "$log.err" >&2; exit 1; }
done
equal=1
[ "${NARROWCAST_CONV-}" = first ] || ! grep -q '"used_device":"cuda"' "$log" || equal=''
{ steps_of off && steps_of on; } | awk -v equal="$equal" '
    { n[$1]++; sum[$1] = $2; step[$1] += 1e3 * $3 / $4; hidden[$1] += 1e3 * $5; exposed[$1] += 1e3 * $6; waited[$1] += 1e3 * $7 }
    function row(o) {
        printf "%-8s %10.2f %10.2f %10.1f %10.2f   %s\n", o, step[o] / n[o], (hidden[o] + exposed[o]) / n[o],
            100 * hidden[o] / (hidden[o] + exposed[o]), waited[o] / n[o], sum[o]
    }
    END {
        if (!n["off"] || !n["on"]) exit 1
        printf "%-8s %10s %10s %10s %10s   %s\n", "overlap", "step ms", "reduce ms", "hidden %", "waited ms", "weights checksum"
        row("off")
        row("on")
        printf "with / without overlap: step %.3f, waited %.3f\n", step["on"] / n["on"] / (step["off"] / n["off"]),
            waited["on"] / n["on"] / (waited["off"] / n["off"])
        exit equal && sum["on"] != sum["off"]
    }'
