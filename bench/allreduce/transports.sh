#!/bin/bash
# transports.sh : measures frames a second, and CPU time a frame, of --fabric socket and xdp in turn:
# one rank on a node of bench/netlab.sh, a card in plain C at its head.
# usage: bench/allreduce/transports.sh [RUNS [OPTION OF bench_allreduce...]]     as root
# CPU times include casts, sums, MPI's all-reduce beside each repetition and the check of results,
# and are differences between a long and a short run.
# OFFLOADS=off: the link takes single packets, not trains of them that only a receiver cuts.
set -eu
. "$(dirname "$0")/../usage.sh"
export B=${B:-build}
if [ -z "${NETLAB_HOSTS-}" ]; then
    [ -f "$B/libnarrowcast_xdp.so" ] || { echo 'skip: built without libxdp'; exit 77; }
    [ "$(id -u)" = 0 ] || { echo 'skip: not root, as --fabric xdp needs'; exit 77; }
    exec bench/netlab.sh -n 1 -r none -- bench/allreduce/transports.sh "$@"
fi
runs=${1:-5}
whole RUNS "$runs" 'a number of runs'
shift $(($# > 0))
at=10.77.0.254:4000
if [ "${OFFLOADS-}" = off ]; then
    netlab-exec 10.77.0.1 ethtool -K eth0 tx-udp-segmentation off rx-gro off
    ethtool -K p1 tx-udp-segmentation off
fi
"$B/narrowcast" sim --listen $at --engine c >/dev/null &
card=$!
trap 'kill $card' EXIT
sleep 1
frames() { "$B/narrowcast" sim --counters $at --json | sed 's/.*"frames_in":\([0-9]*\).*"datagrams_out":\([0-9]*\).*/\1 + \2/'; }
TIMEFORMAT='%U + %S'
# timed FABRIC REPS OPTION...: sets $used: seconds of the rank and of the card, frames; rows in /run/rows
timed() {
    local fabric=$1 reps=$2 n0 c0
    shift 2
    n0=$(frames) c0=$(awk '{ print $14 + $15 }' /proc/$card/stat)
    { time netlab-exec 10.77.0.1 "$B/bench_allreduce" --json --offload udp://$at --fabric "$fabric" --algo offload \
        --format e5m2 --scale aps \
        --sizes 4M --mpi ring --warmup 0 --reps "$reps" "$@" >/run/rows 2>/run/said; } 2>/run/time || { cat /run/said /run/time; exit 1; }
    used=$(awk -v c="$c0" -v hz="$(getconf CLK_TCK)" -v t="$(cat /run/time)" -v n=$(($(frames) - (n0))) \
        '{ split(t, s, " "); print s[1] + s[3], ($14 + $15 - c) / hz, n }' /proc/$card/stat)
}
printf '%-8s %10s %22s %22s\n' fabric 'frames/s' 'us of rank a frame' 'us of card a frame'
for _ in $(seq "$runs"); do
    for fabric in socket xdp; do
        timed $fabric 1 "$@"
        short=$used
        timed $fabric 41 "$@"
        rate=$(sed -n 's/.*"algo":"offload".*"time_us":\([0-9.]*\).*"packets":\([0-9]*\).*/\1 \2/p' /run/rows)
        echo "$fabric $rate $used $short" |
            awk '{ n = $6 - $9; printf "%-8s %10.0f %22.2f %22.2f\n", $1, 2e6 * $3 / $2, 1e6 * ($4 - $7) / n, 1e6 * ($5 - $8) / n }'
    done
done
