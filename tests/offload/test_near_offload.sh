#!/bin/bash
# test_near_offload.sh : on several machines (bench/netlab.sh) near ranks add their codes before a
# card does, where that saves bytes; checksums are those of `direct` and of each rank's own frames.
set -eu
. "$(dirname "$0")/../lib/script.sh"
in_netlab -n 4 -r none
says="$dir/out $dir/err $dir/*.card" cards=''
# shellcheck disable=SC2086  # numbers
trap 'kill $cards $(jobs -p) 2>/dev/null || true; wait; rm -rf "$dir"' EXIT

# card PORT OPTION...: at the head
card() {
    rm -f "$dir/$1.card"
    "$n" sim --listen 10.77.0.254:"$1" "${@:2}" >"$dir/$1.card" 2>&1 &
    cards="$cards $!"
    while ! grep -qs '^listening' "$dir/$1.card" && kill -0 $! 2>/dev/null; do sleep 0.05; done
}

short='--data synthetic:240,3 --batch 48 --model mlp --quantise all'
# on MACHINES RANKS OPTION...: trains on MACHINES * RANKS ranks, in order of machines
on() {
    local machines=$1 ranks=$2 hosts mpi
    shift 2
    # shellcheck disable=SC2086
    hosts=$(printf "%s:$ranks\n" $NETLAB_HOSTS | head -n "$machines" | paste -sd,)
    mpi=$(sed 's/--hostfile [^ ]*//; s/--map-by node//' <<<"$NETLAB_MPI")
    # shellcheck disable=SC2086
    mpirun $mpi --host "$hosts" --oversubscribe --map-by ppr:"$ranks":node --rank-by slot -np $((machines * ranks)) \
        "$n" train $short --deadline 100 --card-deadline 30 "$@" \
        >"$dir/out" 2>"$dir/err" || { fail "$machines machines of $ranks ranks, $*: exit $?" && return 1; }
}

steps() { if [ -s "$dir/log" ]; then grep -c '"kind":"step"' "$dir/log" || true; else echo 0; fi; }
# wanted MACHINES RANKS OPTION...: sets sum to the checksum with emulated ranks
wanted() {
    # shellcheck disable=SC2086
    "$n" emulate --ranks $(($1 * $2)) $short "${@:3}" >"$dir/out" 2>"$dir/err" || fail "$*: $(cat "$dir/err")"
    sum=$(sum_of "$dir/out")
}
# through NEAR PORT MACHINES RANKS OPTION...: all of 3 steps by the card, checksum $sum; NEAR: its words, or 'own frames'
through() {
    local near=$1 port=$2 what="${*:3}, card $2"
    shift 2
    on "$@" --offload "udp://10.77.0.254:$port"
    [ "$(sum_of "$dir/out")" = "$sum" ] || fail "$what: checksum '$(sum_of "$dir/out")', not '$sum'"
    grep -q '^offload  *3 of 3 steps; 0 buckets' "$dir/out" || fail "$what: not all steps by the card"
    case $near in
    'own frames') ! grep -q 'add first' "$dir/err" || fail "$what: near ranks add first" ;;
    *) grep -q "^all-reduce: offload through 1 card.*, $near, frames" "$dir/err" || fail "$what: not '$near'" ;;
    esac
}

card 4001 --engine c
card 4002 --engine c --drop 0.05 --dup 0.05 --reorder 0.1 --seed 5
card 4003 --engine narrow
near='3 near ranks add first, in fp16'

e2m5f='--steps 3 --format e2m5f --scale aps-tight:32 --out-format e2m5f'
# shellcheck disable=SC2086  # words
{
    wanted 2 3 $e2m5f
    through "$near" 4001 2 3 $e2m5f
    through "sums to group .*, $near" 4001 2 3 $e2m5f --card-group 239.255.77.3
    through '3 near blocks add first, in fp16' 4001 2 1 $e2m5f --blocks 6
    through 'own frames' 4001 2 3 $e2m5f --algo direct
    through 'own frames' 4003 2 3 $e2m5f # this card has no 16 bits
    if grep -q 'built without Verilator' "$B/narrowcast-sim"; then
        echo 'skip: built without Verilator: no Verilated card'
    else
        card 4004 --engine rtl
        through "$near" 4004 2 3 $e2m5f
    fi
}
wanted 2 4 --steps 3 --format e3m0 --scale aps --out-format e4m3 --overlap on
through '4 near ranks add first, in fp16' 4002 2 4 --steps 3 --format e3m0 --scale aps --out-format e4m3 --overlap on
wanted 4 2 --steps 3 --format e2m1f --scale aps-tight --out-format e4m3 --bucket-bytes 64k
through '2 near ranks add first, in e[1-3]m[4-6]f*' 4001 4 2 --steps 3 --format e2m1f --scale aps-tight --out-format e4m3 --bucket-bytes 64k
wanted 2 2 --steps 3 --format e4m3 --scale aps # its sums have too many bits
through 'own frames' 4001 2 2 --steps 3 --format e4m3 --scale aps
wanted 2 2 --steps 3 --codec ternary # 2 bits, which cards do not add
through 'own frames' 4001 2 2 --steps 3 --codec ternary

# a card killed in mid-run
wanted 2 3 --steps 80 --format e3m0 --scale aps --out-format e4m3
card 4005 --engine c
victim=$!
on 2 3 --steps 80 --format e3m0 --scale aps --out-format e4m3 --offload udp://10.77.0.254:4005 --log "$dir/log" &
run=$!
while kill -0 $run 2>/dev/null && [ "$(steps)" -lt 20 ]; do sleep 0.02; done
kill -KILL $victim
wait $run || fail 'killed card: the run failed'
[ "$(sum_of "$dir/out")" = "$sum" ] || fail "killed card: checksum '$(sum_of "$dir/out")', not '$sum'"
[ "$(grep -c 'warning: offload abandoned' "$dir/err")" = 1 ] || fail 'killed card: not one warning'
case "$(sed -n 's/^offload  *\([0-9]*\) of .*/\1/p' "$dir/out")" in '' | 0 | 80) fail 'killed card: not in mid-run' ;; esac
[ $bad != 0 ] || echo 'near ranks add first, with the bits of direct'
exit $bad
