#!/bin/bash
# tradeoff.sh : measures trainings on nodes with 1 Gbit/s (netlab.sh) by codec and network, as the
# 1-bit study's figures 10, 12 and 16 and the fp8 paper's 5 and 6: images/s, bytes, time by
# activity, speed-up over MB per GFLOP.
# usage: bench/allreduce/tradeoff.sh [--table] [NETWORKS [CODECS]]
# NETWORKS and CODECS are names of the lists below, such as "fp32 fp32,native". Environment: B, the
# build folder; NODES with a rank each [4]; STEPS per row [12]; BATCH [64]; RATE of a port [1gbit];
# TABLE, the file of finished rows [$B/tradeoff.tsv, or tradeoff-NODES.tsv], all of one RATE, STEPS
# and BATCH. The chart is beside it. --table prints it and draws the chart in $B.
set -eu
. "$(dirname "$0")/../usage.sh"
. bench/json.sh
steps=${STEPS:-12} batch=${BATCH:-64} nodes=${NODES:-4}
whole NODES "$nodes" 'a number of nodes'
whole STEPS "$steps" 'a number of steps'
whole BATCH "$batch" 'a number of images'
settings="RATE ${RATE:-1gbit}, STEPS $steps, BATCH $batch"
tsv=$B/tradeoff-$nodes.tsv
[ "$nodes" != 4 ] || tsv=$B/tradeoff.tsv
tsv=${TABLE:-$tsv}
only=''
[ "${1-}" != --table ] || { only=1 && shift; }
all='resnet20 resnet110 davidnet googlenet caffenet vgg19'
networks=${1:-$all}
codecs="fp32            --format fp32 --scale none
fp32,native     --format fp32 --scale none --algo native
fp16            --format fp16 --scale none
e5m2,aps        --format e5m2 --scale aps
qsgd:16         --codec qsgd:16
qsgd:8          --codec qsgd:8
qsgd:4          --codec qsgd:4
qsgd:2          --codec qsgd:2
onebit:64       --codec onebit:64
onebit:column   --codec onebit:column
ternary         --codec ternary
relgrad         --codec relgrad"
# known WHAT LIST WORD...: reject words outside the list
known() {
    for word in "${@:3}"; do
        case " $2 " in *" $word "*) ;; *) echo "tradeoff.sh: no $1 '$word': need some of $2" >&2 && exit 2 ;; esac
    done
}
names=$(while read -r name _; do printf '%s ' "$name"; done <<<"$codecs")
# shellcheck disable=SC2086
known network "$all" $networks
# shellcheck disable=SC2086
known codec "${names% }" ${2-}
pixels() { case $1 in caffenet | alexnet | vgg19 | googlenet) echo 64 ;; *) echo 28 ;; esac; }

if [ -z "$only" ] && [ -z "${NETLAB_MPI-}" ]; then
    exec bench/netlab.sh -n "$nodes" -r "${RATE:-1gbit}" -- bench/allreduce/tradeoff.sh "$@"
fi
log=$tsv.log
if [ -z "$only" ]; then
    mkdir -p "$(dirname "$tsv")"
    touch "$tsv"
    trim_torn "$tsv"
    [ -s "$tsv" ] || echo "# $settings" >"$tsv"
elif [ ! -f "$tsv" ]; then
    tsv=/dev/null # no results yet
fi
has=$(sed -n '1s/^# //p' "$tsv")
[ -n "$only" ] || [ "${has:-$settings}" = "$settings" ] ||
    refuse "$tsv has rows with $has, not with $settings: say where these are kept (TABLE=FILE)"
[ -z "$has" ] || batch=${has##* }
images=$((steps * batch / 10 * 10 + 10))
[ "$images" -ge 1000 ] || images=1000

# --- rows: network, codec, then numbers ---
done_row() { grep -q "^$1	$2	" "$tsv"; }

# measure_flop NETWORK: record the GFLOP of a rank's step
measure_flop() {
    done_row "$1" gflop && return
    gflop=$("$B/bench_train" --model "$1" --batch $((batch / nodes)) --size "$(pixels "$1")" --channels 1 --json 2>"$log.out" |
        sed -n 's/.*"gflop":\([0-9.e+-]*\).*/\1/p')
    [ "$gflop" ] || { tail -n 5 "$log.out" >&2 && echo "tradeoff.sh: bench_train failed on $1" >&2 && return 1; }
    printf '%s\t%s\t%s\n' "$1" gflop "$gflop" >>"$tsv"
}

# medians: over rank 0's steps after the first two, which touch new memory
medians() {
    for field in samples_per_s sent_bytes fp32_bytes comm_s codec_s; do
        sed -n "s/.*\"kind\":\"step\".*\"$field\":\([0-9.e+-]*\).*/\1/p" "$log.jsonl" | tail -n +3 | median '\t%.9g'
    done
}

# train NETWORK CODEC OPTION...: measure a row
train() {
    local network=$1 codec=$2 image='' found=''
    done_row "$network" "$codec" && return
    shift 2
    [ "$(pixels "$network")" = 28 ] || image="--image $(pixels "$network")"
    echo "tradeoff.sh: $network, $codec" >&2
    rm -f "$log.jsonl"
    # shellcheck disable=SC2086
    if mpirun $NETLAB_MPI -np "$nodes" "$B/narrowcast" train --data "synthetic:$images,1" --model "$network" $image \
        --steps "$steps" --batch "$batch" --lr 0.001 --schedule const --warmup 0 --deadline 600 --log "$log.jsonl" "$@" \
        </dev/null >"$log.out" 2>&1 && ! grep -q '"skipped":true' "$log.jsonl"; then
        found=$(medians)
    fi
    if [ -z "$found" ]; then
        tail -n 5 "$log.out" >&2
        echo "tradeoff.sh: $network with $codec failed, see $log.out; rows that ended are in $tsv" >&2
        return 1
    fi
    printf '%s\t%s%s\n' "$network" "$codec" "$found" >>"$tsv"
}

# --- results ---
order="$networks $names"
table() {
    echo '| network | codec | images/s | to the best fp32 | bytes a step and rank | computing, ms | casting, ms | travelling, ms |'
    echo '|---|---|---|---|---|---|---|---|'
    awk -F '\t' -v order="$order" -v batch="$batch" '
        /^#/ || $2 == "gflop" { next }
        { row[$1, $2] = $0; if ($2 ~ /^fp32/ && $3 > best[$1]) best[$1] = $3 }
        END { n = split(order, word, " ")
              for (i = 1; i <= n; i++) for (k = 1; k <= n; k++) if ((word[i], word[k]) in row) {
                  split(row[word[i], word[k]], f, "\t")
                  ms = 1000 * batch / f[3]
                  printf "| %s | %s | %.1f | %s | %.0f | %.1f | %.1f | %.1f |\n", f[1], f[2], f[3],
                      best[f[1]] ? sprintf("%.2f", f[3] / best[f[1]]) : "", f[4], ms - 1000 * (f[6] + f[7]), 1000 * f[7], 1000 * f[6]
              } }' "$tsv"
}

# Speed-ups over MB per GFLOP, and the Spearman rank correlation.
tradeoff() {
    awk -F '\t' -v order="$order" '
        /^#/ { next }
        $2 == "gflop" { gflop[$1] = $3; next }
        { speed[$1, $2] = $3; mb[$1] = $5 / 1e6; if ($2 ~ /^fp32/ && $3 > best[$1]) best[$1] = $3 }
        function rank(value, m, at,    r, j) { r = 1; for (j = 1; j <= m; j++) r += value[j] < value[at] ? 1 : value[j] == value[at] && j != at ? 0.5 : 0; return r }
        END { n = split(order, word, " ")
              for (i = 1; i <= n; i++) if (gflop[word[i]] && best[word[i]]) net[++n_net] = word[i]
              for (i = 2; i <= n_net; i++) for (k = i; k > 1 && mb[net[k]] / gflop[net[k]] < mb[net[k - 1]] / gflop[net[k - 1]]; k--) {
                  t = net[k]; net[k] = net[k - 1]; net[k - 1] = t }
              head = "| network | MB per GFLOP |"; line = "|---|---|"; last = "| rank correlation | |"
              for (k = 1; k <= n; k++) if (word[k] !~ /^fp32/) {
                  m = 0
                  for (i = 1; i <= n_net; i++) if ((net[i], word[k]) in speed) { x[++m] = i; y[m] = speed[net[i], word[k]] / best[net[i]] }
                  if (!m) continue
                  head = head " " word[k] " |"; line = line "---|"; d = 0
                  for (i = 1; i <= m; i++) d += (i - rank(y, m, i)) ^ 2
                  last = last (m > 2 ? sprintf(" %.2f |", 1 - 6 * d / (m * (m * m - 1))) : " |")
                  column[++n_columns] = word[k]
              }
              print head; print line
              for (i = 1; i <= n_net; i++) {
                  printf "| %s | %.3f |", net[i], mb[net[i]] / gflop[net[i]]
                  for (k = 1; k <= n_columns; k++) if ((net[i], column[k]) in speed) printf " %.2f |", speed[net[i], column[k]] / best[net[i]]; else printf " |"
                  print ""
              }
              print last }' "$tsv"
}
show() {
    local svg=${tsv%.tsv}.svg
    table
    echo
    tradeoff
    if [ -n "$(command -v gnuplot)" ] && awk -F '\t' 'NF == 7 { n++ } END { exit !n }' "$tsv"; then
        [ -z "$only" ] || { svg=$B/${svg##*/} && mkdir -p "$B"; }
        FILE=$tsv BATCH=$batch gnuplot -d bench/allreduce/tradeoff.gp >"$svg" && echo "chart $svg"
    else
        echo 'skip  the chart: no gnuplot, or no row yet'
    fi
}
if [ "$only" ]; then
    show
    exit
fi

# --- measure everything that this build has ---
help=$("$B/narrowcast" train --help)
has() { grep -qw -e "$1" <<<"$help"; }
absent=''
for network in $networks; do
    if ! has "$network" || { [ "$(pixels "$network")" != 28 ] && ! has '--image'; }; then
        absent+=" $network,"
        continue
    fi
    measure_flop "$network"
    while read -r codec options; do
        case " ${2-$codec} " in *" $codec "*) ;; *) continue ;; esac
        case $options in *--codec*) has "${codec%%:*}" || { [[ $absent == *" $codec,"* ]] || absent+=" $codec,"; continue; } ;; esac
        # shellcheck disable=SC2086
        train "$network" "$codec" $options
    done <<<"$codecs"
done
[ -z "$absent" ] || echo "tradeoff.sh: left out:${absent%,}: this build of narrowcast train does not know them" >&2
show
