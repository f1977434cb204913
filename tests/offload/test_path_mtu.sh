#!/bin/bash
# test_path_mtu.sh : trains through a card on paths with a small, a large and a shrinking MTU
# (bench/netlab.sh). `long`: more widths.
set -eu
. "$(dirname "$0")/../lib/script.sh"
in_netlab -n 2 -r none -m 9000
card='' says="$dir/out $dir/err"
trap 'kill $card 2>/dev/null || true; wait; rm -rf "$dir"' EXIT

width() {
    for i in 1 2; do
        ip link set "p$i" mtu "$1"
        ip -n "n$i" link set eth0 mtu "$1"
    done
}

on() {
    # shellcheck disable=SC2086
    mpirun $NETLAB_MPI -np 2 "$n" train --data synthetic:240,3 --batch 24 --lr 0.05 --model lenet5 --format e5m2 --scale aps-tight \
        --deadline 100 --card-deadline 30 "$@" >"$dir/out" 2>"$dir/err"
}

udp=10.77.0.254:4711
"$n" sim --listen $udp --engine c >"$dir/card" 2>&1 &
card=$!
while ! grep -qs '^listening' "$dir/card" && kill -0 $card; do sleep 0.1; done
on --steps 6 --offload off || fail "over MPI: exit $?"
wanted=$(sum_of "$dir/out")
[ -n "$wanted" ] || fail 'no checksum over MPI'
widths='1280:1216 9000:2112'
[ "${1-}" != long ] || widths='1280:1216 1400:1344 1420:1344 1450:1408 1460:1408 1500:1472 2140:2112 9000:2112'
for w in $widths; do
    width "${w%:*}"
    on --steps 6 --offload udp://$udp || fail "MTU ${w%:*}: exit $?"
    [ "$(sum_of "$dir/out")" = "$wanted" ] || fail "MTU ${w%:*}: another checksum than $wanted"
    grep -q '^offload  *6 of 6 steps; 0 buckets' "$dir/out" || fail "MTU ${w%:*}: not all steps by the card"
    grep -q "frames of ${w#*:} bytes" "$dir/err" || fail "MTU ${w%:*}: frames"
done

on --steps 600 --offload off || fail "600 steps over MPI: exit $?"
wanted=$(sum_of "$dir/out")
on --steps 600 --offload udp://$udp --log "$dir/log" &
run=$!
while kill -0 $run 2>/dev/null && ! grep -qs '"step":20,' "$dir/log"; do sleep 0.02; done
width 1280
wait $run || fail "a path that became narrow: exit $?"
[ "$(sum_of "$dir/out")" = "$wanted" ] || fail "a path that became narrow: another checksum than $wanted"
grep -q 'abandoned: .* can now be reached only with packets of at most 1252 bytes' "$dir/err" || fail 'a path that became narrow: no word of it'
grep -q 'offload works again: .*frames of 1216 bytes' "$dir/err" || fail 'a path that became narrow: the card is not back'

exit $bad
