#!/bin/bash
# test_offload_xdp.sh : trains through a card with --fabric xdp on a small Ethernet
# (bench/netlab.sh). Weights must equal those over MPI, also with loss. Other packets must reach the
# system, a killed rank must leave no XDP program, and what cannot work is refused in one line.
set -eu
. "$(dirname "$0")/../lib/script.sh"
[ -f "$B/libnarrowcast_xdp.so" ] || { echo 'skip: built without libxdp: --fabric xdp'; exit 77; }
in_netlab -n 2 -r none
. "$here/lib/refused.sh"
cd "$dir"
cards='' says="$dir/out $dir/err" udp=10.77.0.254:4711
# shellcheck disable=SC2086,SC2046  # numbers
trap 'kill $cards $(jobs -p) 2>/dev/null || true; wait; rm -rf "$dir"' EXIT

# card ADDRESS OPTIONS...
card() {
    rm -f "$dir/$1.card"
    "$n" sim --listen "$@" --engine c >"$dir/$1.card" 2>&1 &
    cards="$cards $!"
    while ! grep -qs '^listening' "$dir/$1.card" && kill -0 $!; do sleep 0.1; done
}
# shellcheck disable=SC2054  # a word with a comma
train=("$n" train --data synthetic:240,3 --batch 24 --lr 0.05 --model lenet5 --format e5m2 --scale aps-tight --deadline 100 --card-deadline 30)
# on OUT OPTION...: two ranks, one on each node
on() {
    local out=$1
    shift
    # shellcheck disable=SC2086
    mpirun $NETLAB_MPI -np 2 "${train[@]}" "$@" >"$dir/$out" 2>"$dir/${out/out/err}"
}
by_card() { grep -q '^offload  *6 of 6 steps; 0 buckets' "$dir/out"; }
ranks_on() { for pid in $(ip netns pids "$1"); do ! grep -qsx narrowcast "/proc/$pid/comm" || echo "$pid"; done; }
attached() { ip -n "$1" link show eth0 | grep -q 'prog/xdp'; }

card $udp
if timeout 60 netlab-exec 10.77.0.1 "${train[@]}" --steps 1 --algo offload --offload udp://$udp --fabric xdp >"$dir/out" 2>"$dir/err"; then :; else
    if grep -q 'xdp cannot .*\(run as root\|CONFIG_XDP_SOCKETS\)' "$dir/err"; then cat "$dir/err"; echo 'skip: this system does not let --fabric xdp work'; exit 77; fi
    fail 'one rank'
fi
on out --steps 6 --offload off || fail 'over MPI'
wanted=$(sum_of "$dir/out")
[ -n "$wanted" ] || fail 'no checksum over MPI'

on out --steps 6 --offload udp://$udp --fabric xdp || fail 'xdp'
[ "$(sum_of "$dir/out")" = "$wanted" ] || fail "xdp: another checksum than $wanted"
by_card || fail 'xdp: not all steps by the card'
! attached n1 || fail 'xdp: its program is still attached'

card 10.77.0.254:4712 --drop 0.05 --dup 0.05 --reorder 0.1 --seed 3
on out --steps 6 --offload udp://10.77.0.254:4712 --fabric xdp || fail '5 % lost'
if [ "$(sum_of "$dir/out")" != "$wanted" ] || ! by_card; then fail "5 % lost: checksum '$(sum_of "$dir/out")', not '$wanted'"; fi

# A job over sockets beside it: its datagrams pass through the same interfaces.
on out2 --steps 100000 --offload udp://10.77.0.254:4712 --fabric xdp &
run=$!
while kill -0 $run && ! { attached n1 && attached n2; }; do sleep 0.1; done
on out --steps 6 --offload udp://$udp --fabric socket || fail 'sockets beside xdp'
if [ "$(sum_of "$dir/out")" != "$wanted" ] || ! by_card; then fail "sockets beside xdp: checksum '$(sum_of "$dir/out")', not '$wanted'"; fi
attached n1 || fail 'sockets beside xdp: the other run has ended'

# second LINE OPTION...: while the run has the interface, one rank of node 1 is refused with LINE.
# Without --algo offload the rank goes on alone.
second() {
    local line=$1
    shift
    busy=1 refused "$line" timeout 60 netlab-exec 10.77.0.1 "${train[@]}" --steps 1 --algo offload "$@"
}
second "'eth0' already has an XDP program (\`ip link show eth0\`): --fabric xdp takes one rank" --offload udp://$udp --fabric xdp
timeout 60 netlab-exec 10.77.0.1 "${train[@]}" --steps 1 --offload udp://$udp --fabric xdp >"$dir/out" 2>"$dir/err" || fail 'a busy interface'
[ "$(grep -c '^narrowcast: warning: .*already has an XDP program' "$dir/err")" = 1 ] || fail 'a busy interface: not one warning'

victim=$(ranks_on n1)
# shellcheck disable=SC2086  # one number
kill -9 $victim
wait $run && fail 'a killed rank: exit 0'
# mpirun may end before the rank on the other node does
for node in n1 n2; do
    for _ in $(seq 300); do [ -n "$(ranks_on $node)" ] || break; sleep 0.1; done
    [ -z "$(ranks_on $node)" ] || fail "a rank on $node outlived the killed one by 30 s"
    ! attached $node || fail "a killed rank left an XDP program on $node"
done

second "needs an Ethernet interface, but 'lo'" --offload sim:c --fabric xdp
export NARROWCAST_XDP=/no/where.so
second 'names "/no/where.so"' --offload udp://$udp --fabric xdp
unset NARROWCAST_XDP
second 'only --fabric socket receives multicast groups' --offload udp://$udp --fabric xdp --card-group 239.1.1.1
ip link add eth1 numrxqueues 2 netns n1 type veth peer name p9
ip addr add 10.77.9.254/24 dev p9
ip link set p9 up
ip -n n1 addr add 10.77.9.1/24 dev eth1
ip -n n1 link set eth1 up
card 10.77.9.254:4711
second "'eth1' spreads packets over 2 queues, but --fabric xdp reads one: \`ethtool -L eth1 rx 1\`" --offload udp://10.77.9.254:4711 --fabric xdp
second "'eth1' spreads" --offload udp://10.77.9.254:4711 --fabric xdp --fabric-address eth1
ip link add cardnetwork0001 netns n1 type veth peer name p8
ip -n n1 addr add 10.77.8.1/24 dev cardnetwork0001
ip -n n1 link set cardnetwork0001 up
second "cannot bind to 'cardnetwork0001-typo': need an IPv4 address" --offload udp://10.77.9.254:4711 --fabric xdp --fabric-address cardnetwork0001-typo
for end in p1 p2; do ip link set $end mtu 9000; done
second "If its MTU, or that of the other end of a veth pair, is above 1500: \`ip link set eth0 mtu 1500\`" --offload udp://$udp --fabric xdp
train=(setpriv --bounding-set=-all --inh-caps=-all "${train[@]}")
second 'run as root, or with CAP_NET_RAW' --offload udp://$udp --fabric xdp
exit $bad
