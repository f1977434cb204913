#!/bin/bash
# median.sh : runs a bench several times and prints each row's medians and the range of its ratio.
# usage: bench/median.sh RUNS COMMAND...
# COMMAND prints JSON rows with a ratio: bench_cast, bench_native, bench_allreduce --json. Each run
# places buffers, ranks and cards anew.
set -eu
. "$(dirname "$0")/usage.sh"
. bench/json.sh
cd "$OLDPWD"
[ $# -ge 2 ] || { echo 'usage: median.sh RUNS COMMAND...' >&2; exit 2; }
runs=$1
whole RUNS "$runs" 'a number of runs'
shift
rows=$(mktemp)
trap 'rm -f "$rows"' EXIT
for _ in $(seq "$runs"); do
    "$@" >>"$rows"
done
# Rows differ in name or, without one, in label, algorithm, type, size or layer. All of MPI's algorithms are named MPI.
awk "$json"'
    value("ratio") == "" { next }
    value("wrong") + 0 > 0 { print "wrong sums: " $0; wrong = 1 }
    {
        algo = value("algo"); sub(/^mpi:.*/, "MPI", algo)
        key = algo == "" ? value("name") : value("label") " " algo " " value("type") " " value("size") (value("layer") == "" ? "" : " " value("layer"))
        sub(/^ /, "", key)
        if (!(key in n)) order[++n_rows] = key
        n[key]++
        all[key, "ratio"] = all[key, "ratio"] " " value("ratio")
        all[key, "memcpy"] = all[key, "memcpy"] " " value("ratio_memcpy")
        speed = value("gbs") != "" ? value("gbs") : value("ms") != "" ? value("ms") : value("time_us") / 1000
        unit[key] = value("gbs") != "" ? "GB/s" : "ms"
        all[key, "speed"] = all[key, "speed"] " " speed
    }
    END {
        if (!n_rows) print "no row with a ratio"
        if (!n_rows || wrong) exit 1
        printf "%-36s %13s %8s   %-18s %5s\n", "", "median", "ratio", "lowest .. highest", "runs"
        for (i = 1; i <= n_rows; i++) {
            key = order[i]
            printf "%-36s %8.2f %-4s", key, median(all[key, "speed"]), unit[key]
            ratio = median(all[key, "ratio"])
            printf " %8.2f   %7.2f .. %-7.2f %5d", ratio, low, high, n[key]
            if (all[key, "memcpy"] ~ /[0-9]/) printf "   to memcpy %.2f", median(all[key, "memcpy"])
            printf "\n"
        }
    }' "$rows"
