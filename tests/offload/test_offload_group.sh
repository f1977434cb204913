#!/bin/bash
# test_offload_group.sh : trains with sums that cards send once to a multicast group, on loopback
# and on a small Ethernet (bench/netlab.sh); weights must equal those over MPI. If the group fails,
# the run prints one line and each rank gets its own frames.
set -eu
. "$(dirname "$0")/../lib/script.sh"
cards='' says="$dir/out $dir/err $dir/*.card" group=239.255.77.2
[ -n "${NETLAB_HOSTS-}" ] || . "$here/../host/ranks.sh" # netlab.sh has its own
# shellcheck disable=SC2086  # numbers
trap 'kill $cards $(jobs -p) 2>/dev/null || true; wait; rm -rf "$dir"' EXIT

# card ADDRESS OPTIONS...: port 0: any; address in $at
card() {
    rm -f "$dir/${1%:*}.card"
    ${NETLAB_HOSTS:+ip netns exec n5} "$n" sim --listen "$@" >"$dir/${1%:*}.card" 2>&1 &
    cards="$cards $!"
    while ! grep -qs '^listening' "$dir/${1%:*}.card" && kill -0 $! 2>/dev/null; do sleep 0.05; done
    at=$(sed -n 's/^listening on //p' "$dir/${1%:*}.card")
    [ -n "$at" ] || fail "no card at $1"
}
counter() { "$n" sim --counters "$at" --json | sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p"; }
on() {
    np=$1
    shift
    # shellcheck disable=SC2086
    mpirun ${NETLAB_MPI-} -np "$np" "$n" train --data synthetic:240,3 --batch 24 --lr 0.05 --model lenet5 --format e5m2 --scale aps-tight \
        --deadline 100 --card-deadline 30 "$@" >"$dir/out" 2>"$dir/err"
}
wanted() {
    on "$1" --steps "$2" --offload off || fail "over MPI: exit $?"
    sum=$(sum_of "$dir/out")
    [ -n "$sum" ] || fail 'no checksum over MPI'
}
# through NAME RANKS STEPS OPTIONS...: all steps through the card at $at, checksum $sum
through() {
    what=$1 np=$2 n_steps=$3
    shift 3
    on "$np" --steps "$n_steps" --offload "udp://$at" "$@" || fail "$what: exit $?"
    [ "$(sum_of "$dir/out")" = "$sum" ] || fail "$what: checksum '$(sum_of "$dir/out")', not '$sum'"
    grep -q "^offload  *$n_steps of $n_steps steps; 0 buckets" "$dir/out" || fail "$what: not all steps by the card"
}
given_up() { [ "$(grep -c "group $group:.* abandoned: $2; cards send to each rank instead" "$dir/err")" = 1 ] || fail "$1: not one line with '$2'"; }

if [ -z "${NETLAB_HOSTS-}" ]; then
    card 127.0.0.1:0 --engine c
    for np in 2 4; do
        wanted "$np" 4
        before=$(counter OUT_RESULT)
        through "$np ranks" "$np" 4
        alone=$(($(counter OUT_RESULT) - before))
        through "$np ranks, a group" "$np" 4 --card-group $group
        grep -q "sums to group $group:28259, " "$dir/err" || fail "$np ranks: no word of the group"
        # exponents go to each rank, one packet a step
        [ $(($(counter OUT_RESULT) - before - alone)) = $(((alone - 4 * np) / np + 4 * np)) ] || fail "$np ranks: $(counter OUT_RESULT) results"
    done
    plain=$at
    card 127.0.0.2:0 --engine c --drop 0.05 --dup 0.05 --reorder 0.1 --seed 3
    through '5 % lost' 4 4 --card-group $group:5002
    at=$plain
    grep -q "sums to group $group:5002, " "$dir/err" || fail '5 % lost: no word of the group'
    ! grep -q 'group .* abandoned' "$dir/err" || fail '5 % lost: abandoned'
    python3 -c 'import socket, time; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(("", 5003)); print(flush=True); time.sleep(60)' >"$dir/taken" &
    while [ ! -s "$dir/taken" ] && kill -0 $!; do sleep 0.05; done
    through 'a port that is taken' 4 4 --card-group $group:5003
    kill $!
    given_up 'a port that is taken' 'rank 0: cannot join: Address already in use'
    if ! grep -q 'built without Verilator' "$B/narrowcast-sim"; then
        wanted 2 1
        card 127.0.0.3:0
        through 'the Verilated card' 2 1 --card-group $group
        [ "$(counter IN_ADDED) $(counter OUT_RESULT)" = '64 33' ] || fail "the Verilated card: $(counter OUT_RESULT) results"
    fi
    for words in '10.1.1.1' '239.1.1.1:0' '239.1.1.1:70000' '239.1.1.1:' 'x'; do
        ! on 1 --steps 1 --offload "udp://$plain" --card-group "$words" || fail "--card-group $words is taken"
        grep -q "^narrowcast: '$words' is not a group: need" "$dir/err" || fail "--card-group $words: another line"
        case $words in *:*) grep -q 'a port from 1 to 65535' "$dir/err" || fail "--card-group $words: no word of ports" ;; esac
    done
    ! on 1 --steps 1 --offload xrt --card-group $group || fail '--card-group with --offload xrt'
    grep -q "^narrowcast: card xrt needs all ranks' addresses in the table of its shell" "$dir/err" || fail 'xrt: another line'
    # shellcheck disable=SC2016 # for the ranks
    ! mpirun -np 2 sh -c 'rank=$OMPI_COMM_WORLD_RANK; [ "$rank" = 0 ] && set -- "$@" --card-group "$0"; exec "$@"' $group \
        "$n" train --data synthetic:24,3 --steps 1 --offload "udp://$plain" >"$dir/out" 2>"$dir/err" || fail 'ranks with different words'
    grep -q 'card-group' "$dir/err" || fail 'ranks with different words: another line'
    [ $bad = 0 ] || exit 1
    rc=0
    B=$B "$here/../bench/netlab.sh" -n 5 -r none -- bash "$here/offload/test_offload_group.sh" "$@" || rc=$?
    [ $rc = 77 ] && echo 'the small Ethernet was left out' && rc=0
    exit $rc
fi

wanted 4 4
card 10.77.0.5:0 --engine c
through 'a switch' 4 4 --card-group $group
before=$(counter OUT_RESULT)
[ "$before" = 192 ] || fail "a switch: $before results"
ip link set br0 type bridge mcast_snooping 0
for i in 1 2 3 4; do
    ip link set "p$i" type bridge_slave mcast_flood off
    # The group fails for one node, then all: one step is repeated, others use the card.
    [ $i = 1 ] || [ $i = 4 ] || continue
    on 4 --steps 4 --offload "udp://$at" --card-group $group || fail "deaf up to node $i: exit $?"
    [ "$(sum_of "$dir/out")" = "$sum" ] || fail "deaf up to node $i: checksum '$(sum_of "$dir/out")', not '$sum'"
    grep -q '^offload  *3 of 4 steps' "$dir/out" || fail "deaf up to node $i: more than a step over MPI"
    given_up "deaf up to node $i" "rank [0-3]: card udp://$at sends multicast packets that this rank does not receive"
done
exit $bad
