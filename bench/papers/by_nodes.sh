#!/bin/bash
# by_nodes.sh : measures the fp8 paper's Fig. 3 to 6, 13 and 14 (README.md) on nodes with 1 Gbit/s
# (netlab.sh).
# usage: bench/papers/papers.sh [--table] oyama3|oyama4|oyama5|oyama13
#   oyama3   MPI's all-reduce of 1 Ki to 16 Mi elements on 4 nodes, and `direct`
#   oyama4   the same of 64 Mi elements on 2, 4 and 8 nodes; a rank takes 2.5 GB
#   oyama5   a step of CaffeNet and GoogLeNet on 1, 2, 4 and 8 nodes (Fig. 5 and 6)
#   oyama13  GoogLeNet of half the width in fp32 and relgrad on 4 nodes: accuracy by time (Fig. 13),
#            time to an accuracy (Fig. 14); needs $NARROWCAST_DATA/cifar10
# Environment: RUNS of oyama3 and oyama4 [3]. Rows of bench_allreduce go to $TABLES/oyama3.jsonl or
# oyama4.jsonl, those of tradeoff.sh to oyama5-NODES.tsv (bench/data), logs without steps to
# oyama13-CODEC.jsonl. Finished ones are not measured again; --table prints medians over the runs,
# the steps of oyama5 and the times of oyama13, and draws its chart in $B instead of $TABLES.
set -euo pipefail
. "$(dirname "$0")/../usage.sh"
. bench/json.sh
export B
only=''
[ "${1-}" != --table ] || { only=1 && shift; }
figure=${1-} runs=${RUNS:-3} tables=${TABLES:-bench/data}
whole RUNS "$runs" 'a number of runs'
rows=$tables/$figure.jsonl

# in_lab NODES PROGRAM ARGUMENT...: run a program of $B with a rank on each node
in_lab() {
    local rc=0 lab=(bench/netlab.sh -n "$1" -r 1gbit --)
    [ -z "${NETLAB_MPI-}" ] || lab=() # in one already
    # mpirun's warning of a setpgid is harmless
    # shellcheck disable=SC2016  # the variables are of netlab.sh and the inner shell
    "${lab[@]}" bash -c 'n=$1 program=$2; shift 2; mpirun $NETLAB_MPI -np "$n" "$B/$program" "$@" 2> >(grep -v setpgid >&2)' ranks "$@" || rc=$?
    [ $rc != 77 ] || exit 77
    return $rc
}

# reduce NODES FORMAT SUM OPTION...: measure until there are $runs runs
reduce() {
    local seen
    while seen=$(grep -c "\"label\":\"$1 nodes\",.*\"algo\":\"done\",\"type\":\"$2\"" "$rows" || true) && [ "$seen" -lt "$runs" ]; do
        echo "by_nodes.sh: $figure, $1 nodes, $2, run $((seen + 1)) of $runs" >&2
        in_lab "$1" bench_allreduce --json --label "$1 nodes" --algo native,direct --format "$2" --scale none --sum "$3" "${@:4}" >"$rows.new" ||
            refuse "$1 nodes, $2: bench_allreduce ended with $?"
        grep '"kind":"allreduce"' "$rows.new" >"$rows.run" || refuse "$1 nodes, $2: bench_allreduce printed no row"
        echo "{\"label\":\"$1 nodes\",\"algo\":\"done\",\"type\":\"$2\"}" >>"$rows.run"
        cat "$rows" "$rows.run" >"$rows.new"
        mv "$rows.new" "$rows" # a whole run or nothing
        rm "$rows.run"
    done
}

# steps: print a row for each network, number of nodes and codec
steps() {
    local network n
    echo '| network | nodes | codec | images/s | to the best fp32 there | MB a step and rank | computing, ms | casting, ms | travelling, ms |'
    echo '|---|---|---|---|---|---|---|---|---|'
    for network in caffenet googlenet; do
        for n in 1 2 4 8; do
            [ ! -s "$tables/oyama5-$n.tsv" ] || awk -F '\t' -v network=$network -v n=$n '
                $1 == network && NF == 7 { row[++m] = $0; if ($2 ~ /^fp32/ && $3 > best) best = $3 }
                END { for (i = 1; i <= m; i++) { split(row[i], f, "\t"); ms = 64000 / f[3]
                          printf "| %s | %d | %s | %.1f | %s | %.1f | %.0f | %.0f | %.0f |\n", network, n, f[2], f[3],
                              best ? sprintf("%.2f", f[3] / best) : "", f[4] / 1e6, ms - 1000 * (f[6] + f[7]), 1000 * f[7], 1000 * f[6] } }' "$tables/oyama5-$n.tsv"
        done
    done
}

# curve CODEC OPTION...: train until the log is there
curve() {
    local log=$tables/oyama13-$1.jsonl
    [ ! -s "$log" ] || return 0
    echo "by_nodes.sh: oyama13, $1" >&2
    in_lab 4 narrowcast train --data "cifar10:$NARROWCAST_DATA/cifar10" --image 64 --model googlenet --width 0.5 --batch 64 --train-samples 10000 \
        --epochs 10 --lr 0.02 --momentum 0.9 --weight-decay 2e-4 --schedule poly:0.5 --augment crop+flip \
        --log "$log.new" "${@:2}" >/dev/null || refuse "$1: train ended with $?"
    grep -v '"kind":"step"' "$log.new" | sed 's|"cifar10:[^"]*"|"cifar10:DIR/cifar10"|' >"$log.run"
    mv "$log.run" "$log"
    rm "$log.new"
}

# reached: print the seconds until the first test that reached an accuracy, interpolated between tests
reached() {
    echo '| test accuracy, % | fp32, s | relgrad, s | ratio |'
    echo '|---|---|---|---|'
    cat "$tables"/oyama13-{fp32,relgrad}.jsonl | awk "$json"'
        /"kind":"run"/ { run++; acc = 10; s = 0 }
        /"kind":"epoch"/ {
            for (goal = 20; goal <= 60; goal += 5)
                if (!((run, goal) in reached) && 100 * value("test_accuracy") >= goal)
                    reached[run, goal] = s + (value("train_s") - s) * (goal - acc) / (100 * value("test_accuracy") - acc)
            acc = 100 * value("test_accuracy"); s = value("train_s")
        }
        END { for (goal = 20; goal <= 60; goal += 5) if (((1, goal) in reached) && ((2, goal) in reached))
                  printf "| %d | %.0f | %.0f | %.2f |\n", goal, reached[1, goal], reached[2, goal], reached[1, goal] / reached[2, goal] }'
    command -v gnuplot >/dev/null || return 0
    local to=$tables
    [ -z "$only" ] || to=$B
    "$B/narrowcast" plot accuracy-time "$tables"/oyama13-{fp32,relgrad}.jsonl --out "$to/fig13.svg"
}

case $figure in
oyama[345] | oyama13) ;;
*) refuse "'$figure': must be oyama3, oyama4, oyama5 or oyama13" ;;
esac
[ "$figure" != oyama13 ] || [ "$only" ] || need_data 'cifar10/'
if [ -z "$only" ]; then
    mkdir -p "$tables" "$B/papers"
    exec {lock}>>"$B/papers/by_nodes.lock"
    flock "$lock"
fi
case $figure in
oyama3 | oyama4)
    if [ ! "$only" ]; then
        touch "$rows"
        for cast in 'fp16 nearest' 'e5m2 trunc'; do
            # shellcheck disable=SC2086  # two words
            if [ "$figure" = oyama3 ]; then
                reduce 4 $cast --sizes 4k:64M --reps 5 --warmup 1
            else
                for n in 2 4 8; do reduce "$n" $cast --sizes 256M --reps 1 --warmup 1 --mpi ring; done
            fi
        done
    fi
    [ ! -s "$rows" ] || bench/median.sh 1 cat "$rows"
    ;;
oyama5)
    [ "$only" ] || for n in 1 2 4 8; do
        NODES=$n STEPS=6 BATCH=64 RATE=1gbit TABLE=$tables/oyama5-$n.tsv bench/allreduce/tradeoff.sh 'caffenet googlenet' 'fp32 fp32,native relgrad qsgd:4' >/dev/null
        rm -f "$tables/oyama5-$n".{svg,tsv.log.jsonl,tsv.log.out}
    done
    steps
    ;;
oyama13)
    if [ ! "$only" ]; then
        curve fp32 --format fp32 --scale none
        curve relgrad --codec relgrad
    fi
    [ ! -s "$tables/oyama13-relgrad.jsonl" ] || reached
    ;;
esac
