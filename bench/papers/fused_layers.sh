#!/bin/bash
# fused_layers.sh : measures the APS paper's Fig. 11 (README.md): three layers of ResNet-50, one by
# one and fused, on 4 nodes with 1 Gbit/s (netlab.sh).
# usage: bench/papers/fused_layers.sh [--table] fig11
# Environment: RUNS [9]; REPS [5] per run, whose median counts; NODES [4]; LINK [1gbit]. A finished
# run is 15 rows of $TABLES/fig11.tsv (bench/data): run, layers, algorithm, format, us of exponents,
# codes and casts (means over ranks) and in total (slowest rank). fig11.svg shows the medians;
# --table prints them.
set -euo pipefail
. "$(dirname "$0")/../usage.sh"
. bench/json.sh
[ -n "${TABLES-}" ] || [ -z "${LINK-}${NODES-}${REPS-}" ] ||
    refuse 'LINK, NODES and REPS make a table of their own: say where it is kept (TABLES=FOLDER)'
export B=${B:-build} NODES=${NODES:-4} REPS=${REPS:-5} LINK=${LINK:-1gbit} RUNS=${RUNS:-9}
export TABLES=${TABLES:-bench/data}
only=''
[ "${1-}" != --table ] || { only=1 && shift; }
[ "${1-}" = fig11 ] || refuse "'${1-}': must be a figure: fig11"
whole RUNS "$RUNS" 'a number of runs'
measured='' tsv=$TABLES/fig11.tsv svg=$TABLES/fig11.svg said=$B/papers/fig11.json

# mpirun's warning of a setpgid is harmless.
bench() {
    # shellcheck disable=SC2086
    mpirun $NETLAB_MPI -np "$NODES" "$B/bench_allreduce" --layers 1048576,2359296,1048576 --fused --algo ring,direct --format e5m2 \
        --reps "$REPS" --json 2> >(grep -v setpgid >&2)
}

# rows RUN: print a run's rows. Layers are named by order, because two have the same size.
rows() {
    awk -v run="$1" "$json"'
        function of(key) {
            if (!has(key)) { print "fused_layers.sh: bench_allreduce says no " key >"/dev/stderr"; bad = 1; exit 1 }
            return value(key)
        }
        index($0, "{\"kind\":\"phase\"") == 1 {
            if (of("wrong") + 0) { print "fused_layers.sh: wrong sums: " $0 >"/dev/stderr"; bad = 1; exit 1 }
            who = of("algo") " " of("type")
            what = of("layer")
            if (what ~ /^[0-9]+$/) what = substr("abc", ++n[who], 1)
            print run "\t" what "\t" of("algo") "\t" of("type") "\t" of("exponents_us") "\t" of("codes_us") "\t" of("casts_us") "\t" of("time_us")
            n_rows++
        }
        END { if (!bad && n_rows != 15) print "fused_layers.sh: " n_rows + 0 " rows, not 15" >"/dev/stderr"; exit bad || n_rows != 15 }' "$said"
}

measure() {
    local run
    mkdir -p "$B/papers" && touch "$tsv"
    for run in $(seq "$RUNS"); do
        ! grep -q "^$run	" "$tsv" || continue
        [ -n "${NETLAB_MPI-}" ] || exec bench/netlab.sh -n "$NODES" -r "$LINK" -- bash bench/papers/fused_layers.sh fig11
        echo "fused_layers.sh: run $run of $RUNS" >&2
        bench >"$said"
        rows "$run" >"$said.rows"
        cat "$tsv" "$said.rows" >"$tsv.new" && mv "$tsv.new" "$tsv" # all rows or none
        measured=1
    done
}

# medians FORM: print medians over runs as a Markdown table or "json" like bench_allreduce's
medians() {
    awk -F '\t' -v form="$1" "$json"'
        function range(text, m) { m = median(text); return sprintf("%.2f (%.2f .. %.2f)", m, low, high) }
        {
            key = $2 FS $3 FS $4
            if (!(key in n)) order[++n_keys] = key
            n[key]++
            exponents[key] = exponents[key] " " $5 / 1000; codes[key] = codes[key] " " $6 / 1000; casts[key] = casts[key] " " $7 / 1000
            time[key] = time[key] " " $8 / 1000; share[key] = share[key] " " 100 * $5 / $8
            of_run[$1, key] = $8; runs[$1] = 1
        }
        END {
            if (!n_keys) exit 1
            name["a"] = "2a"; name["b"] = "2b"; name["c"] = "2c"
            if (form != "json") {
                print "| layers | algorithm | format | exponents | codes | casts | time | exponents, % of it | fp16 / this |"
                print "|---|---|---|---|---|---|---|---|---|"
            }
            for (i = 1; i <= n_keys; i++) {
                key = order[i]; split(key, k, FS)
                what = k[1] in name ? "res5c_" name[k[1]] : k[1]
                if (form == "json") {
                    printf "{\"kind\":\"phase\",\"layer\":\"%s\",\"algo\":\"%s\",\"type\":\"%s\",\"exponents_us\":%g,", what, k[2], k[3], 1000 * median(exponents[key])
                    printf "\"codes_us\":%g,\"casts_us\":%g,\"time_us\":%g}\n", 1000 * median(codes[key]), 1000 * median(casts[key]), 1000 * median(time[key])
                    continue
                }
                ratio = ""
                for (r in runs) ratio = ratio " " of_run[r, k[1] FS "native" FS "fp16"] / of_run[r, key]
                printf "| %s | %s | %s | %.1f | %.1f | %.1f |", what, k[2], k[3], median(exponents[key]), median(codes[key]), median(casts[key])
                m = median(time[key])
                printf " %.1f (%.1f .. %.1f) | %.0f |", m, low, high, median(share[key])
                print k[3] == "fp16" ? " |" : " " range(ratio) " |"
            }
            if (form == "json") exit
            print "\n| | " n[order[1]] " runs: one by one / fused |\n|---|---|"
            for (i = 1; i <= n_keys; i++) {
                split(order[i], k, FS)
                if (k[1] != "fused") continue
                ratio = ""
                for (r in runs) ratio = ratio " " of_run[r, "one by one" FS k[2] FS k[3]] / of_run[r, order[i]]
                printf "| %s %s | %s |\n", k[2], k[3], range(ratio)
            }
        }' "$tsv"
}

draw() {
    medians json >"$said"
    "$B/narrowcast" plot phases "$said" --title "APS paper, Fig. 11: res5c's layers on $NODES nodes, $LINK" --out "$B/papers/fig11.svg" >/dev/null 2>&1 || return 0
    [ ! -s "$B/papers/fig11.svg" ] || mv "$B/papers/fig11.svg" "$svg"
}

mkdir -p "$TABLES"
if [ ! "$only" ]; then
    measure
    if [ "$measured" ] || [ ! -s "$svg" ]; then draw; fi
fi
[ ! -s "$tsv" ] || medians table
