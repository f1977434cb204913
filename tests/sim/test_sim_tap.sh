#!/bin/bash
# test_sim_tap.sh : tests the simulated card on a real Ethernet: a TAP interface and a host on a
# bridge, in network namespaces.
set -eu
B=${B:-build}
case $B in /*) ;; *) B=$PWD/$B ;; esac
skip() {
    echo "skip: $*"
    exit 77
}
if [ "${1-}" != inside ]; then
    [ "$(id -u)" = 0 ] || skip 'a TAP interface takes root'
    [ -c /dev/net/tun ] || skip 'no /dev/net/tun'
    command -v ip >/dev/null || skip 'no ip (iproute2)'
    command -v nsenter >/dev/null || skip 'no nsenter (util-linux)'
    enter=(unshare --net --mount --pid --fork --kill-child --mount-proc)
    "${enter[@]}" true 2>/dev/null || skip 'no namespaces here'
    B=$B OUTSIDE=$(readlink /proc/self/ns/net) exec "${enter[@]}" bash "$0" inside
fi

dir=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; wait; rm -rf "$dir"' EXIT
fail() {
    echo "test_sim_tap.sh: $*; the card said: $(cat "$dir/card" "$dir/err" 2>/dev/null)" >&2
    exit 1
}
# The machine's own network must not be touched.
here=$(readlink /proc/self/ns/net)
if [ -z "${OUTSIDE-}" ] || [ "$here" = "$OUTSIDE" ]; then
    fail 'not in a network namespace of its own'
fi
ip link set lo up
ip link add br0 address 02:00:00:00:00:fe type bridge 2>/dev/null || skip 'no bridges in this kernel'
ip addr add 10.77.0.1/24 dev br0
ip link set br0 up

unshare --net sleep 1000 &
host=$!
its() { readlink "/proc/$host/ns/net"; }
for _ in $(seq 50); do
    [ "$(its)" != "$here" ] && break
    sleep 0.1
done
at_host() {
    case $(its) in
    "$here" | "$OUTSIDE" | '') fail 'the other host has no network namespace of its own' ;;
    esac
    nsenter --target "$host" --net "$@"
}
at_host ip link set lo up
ip link add veth0 type veth peer name card_eth
ip link set card_eth netns "$host"
ip link set veth0 master br0 up
at_host ip addr add 10.77.0.2/24 dev card_eth
at_host ip link set card_eth up

card() {
    rm -f "$dir/card"
    "$B/narrowcast-sim" --tap nc0 --ip 10.77.0.9 --listen 10.77.0.1:4711 "$@" >"$dir/card" 2>"$dir/err" &
    card=$!
    while ! grep -qs '^listening on 10.77.0.1:4711$' "$dir/card" && kill -0 "$card"; do sleep 0.1; done
    ip link set nc0 master br0 || fail 'no interface nc0'
}

card --engine c --pcap "$dir/pcap"
at_host "$B/tests/test_sim_ether" 10.77.0.9 || fail 'the card does not answer ping'
"$B/tests/test_sim_ether" 10.77.0.9 || fail 'the card does not answer ping by the bridge'
at_host "$B/tests/test_sim_listen" 10.77.0.1:4711 || fail 'no right sums through the TAP interface'
kill "$card"
wait "$card" || fail 'it does not end well'
[ "$(stat -c %s "$dir/pcap")" -gt 1000000 ] || fail 'the capture is too short'
[ ! -e /sys/class/net/nc0 ] || fail 'the interface is left behind'

at_host ip neigh flush all
ip neigh flush all
card --engine c --drop 0.05 --dup 0.05 --reorder 0.1 --mac 02:00:00:aa:bb:cc
at_host "$B/tests/test_sim_listen" 10.77.0.1:4711 || fail 'no right sums through a bad network'
at_host ip neigh show 10.77.0.9 | grep -q '02:00:00:aa:bb:cc' || fail "its Ethernet address: $(at_host ip neigh)"
kill "$card"
wait "$card" || fail 'it does not end well'

card --engine c
ip link del nc0
for _ in $(seq 100); do
    kill -0 "$card" 2>/dev/null && sleep 0.1
done
kill "$card" 2>/dev/null && fail 'it goes on without its interface'
! wait "$card" || fail 'it ends well without its interface'
grep -q "the card's TAP interface is gone" "$dir/err" || fail 'it does not say why it ends'
echo 'ping and sums over a TAP interface'
