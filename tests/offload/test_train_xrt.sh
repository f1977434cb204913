#!/bin/bash
# test_train_xrt.sh : trains through a card that rank 0 or `narrowcast card` owns through XRT
# (simulated, under Debian's libxrt_coreutil). Weights must equal those over MPI. A busy, wrong,
# dead or silent card costs one line and changes no bit.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
. "$(dirname "$0")/../lib/card_net.sh"
need_xrt
export XILINX_XRT="$B/xrt" NARROWCAST_XCLBIN="$B/narrowcast.sim.xclbin"
ranks_in "$dir"

# served NAME OPTIONS...: `narrowcast card` on a free loopback port; address in $NAME.at, process
# id in $NAME.pid
served() {
    name=$1
    shift
    rm -f "$name.out"
    "$n" card --listen 127.0.0.1:0 "$@" >"$name.out" 2>"$name.err" &
    echo $! >"$name.pid"
    cards="$cards $!"
    while ! grep -qs "^listening on " "$name.out" && kill -0 $! 2>/dev/null; do sleep 0.1; done
    sed -n 's/^listening on \([^,]*\),.*/udp:\/\/\1/p' "$name.out" >"$name.at"
    [ -s "$name.at" ] || fail "card $name did not come up: $(cat "$name.out" "$name.err")"
}

all_by_card() {
    case "$(by_card "$2")" in
    "0 of"*) fail "$1: no step came through the card: $(tail -n 3 stderr)" ;;
    *) [ "$(by_card "$2" | sed 's/ of.*//')" = "$(by_card "$2" | sed 's/.*of //')" ] || fail "$1: $(by_card "$2") steps came through the card" ;;
    esac
}

one() {
    if [ "$(grep -c '^narrowcast: ' "$3")" != 1 ] || ! grep -q "^narrowcast: .*$2" "$3"; then fail "$1: said '$(cat "$3")'"; fi
}

# refuses NAME PATTERN COMMAND...: COMMAND fails within a minute, not by a signal, and prints one line that
# matches PATTERN
refuses() {
    local code=0
    timeout 60 "${@:3}" >refused.out 2>refused.err || code=$?
    { [ $code -gt 0 ] && [ $code -lt 124 ]; } || fail "$1: exit $code"
    one "$1" "$2" refused.err
}

on 4 --steps 12 --algo direct >direct.out 2>>stderr
direct=$(sum_of direct.out)
on 2 --steps 12 --algo direct --seed 7 --format e4m3 >direct2.out 2>>stderr
direct2=$(sum_of direct2.out)

"$n" info >info.out
for fact in 'XRT  *2\.' 'xclbin .*nic_core, reduce_mm' 'xrt:0  *.*sim_verilator_1, .*40 C'; do
    grep -q "^$fact" info.out || fail "info has no '$fact': $(grep -E '^(XRT|xclbin|xrt)' info.out)"
done

for model in c $rtl; do
    NARROWCAST_SIM_ENGINE=$model on 4 --steps 12 --offload xrt --log log >out 2>>stderr || fail "--offload xrt ($model): exit $?"
    same "--offload xrt ($model)" out "$direct"
    all_by_card "--offload xrt ($model)" log
    rm -f log
done
export NARROWCAST_SIM_ENGINE=c
LD_LIBRARY_PATH=$B mpirun -np 2 "$B/tests/test_nc_fork_mpi" xrt >out 2>&1 || fail "forked children that exit: $(tail -n 3 out)"

served one
on 4 --steps 12 --offload "$(at one)" --log log1 >out1 2>err1 &
first=$!
on 2 --steps 12 --offload "$(at one)" --log log2 --seed 7 --format e4m3 >out2 2>err2 || fail "the second job: exit $?"
wait $first || fail "the first job: exit $?: $(tail -n 3 err1)"
same "the first job of two" out1 "$direct"
same "the second job of two" out2 "$direct2"
all_by_card "the first job of two" log1
all_by_card "the second job of two" log2

card=("$n" card --listen 127.0.0.1:0)
refuses "a busy card" "xrt:0: .*nic_core" "${card[@]}"
on 2 --steps 12 --offload xrt --seed 7 --format e4m3 --log log3 >out 2>err || fail "a busy card, --offload xrt: exit $?"
same "--offload xrt of a busy card" out "$direct2"
[ "$(by_card log3)" = "0 of 12" ] || fail "a busy card: $(by_card log3) steps came through it"
uncard one
[ -z "$(hidden_cards)" ] || fail "a simulated device has outlived its program"

for what in "no such file:--xclbin nosuch.xclbin:nosuch.xclbin" "no container:--xclbin $here/lib/card_net.sh:xclbin2" "no such card:--xrt 7:device 7" \
    "no name:--xrt x@y:is not a card"; do
    IFS=: read -r name options pattern <<<"$what"
    # shellcheck disable=SC2086
    refuses "$name" "$pattern" "${card[@]}" $options
done
head -c 900 "$NARROWCAST_XCLBIN" >cut.xclbin
refuses "a container that is cut" cut.xclbin "${card[@]}" --xclbin cut.xclbin
refuses "no library" 'NARROWCAST_XRT names "/no/where.so"' env NARROWCAST_XRT=/no/where.so "${card[@]}"
refuses "no XRT" 'XILINX_XRT is not set' env XILINX_XRT= "${card[@]}"
refuses "another container than the one given" 'another xclbin' env NARROWCAST_SIM_FAULT=uuid "${card[@]}"

sed 's/2\.13\.0/2.12.0/g' "$B/libnarrowcast_xrt.so" >old.so
NARROWCAST_XRT=$dir/old.so on 2 --steps 2 --offload xrt --log log >out 2>err || fail "an older XRT: exit $?"
[ "$(grep -c 'XRT .* is installed, but .* built with 2.12.0' err)" = 1 ] || fail "an older XRT: said '$(cat err)'"
all_by_card "an older XRT" log
rm -f log
sed 's/xrtRunWaitFor/xrtRunWaitFox/g' "$B/libnarrowcast_xrt.so" >lacks.so
refuses "an XRT without a function" 'does not load: .*xrtRunWaitFox' env NARROWCAST_XRT="$dir/lacks.so" "${card[@]}"
[ "${1-}" != check ] || exit $bad

# --- registers fall silent: at open, during registration, at the end ---
for n_reads in 0 5 20 60; do
    rm -f log
    NARROWCAST_SIM_FAULT=read-hangs:$n_reads on 2 --steps 12 --seed 7 --format e4m3 --offload xrt --log log >out 2>err ||
        fail "silent after $n_reads reads: exit $?: $(tail -n 3 err)"
    same "silent after $n_reads reads" out "$direct2"
    [ "$(grep -c 'XRT did not return' err)" -le 1 ] || fail "silent after $n_reads reads: said '$(cat err)'"
    echo "silent after $n_reads reads: $(by_card log) steps came through the card"
done

on 3 --steps 150 --algo direct >direct.out 2>>stderr
# lose WHERE: kills the device 20 steps into a run
lose() {
    rm -f log
    on 3 --steps 150 --offload "$1" --log log >out 2>err &
    job=$!
    while kill -0 $job 2>/dev/null && [ "$(steps log)" -lt 20 ]; do sleep 0.05; done
    # shellcheck disable=SC2046
    kill -KILL $(hidden_cards)
    wait $job || fail "$1 is lost: exit $?: $(tail -n 3 err)"
    same "$1 is lost" out "$(sum_of direct.out)"
    [ "$(grep -c '^narrowcast: warning: offload' err)" -ge 1 ] || fail "$1 is lost: nothing was said: $(cat err)"
}
lose xrt
served lost
lose "$(at lost)"
code=0
wait "$(cat lost.pid)" || code=$?
{ [ $code -gt 0 ] && [ $code -lt 124 ]; } || fail "narrowcast card without its device: exit $code"
one "a lost device" "xrt:0" lost.err
exit $bad
