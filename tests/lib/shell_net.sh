# shell_net.sh : runs trainings through the card with LiteEth. Network namespaces and the card's
# TAP interface share one switch (bench/netlab.sh). Source it first, under `set -eu`; skips the
# script where this is impossible. Provides script.sh's names, at (the card's
# address) and head (this end's).
# shellcheck shell=bash disable=SC2034  # some names are for those who source this

. "$(dirname "${BASH_SOURCE[0]}")/script.sh"
skip() {
    echo "skip: $*"
    exit 77
}
if [ -z "${NETLAB_HOSTS-}" ]; then
    [ "$(id -u)" = 0 ] || skip 'a TAP interface takes root'
    [ -c /dev/net/tun ] || skip 'no /dev/net/tun'
    [ -n "$(command -v pgrep)" ] || skip 'no pgrep (Debian: procps)'
    ! grep -q 'cannot simulate the card behind LiteEth' "$B/narrowcast-sim" || skip 'built without LiteEth (make shell)'
fi
in_netlab -n 4 -r none
card='' says="$dir/out* $dir/err* $dir/card"
trap 'kill -CONT $card 2>/dev/null || true; kill $card $(jobs -p) 2>/dev/null || true; wait; rm -rf "$dir"' EXIT
at=10.77.0.99 head=10.77.0.254

card() {
    rm -f "$dir/card"
    "$n" sim --shell --tap nc0 --ip $at --listen $head:4711 "$@" >"$dir/card" 2>&1 &
    card=$!
    while ! grep -qs "^listening" "$dir/card" && kill -0 "$card" 2>/dev/null; do sleep 0.1; done
    ip link set nc0 master br0 || fail 'no interface nc0'
}
uncard() {
    kill "$card"
    wait "$card" || fail 'the card does not end well'
    card=''
}

# on RUN RANKS OPTIONS...: one rank per node, or on $hosts; writes $dir/logRUN. Waiting ranks
# yield the processor to the card.
on() {
    run=$1 np=$2
    shift 2
    # shellcheck disable=SC2086
    nice -n 15 mpirun ${hosts:-$NETLAB_MPI} -np "$np" "$n" train --data synthetic:240,3 --batch 24 --lr 0.05 --model lenet5 --format e5m2 \
        --scale aps-tight --schedule const --deadline 600 --card-deadline 120 --log "$dir/log$run" "$@" >"$dir/out$run" 2>"$dir/err$run"
}
checksum() { sum_of "$dir/out$1"; }
# through RUN WANTED STEPS LABEL: RUN must have checksum WANTED, and all STEPS steps through the
# card
through() {
    [ "$(checksum "$1")" = "${2:?}" ] || fail "$4: checksum '$(checksum "$1")', wanted '$2'"
    grep -q "^offload  *$3 of $3 steps; 0 buckets" "$dir/out$1" || fail "$4: not all steps by the card"
}
