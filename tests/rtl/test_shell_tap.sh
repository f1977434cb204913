#!/bin/bash
# test_shell_tap.sh : trains through the card with LiteEth on a real Ethernet (bench/netlab.sh); the
# weights equal those over MPI. `long`: more steps.
set -eu
. "$(dirname "$0")/../lib/shell_net.sh"

counter() { "$n" sim --counters $head:4711 --json | sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p"; }

steps=1
[ "${1-}" != long ] || steps=6
on 1 4 --steps $steps --offload off || fail 'over MPI'
wanted=$(checksum 1)

card --pcap "$dir/pcap"
"$B/tests/test_sim_ether" $at || fail 'no answer to ping'
netlab-exec 10.77.0.2 "$B/tests/test_sim_ether" $at || fail 'no answer to ping from a node'
on 1 4 --steps $steps --offload udp://$head:4711 || fail 'through the card'
through 1 "$wanted" $steps 'through the card'
echo "$(counter eth_taken) frames in, $(counter eth_out) out, in $(counter clocks) clocks; clocks waited: for the core $(counter core_waits), by the core $(counter shell_waits)"
[ "$(counter core_waits)" = 0 ] || fail 'something waited for the core'
[ "$(counter shell_waits)" -gt 0 ] || fail 'no clock was counted in which the core waits'
# One frame each, except retransmits; test_offload_group.sh checks exact counts.
before=$(counter OUT_RESULT)
on 1 4 --steps $steps --offload udp://$head:4711 --card-group 239.255.77.2 || fail 'by a group'
through 1 "$wanted" $steps 'by a group'
grep -q 'sums to group 239.255.77.2:28259, ' "$dir/err1" || fail 'by a group: no word of it'
sent=$(($(counter OUT_RESULT) - before))
echo "results to 4 ranks: $before, to a group of them: $sent"
{ [ "$sent" -gt 0 ] && [ $((2 * sent)) -lt "$before" ]; } || fail "by a group: $sent results, $before without"
uncard
[ "$(stat -c %s "$dir/pcap")" -gt 100000 ] || fail 'the capture is too short'

card --control 4712 --drop 0.05 --dup 0.05 --reorder 0.05
on 1 4 --steps $steps --offload eth://$at:4712 || fail 'through a bad network, by the responder'
through 1 "$wanted" $steps 'through a bad network, by the responder'
on 1 4 --steps $steps --offload eth://$at:4712 --card-group 239.255.77.2 || fail 'through a bad network, by a group'
through 1 "$wanted" $steps 'through a bad network, by a group'
! grep -q 'abandoned' "$dir/err1" || fail 'through a bad network, by a group: abandoned'
uncard
exit $bad
