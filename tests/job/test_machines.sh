#!/bin/bash
# test_machines.sh : without --algo, ranks of a machine add their codes first if there are several
# machines, with the checksum of `direct` (bench/netlab.sh: 1, 2 and 4 machines of 1, 2 and 4 ranks;
# without `long` 4 or 8 ranks in all).
set -eu
. "$(dirname "$0")/../lib/script.sh"
in_netlab -n 4 -r none
says="$dir/out $dir/err"

# on MACHINES RANKS OPTION...: trains on MACHINES * RANKS ranks, in order of machines
on() {
    local machines=$1 ranks=$2 hosts mpi
    shift 2
    # shellcheck disable=SC2086
    hosts=$(printf "%s:$ranks\n" $NETLAB_HOSTS | head -n "$machines" | paste -sd,)
    mpi=$(sed 's/--hostfile [^ ]*//; s/--map-by node//' <<<"$NETLAB_MPI")
    # shellcheck disable=SC2086
    mpirun $mpi --host "$hosts" --oversubscribe --map-by ppr:"$ranks":node --rank-by slot -np $((machines * ranks)) \
        "$B/narrowcast" train --data synthetic:240,3 --batch 48 --model mlp --format e4m3 --scale aps --quantise all \
        --steps 2 "$@" >"$dir/out" 2>"$dir/err" || fail "$machines machines of $ranks ranks, $*: exit $?"
}
n_sets=0

for p in 4 8 ${1:+2 16}; do
    on 1 "$p" --algo direct
    wanted=$(sum_of "$dir/out")
    [ -n "$wanted" ] || fail "$p ranks: no checksum"
    for machines in 1 2 4; do
        k=$((p / machines))
        case $k in 1 | 2 | 4) ;; *) continue ;; esac
        algo=direct
        [ $machines = 1 ] || [ $k = 1 ] || algo=group-scatter:$k
        on $machines $k
        [ "$(sum_of "$dir/out")" = "$wanted" ] || fail "$machines machines of $k ranks: another checksum than $wanted"
        grep -q "^gradients .* all-reduce $algo\$" "$dir/out" || fail "$machines machines of $k ranks: not by $algo"
        n_sets=$((n_sets + 1))
    done
done
# a named algorithm stays, and sums that depend on their order are made by `direct`
on 2 2 --algo direct
grep -q '^gradients .* all-reduce direct$' "$dir/out" || fail 'not by direct, as asked'
on 2 2 --sum nearest
grep -q '^gradients .* all-reduce direct$' "$dir/out" || fail 'rounded sums: not by direct'
# GPUs, too; fp32 layers have the bits of `direct`
if [ -e "$B/emu/libnarrowcast_cuda.so" ]; then
    export NARROWCAST_CUDA="$B/emu/libnarrowcast_cuda.so" NARROWCAST_CONV=first
    for transport in ipc pinned; do
        on 1 4 --device cuda --algo direct --quantise large
        wanted=$(sum_of "$dir/out")
        NARROWCAST_GPU_TRANSPORT=$transport on 2 2 --device cuda --quantise large
        [ "$(sum_of "$dir/out")" = "$wanted" ] || fail "GPUs, $transport: another checksum than $wanted"
        grep -q '^gradients .* all-reduce group-scatter:2$' "$dir/out" || fail "GPUs, $transport: $(grep ^gradients "$dir/out")"
    done
else
    echo 'skip: no emulator of GPUs in this build: --device cuda'
fi
[ $bad != 0 ] || echo "$n_sets sets of machines, one checksum for each number of ranks"
exit $bad
