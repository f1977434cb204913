#!/bin/bash
# predict_check.sh : compares `narrowcast predict` with measured all-reduces outside its input.
# usage: bench/allreduce/predict_check.sh [--table]
# --table uses existing measurements. Exits 1 if the model is off by more than 20 %.
#
# Input of the model ($B/predict_rates.json):
#   casts and sums   bench_cast, one run per node
#   latency          all-reduces of 1 KiB without link limit, also through a card
#   CPU time         direct and ring, 0.5, 1.5, 4.5, 13.5, 40.5, 121.5 MiB, without link limit;
#                    the part that links do not hide: the same at 500 Mbit/s and 5 Gbit/s
#   card             the same without link limit and at 5 Gbit/s, through a card in plain C on a
#                    port without limit
# Checked points ($B/predict_points.json): LINKS x direct, ring, offload
# x SIZES x FORMATS. With several ranks on each node, group-scatter takes the place of ring.
#
# Medians of RUNS runs in turn, short ones of three times as many.
# Environment: B; LINKS [1gbit 2.5gbit]; RUNS [3]; NODES [4]; NEAR [1], ranks of a node;
#   SIZES [1M 8M 64M]; FORMATS [e5m2,e3m0/e3m0]; CAST, options of bench_cast.
set -euo pipefail
. "$(dirname "$0")/../usage.sh"
. bench/json.sh
export B=${B:-build} NODES=${NODES:-4} RUNS=${RUNS:-3} NEAR=${NEAR:-1}
rates=$B/predict_rates.json points=$B/predict_points.json asked=$B/predict_asked.json
links=${LINKS:-1gbit 2.5gbit}
sizes=${SIZES:-1M 8M 64M} formats=${FORMATS:-e5m2,e3m0/e3m0}
whole NODES "$NODES" 'a number of nodes'
whole NEAR "$NEAR" 'a number of ranks'
whole RUNS "$RUNS" 'a number of runs'
hosts=direct,ring
[ "$NEAR" = 1 ] || hosts=direct,group-scatter:$NEAR
export N_RANKS=$((NODES * NEAR))

# mpirun's warning of a setpgid is harmless.
# shellcheck disable=SC2016  # the variables are netlab.sh's
at_head='
"$B/narrowcast" sim --listen 10.77.0.254:4000 --engine c >/dev/null &
trap "kill $!" EXIT
sleep 0.5
mpirun $NETLAB_MPI --oversubscribe --map-by "ppr:$NEAR:node" --rank-by slot -np "$N_RANKS" "$B/bench_allreduce" "$@" 2> >(grep -v setpgid >&2)'

# on LINK OPTION...: print the rows of the algorithms, without MPI's
on() {
    echo "predict_check.sh: $1: ${*:2}" >&2
    bench/netlab.sh -n "$NODES" -r "$1" -- bash -c "$at_head" bench --json --label "$1" --mpi ring --format "$formats" --scale aps \
        --warmup 1 --rest-ms 5 --offload udp://10.77.0.254:4000 "${@:2}" >"$B/predict_check.rows" || exit
    grep '"kind":"allreduce"' "$B/predict_check.rows" | grep -v '"algo":"mpi:' || true
}

# round REPS TOLD ASKED...: add rows of both ranges
round() {
    local told=(--reps "$1" --factor 3 --sizes "$2") link size
    {
        on none --algo "$hosts,offload" "${told[@]}"
        on 500mbit --algo "$hosts" "${told[@]}"
        on 5gbit --algo "$hosts,offload" "${told[@]}"
    } >>"$rates.new"
    for link in $links; do
        for size in "${@:3}"; do on "$link" --algo "$hosts,offload" --reps "$1" --sizes "$size"; done
    done >>"$points.new"
}
# of_sizes CONDITION: the sizes in MiB for which it holds
of_sizes() { tr ' ' '\n' <<<"$sizes" | awk "{ m = \$1 * (/k\$/ ? 2^-10 : /G\$/ ? 2^10 : /M\$/ ? 1 : 2^-20) } $1"; }

measure() {
    local i casts=()
    rm -f "$B"/predict_cast.*
    for i in $(seq "$NODES"); do
        # shellcheck disable=SC2086
        "$B/bench_cast" --json ${CAST:---mib 64 --reps 5} >"$B/predict_cast.$i" &
        casts+=($!)
    done
    for i in "${casts[@]}"; do wait "$i"; done
    cat "$B"/predict_cast.* >"$rates.new"
    rm -f "$B"/predict_cast.*
    : >"$points.new"
    for i in $(seq "$RUNS"); do
        # shellcheck disable=SC2046 # words
        round 3 13824k:122M $(of_sizes 'm > 8')
        for _ in 1 2 3; do
            on none --algo "$hosts,offload" --reps 5 --sizes 1k >>"$rates.new"
            # shellcheck disable=SC2046 # words
            round 5 512k:5M $(of_sizes 'm <= 8')
        done
    done
    rm -f "$B/predict_check.rows"
    mv "$rates.new" "$rates"
    mv "$points.new" "$points"
}

# ask: run the model on every measured point
ask() {
    local cores burst words=() link
    cores=$(nproc)
    # netlab.sh's ports are token buckets
    burst=$(sed -n 's/^nodes=.* burst=\([0-9]*k\)b .*/\1/p' bench/netlab.sh)
    words=(--burst "$burst" --ranks "$N_RANKS" --ranks-per-machine "$NEAR" --algo "$hosts,offload" --format "$formats" --scale aps --rates "$rates" --card-link none --card-rate measured
        --ranks-per-core "$(awk -v p="$N_RANKS" -v c="$cores" 'BEGIN { print (p > c ? p / c : 1) }')")
    "$B/narrowcast" predict "${words[@]}" --size 1M --link 1G | sed -n '1,/^$/p'
    sed -n 's/.*"label":"\([0-9.]*\)\([mg]\)bit".*"size":\([0-9]*\),.*/\1 \2 \3/p' "$points" | sort -u | while read -r number unit size; do
        link=$number$(tr mg MG <<<"$unit")
        "$B/narrowcast" predict --json "${words[@]}" --size "$size" --link "$link" | sed "s/^{/{\"label\":\"$number${unit}bit\",/"
    done >"$asked"
}

table() {
    awk "$json"'
        /"kind":"predict"/ { predicted[value("label") " " value("algo") " " value("type") " " value("layers")] = 1000 * value("step_s"); next }
        /"kind":"allreduce"/ {
            key = value("label") " " value("algo") " " value("type") " " value("size")
            if (!(key in predicted)) { print "predict_check.sh: the model says nothing of " key; bad = 1; next }
            if (value("wrong") + 0) { print "predict_check.sh: wrong sums: " key; bad = 1 }
            if (!(key in runs)) {
                order[++n] = key
                row[key] = sprintf("| %s | %s | %s | %g MiB", value("label"), value("algo"), value("type"), value("size") / 1048576)
            }
            runs[key] = runs[key] " " value("time_us")
        }
        END {
            if (!n) { print "predict_check.sh: nothing was measured"; exit 1 }
            printf "| a port | algorithm | format | fp32 a rank | measured, ms | predicted, ms | predicted / measured |\n|---|---|---|---|---|---|---|\n"
            for (i = 1; i <= n; i++) {
                of = median(runs[order[i]]) / 1000; ratio = predicted[order[i]] / of
                off = ratio < 0.8 || ratio > 1.2
                printf "%s | %.2f | %.2f | %.2f%s |\n", row[order[i]], of, predicted[order[i]], ratio, off ? " off" : ""
                n_off += off
            }
            printf "\n%d of %d points within 20 %%\n", n - n_off, n
            exit bad || n_off
        }' "$asked" "$points"
}

case ${1-} in
'') measure ;;
--table) [ -s "$points" ] || { echo "predict_check.sh: no $points: run it without --table first" >&2; exit 1; } ;;
*) sed -n 's/^# usage: /usage: /p' "$0" >&2; exit 2 ;;
esac
ask
table
