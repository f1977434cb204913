#!/bin/bash
# test_no_card.sh : wrong addresses are rejected in one line (IPv6 by name). An impossible card
# ends a run, a silent one only with --algo offload.
set -eu
. "$(dirname "$0")/../lib/card_net.sh"
sim=$B/narrowcast-sim
export NARROWCAST_XCLBIN=$B/narrowcast.sim.xclbin

# one_line CODE WORDS COMMAND...: exits with CODE (`fails`: not 0, in time, not by a signal) and
# prints one line of ours with WORDS
one_line() {
    local code=0 want=$1 words=$2
    shift 2
    timeout 60 "$@" >out 2>err || code=$?
    case $want in
    fails) { [ $code -gt 0 ] && [ $code -lt 124 ]; } || fail "exit $code: $*: $(cat err)" ;;
    *) [ $code = "$want" ] || fail "exit $code: $*: $(cat err)" ;;
    esac
    if [ "$(grep -c '^narrowcast' err)" != 1 ] || ! grep -q "^narrowcast.*$words" err; then
        fail "did not say '$words' in one line: $*: $(cat err)"
    fi
}
train="$n train --data synthetic:240,3 --batch 24 --model lenet5 --format e5m2 --scale aps-tight --steps 2 --card-deadline 1"
# shellcheck disable=SC2206 # words
train=($train)

for ip in '[::1]' '::1' '[fe80::1%eth0]' 'fe80::1%eth0' '2001:db8:0:0:0:0:0:1' '[::ffff:10.0.0.9]' '::ffff:10.0.0.9'; do
    one_line fails 'as an address: IPv6 is not supported' "$sim" --listen "$ip:4711"
done
for ip in '[::1]' 'fe80::1%eth0'; do
    for scheme in udp eth; do
        one_line fails "'$scheme://.* is not a card: IPv6 is not supported" "${train[@]}" --offload "$scheme://$ip:4711"
    done
    one_line fails 'is not a card: IPv6 is not supported' "${train[@]}" --offload "udp://127.0.0.1:9,udp://$ip:4711"
    one_line fails 'is not a card: IPv6 is not supported' "${train[@]}" --offload "xrt:1@$ip"
    one_line fails 'is not a card: IPv6 is not supported' env NARROWCAST_OFFLOAD="udp://$ip:4711" "${train[@]}"
    one_line fails 'IPv6 is not supported' "${train[@]}" --offload sim:c --fabric-address "$ip"
    one_line fails 'is not a group: IPv6 is not supported' "${train[@]}" --offload sim:c --card-group "$ip"
    one_line fails 'is not a card: IPv6 is not supported' "$n" doctor --offload "$ip:4711"
    one_line fails 'is not a card: IPv6 is not supported' "$n" card --listen 127.0.0.1:0 --xrt "0@$ip"
    for program in "$n card" "$n sim"; do
        # shellcheck disable=SC2086 # words
        one_line fails 'as an address: IPv6 is not supported' $program --listen "$ip:4711"
    done
    one_line fails 'as an address: IPv6 is not supported' "$n" sim --listen 127.0.0.1:0 --tap none --ip "$ip"
    one_line fails 'as an address: IPv6 is not supported' "$n" sim --counters "$ip:4711"
    one_line fails 'is not a card: IPv6 is not supported' "$n" sim --counters "eth://$ip:4711"
done
printf '127.0.0.1 localhost\n2001:db8::1 six.test\n' >hosts
# shellcheck disable=SC2016 # the inner shell's words
in_hosts=(unshare -rm sh -c 'mount --bind hosts /etc/hosts && exec "$@"' sh)
if "${in_hosts[@]}" true 2>/dev/null; then
    one_line fails "'six.test' has only IPv6 addresses" "${in_hosts[@]}" "$n" sim --listen six.test:0
else
    echo 'skip: no namespace of our own: a name with an IPv6 address only'
fi

for at in nowhere :4711 127.0.0.1: 127.0.0.1:x 127.0.0.1:65536 127.0.0.1:-1 'a b:4711' g:1:2; do
    one_line fails "'udp://$at' is not a card: need" "${train[@]}" --offload "udp://$at"
    one_line fails "cannot read '$at' as an address: need HOST:PORT" "$n" sim --listen "$at"
done
for port in 0 99999; do
    one_line fails 'is not a card: need .*a port from 1 to 65535' "${train[@]}" --offload udp://127.0.0.1:$port
done
one_line fails 'card udp://127.0.0.1:9 is named twice' "${train[@]}" --offload udp://127.0.0.1:9,sim:c,udp://127.0.0.1:9
one_line fails "'garbage' is not a card: need .*NARROWCAST_OFFLOAD names it" env NARROWCAST_OFFLOAD=garbage "${train[@]}"
ranks_in "$dir" # simulated devices record their owners there
# shellcheck disable=SC2016 # its own words
printf 'mpirun -np "$1" %s "${@:2}"\n' "${train[*]}" >runs.sh
cannot_be() {
    local words=$1 card=$2
    shift 2
    one_line fails "$words" env "$@" "${train[@]}" --offload "$card"
    one_line fails "$words" env "$@" bash runs.sh 3 --algo offload --offload "$card"
    one_line fails "$words" env "$@" NARROWCAST_OFFLOAD="$card" bash runs.sh 3
}
# A name with an empty label is refused without asking a name service.
for scheme in udp eth; do
    cannot_be "cannot find host 'no..invalid'" "$scheme://no..invalid:4711"
    cannot_be "cannot find host 'no..invalid'" "sim:c,$scheme://no..invalid:4711"
    cannot_be 'is not a card: need' "$scheme://nowhere"
done
cannot_be 'nosuch.xclbin' xrt NARROWCAST_XCLBIN=nosuch.xclbin
cannot_be 'needs an xclbin' xrt NARROWCAST_XCLBIN=
mkdir alone && cp "$n" alone/
sed "s|$n|$dir/alone/narrowcast|" runs.sh >alone.sh
for ranks in 1 3; do
    one_line fails 'cannot find the simulated card' bash alone.sh $ranks --offload sim:c
done
one_line fails "cannot find host 'no..invalid'" "$n" sim --counters no..invalid:4711
one_line fails "cannot find host 'no..invalid'" "$n" sim --counters eth://no..invalid:4711
one_line fails "cannot find host 'no..invalid'" "$n" sim --listen no..invalid:4711
mpirun -np 2 "$n" doctor --offload udp://no..invalid:4711 >out 2>err && fail 'doctor: a host that is unknown: exit 0'
grep -q "^fail  cards  .*cannot find host 'no..invalid'" out || fail "doctor: $(cat out err)"

# --- silent cards: fatal with --algo offload, else one warning ---
dead() {
    local card=$1
    shift
    for ranks in 1 3; do
        one_line fails 'needs every card' env "$@" bash runs.sh $ranks --algo offload --offload "$card"
        one_line 0 'warning: ' env "$@" bash runs.sh $ranks --offload "$card"
        added "$card" "$([ $ranks = 1 ] && echo self || echo direct)"
    done
    one_line 0 'warning: ' env "$@" NARROWCAST_OFFLOAD="$card" bash runs.sh 3
    added "$card" direct
}
added() { grep -q "^gradients .*, all-reduce $2\$" out || fail "$1: $(grep '^gradients' out)"; }
dead udp://127.0.0.1:9
dead eth://127.0.0.1:9
# A silent name service: the host may exist.
no_names=(unshare -rn sh -c 'ip link set lo up && exec "$@"' sh)
if [ -n "$(command -v ip)" ] && "${no_names[@]}" true 2>/dev/null; then
    for card in udp://card.invalid:4711 eth://card.invalid:4711; do
        one_line fails "cannot find host 'card.invalid'.*needs every card" "${no_names[@]}" bash runs.sh 3 --algo offload --offload $card
        one_line 0 "warning: .*cannot find host 'card.invalid'" "${no_names[@]}" bash runs.sh 3 --offload $card
        added $card direct
    done
    one_line 0 '1 of 2 cards take over' "${no_names[@]}" bash runs.sh 3 --offload sim:c,udp://card.invalid:4711
    added 'a name service that is silent' offload
else
    echo 'skip: no namespace of our own: a name service that does not answer'
fi
one_line fails 'needs every card' bash runs.sh 3 --algo offload --offload sim:c,udp://127.0.0.1:9
one_line 0 '1 of 2 cards take over' bash runs.sh 3 --offload sim:c,udp://127.0.0.1:9
added 'one card of two' offload
# sim:c is at 127.0.0.1, out of reach for rank 1.
cat >two_hosts.sh <<END
ip link set lo up && ip address add 10.9.9.9/32 dev lo || exit
"$n" sim --engine c --listen 10.9.9.9:4711 >listens &
until grep -q '^listening' listens; do kill -0 \$! || exit; sleep 0.1; done
set -- ${train[*]} --offload sim:c,udp://10.9.9.9:4711
export OMPI_MCA_oob_tcp_if_include=lo # with another address than 127.0.0.1
mpirun -np 1 "\$@" : -np 1 unshare --uts sh -c 'hostname elsewhere && exec "\$@"' sh "\$@"
code=\$?
kill \$!
exit \$code
END
if [ -n "$(command -v ip)" ] && unshare -rnu true 2>/dev/null; then
    one_line 0 'rank 1 is on host elsewhere.*1 of 2 cards take over' unshare -rnu bash two_hosts.sh
    added 'a card that one host reaches' offload
else
    echo 'skip: no namespace of our own: a rank on another host'
fi

[ -e "$B/xrt/lib/libxrt_core.so.2" ] || { echo 'skip: no simulated XRT device in this build: places on the bus'; exit $bad; }

export XILINX_XRT="$B/xrt" NARROWCAST_SIM_ENGINE=c
head -c 4000 /dev/zero >zeros
for at in 00:00.0 0000:00:00.0; do
    "${train[@]}" --offload "xrt:$at" >out 2>err || fail "--offload xrt:$at: exit $?"
    grep -q "^all-reduce: offload through 1 card (xrt:$at)" err || fail "--offload xrt:$at: $(cat err)"
    "${train[@]}" --algo group-scatter:1 --node-sum "xrt:$at" >out 2>err || fail "--node-sum xrt:$at: exit $?"
    grep -q "added by card xrt:$at" err || fail "--node-sum xrt:$at: $(cat err)"
    "$n" cast --on xrt --card "xrt:$at" --format e5m2 zeros codes >out 2>err || fail "--card xrt:$at: $(cat err)"
done
# The error has the complete address, as XRT gets it.
for at in 65:00.1 0000:65:00.1 C1:1f.7; do
    whole=$(printf '%s' "${at#0000:}" | tr '[:upper:]' '[:lower:]')
    one_line fails "device 0000:$whole" "$n" card --listen 127.0.0.1:0 --xrt "$at@10.0.0.9"
    one_line fails "device 0000:$whole" "$n" cast --on xrt --card "xrt:$at" --format e5m2 zeros codes
done
for at in 65:00 65:00.8 65:20.1 165:00.1 65:00.1.1 ' 65:00.1' +5:00.1 0x:00.1 0000:65:00 00000:65:00.1 :65:00.1 65:00.; do
    one_line fails 'is not a card: need' "${train[@]}" --offload "xrt:$at"
    one_line fails 'is not a card: need' "$n" card --listen 127.0.0.1:0 --xrt "$at"
    one_line fails 'unknown --card' "$n" cast --on xrt --card "xrt:$at" --format e5m2 zeros codes
    one_line fails 'unknown --node-sum' "${train[@]}" --algo group-scatter:1 --node-sum "xrt:$at"
done

cannot_be 'device 7' xrt:7
cannot_be 'device 0000:65:00.1' xrt:65:00.1
cannot_be 'XILINX_XRT is not set' xrt XILINX_XRT=
cannot_be '/no/where.so' xrt NARROWCAST_XRT=/no/where.so
dead xrt NARROWCAST_SIM_FAULT=read-hangs:0
exit $bad
