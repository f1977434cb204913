#!/bin/bash
# test_xrt_hosts.sh : `narrowcast card` serves a job on its host and one with ranks in network
# namespaces (bench/netlab.sh). Weights equal those over MPI.
set -eu
. "$(dirname "$0")/../lib/script.sh"
. "$here/lib/ranks_in.sh"
need_xrt
in_netlab -n 2 -r none
export XILINX_XRT="$B/xrt" NARROWCAST_XCLBIN="$B/narrowcast.sim.xclbin" NARROWCAST_SIM_LISTEN=10.77.0.254:4000
card='' says="$dir/*.out $dir/*.err"
ranks_in "$dir" # the simulated card, used only here, records its owner there
trap 'kill $card 2>/dev/null || true; wait; rm -rf "$dir"' EXIT
on() {
    local name=$1 ranks=$2
    shift 2
    # shellcheck disable=SC2086
    mpirun ${HOSTS-} -np "$ranks" "$n" train --data synthetic:240,3 --batch 24 --lr 0.05 --model lenet5 --scale aps-tight --steps 12 "$@" \
        --log "$dir/$name.log" >"$dir/$name.out" 2>"$dir/$name.err" || fail "$name: exit $?"
}
checksum() { sum_of "$dir/$1.out"; }

on mpi_here 3 --format e5m2 --algo direct
on mpi_there 2 --format e4m3 --seed 7 --algo direct
"$n" card --listen 10.77.0.254:4711 >"$dir/card.out" 2>"$dir/card.err" &
card=$!
while ! grep -qs '^listening' "$dir/card.out" && kill -0 $card; do sleep 0.1; done
on here 3 --format e5m2 --offload udp://10.77.0.254:4711 &
HOSTS=$NETLAB_MPI on there 2 --format e4m3 --seed 7 --offload udp://10.77.0.254:4711
wait $!
for job in here there; do
    [ "$(grep -c '"offload":true' "$dir/$job.log")" = 12 ] || fail "$job: not every step came through the card"
    if [ -z "$(checksum $job)" ] || [ "$(checksum $job)" != "$(checksum mpi_$job)" ]; then
        fail "$job: '$(checksum $job)', over MPI '$(checksum mpi_$job)'"
    fi
done
on grouped 2 --format e4m3 --seed 7 --offload udp://10.77.0.254:4711 --card-group 239.255.77.2
grep -q 'group .* abandoned: card udp://.* cannot send to a group; cards send to each rank instead' "$dir/grouped.err" || fail 'a group: no word of it'
[ "$(grep -c '"offload":true' "$dir/grouped.log") $(checksum grouped)" = "12 $(checksum mpi_there)" ] || fail 'a group'
exit $bad
