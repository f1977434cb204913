#!/bin/bash
# median.sh : runs a bench several times and prints each row's medians and the range of its ratio.
# usage: bench/median.sh RUNS COMMAND...
# COMMAND prints JSON rows with a ratio: bench_cast, bench_native, bench_allreduce --json. Each run
# places buffers, ranks and cards anew.
set -eu
. "$(dirname "$0")/usage.sh"
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
# Text fields and size name a row. All of MPI's algorithms are named MPI.
awk '
    function field(name) {
        if (!match($0, "\"" name "\":[^,\"}]*")) return ""
        at = length(name) + 3
        return substr($0, RSTART + at, RLENGTH - at)
    }
    function text(name) {
        if (!match($0, "\"" name "\":\"[^\"]*")) return ""
        return substr($0, RSTART + length(name) + 4, RLENGTH - length(name) - 4)
    }
    function middle(key, name,    n, i, k, x, t) {
        n = split(all[key, name], x, " ")
        for (i = 2; i <= n; i++) for (k = i; k > 1 && x[k] + 0 < x[k - 1] + 0; k--) { t = x[k]; x[k] = x[k - 1]; x[k - 1] = t }
        low = x[1]; high = x[n]
        return n % 2 ? x[(n + 1) / 2] : (x[n / 2] + x[n / 2 + 1]) / 2
    }
    field("ratio") == "" { next }
    field("wrong") + 0 > 0 { print "wrong sums: " $0; wrong = 1 }
    {
        algo = text("algo"); sub(/^mpi:.*/, "MPI", algo)
        key = algo == "" ? text("name") : text("label") " " algo " " text("type") " " field("size")
        sub(/^ /, "", key)
        if (!(key in n)) order[++n_rows] = key
        n[key]++
        all[key, "ratio"] = all[key, "ratio"] " " field("ratio")
        all[key, "memcpy"] = all[key, "memcpy"] " " field("ratio_memcpy")
        speed = field("gbs") != "" ? field("gbs") : field("ms") != "" ? field("ms") : field("time_us") / 1000
        unit[key] = field("gbs") != "" ? "GB/s" : "ms"
        all[key, "speed"] = all[key, "speed"] " " speed
    }
    END {
        if (!n_rows) print "no row with a ratio"
        if (!n_rows || wrong) exit 1
        printf "%-36s %13s %8s   %-18s %5s\n", "", "median", "ratio", "lowest .. highest", "runs"
        for (i = 1; i <= n_rows; i++) {
            key = order[i]
            printf "%-36s %8.2f %-4s", key, middle(key, "speed"), unit[key]
            ratio = middle(key, "ratio")
            printf " %8.2f   %7.2f .. %-7.2f %5d", ratio, low, high, n[key]
            if (all[key, "memcpy"] ~ /[0-9]/) printf "   to memcpy %.2f", middle(key, "memcpy")
            printf "\n"
        }
    }' "$rows"
