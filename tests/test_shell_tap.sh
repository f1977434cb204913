#!/bin/bash
# test_shell_tap.sh : the card behind LiteEth on a real Ethernet: nodes in namespaces of their own and a TAP interface on one switch
# (bench/netlab.sh). It answers ping; ranks that train through it end in the weights they have over MPI, controlled over TCP and by
# its own responder, with lost, repeated and reordered frames. With `long`: 4 ranks, 3 steps.
set -eu
B=${B:-build}
case $B in /*) ;; *) B=$PWD/$B ;; esac
here=$(cd "$(dirname "$0")" && pwd)
skip() {
    echo "skip: $*"
    exit 77
}
if [ -z "${NETLAB_HOSTS-}" ]; then
    [ "$(id -u)" = 0 ] || skip 'a TAP interface takes root'
    [ -c /dev/net/tun ] || skip 'no /dev/net/tun'
    ! grep -q 'no card behind LiteEth' "$B/narrowcast-sim" || skip 'built without LiteEth (make shell)'
    B=$B exec "$here/../bench/netlab.sh" -n 4 -r none -- bash "$here/test_shell_tap.sh" "$@"
fi
n=$B/narrowcast
bad=0 card=''
dir=$(mktemp -d)
trap 'kill $card $(jobs -p) 2>/dev/null || true; wait; rm -rf "$dir"' EXIT
fail() {
    echo "test_shell_tap.sh: $*: $(tail -n 20 "$dir"/out* "$dir"/err* "$dir/card")" >&2
    bad=1
}
at=10.77.0.99 head=10.77.0.254

# card OPTIONS...: on the switch
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
}
# on RUN RANKS OPTIONS...: a rank a node. Ranks that wait leave the processor to the card
on() {
    run=$1 np=$2
    shift 2
    # shellcheck disable=SC2086
    nice -n 15 mpirun $NETLAB_MPI -np "$np" "$n" train --data synthetic:240,3 --batch 24 --lr 0.05 --model lenet5 --format e5m2 \
        --scale aps-tight --deadline 600 --card-deadline 120 "$@" >"$dir/out$run" 2>"$dir/err$run"
}
checksum() { sed -n 's/^weights checksum //p' "$dir/out$1"; }
# through RUN WANTED STEPS WHAT: that run had this checksum, and all steps came through the card
through() {
    [ "$(checksum "$1")" = "${2:?}" ] || fail "$4: checksum '$(checksum "$1")', wanted '$2'"
    grep -q "^offload  *$3 of $3 steps; 0 buckets" "$dir/out$1" || fail "$4: not all steps by the card"
}

steps=1 ranks=2
[ "${1-}" != long ] || steps=3 ranks=4
on 1 $ranks --steps $steps --offload off || fail 'over MPI'
wanted=$(checksum 1)

card --pcap "$dir/pcap"
"$B/tests/test_sim_ether" $at || fail 'no answer to ping'
netlab-exec 10.77.0.2 "$B/tests/test_sim_ether" $at || fail 'no answer to ping from a node'
on 1 $ranks --steps $steps --offload udp://$head:4711 || fail 'through the card'
through 1 "$wanted" $steps 'through the card'
uncard
[ "$(stat -c %s "$dir/pcap")" -gt 100000 ] || fail 'the capture is too short'

# Two ranks: a lease is over after 5 s of silence, which a slow simulation may be for more.
on 1 2 --steps $steps --offload off || fail 'over MPI'
wanted=$(checksum 1)
card --control 4712 --drop 0.05 --dup 0.05 --reorder 0.05
on 1 2 --steps $steps --offload eth://$at:4712 || fail 'through a bad network, by the responder'
through 1 "$wanted" $steps 'through a bad network, by the responder'
uncard
exit $bad
