#!/bin/bash
# test_gpu_deadline.sh : a rank stops while GPUs exchange codes; the others must end with one line
# that names it.
set -u
. "$(dirname "$0")/../../host/ranks.sh"
B=${B:-build}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
bad=0
# a missing message blocks only its own stream
export EMU_ASYNC=1
ends() {
    local rc said
    timeout -k 2 300 mpirun -np 4 "$B/tests/test_gpu_algo_mpi" silent "$1" "$2" >"$log" 2>&1 </dev/null
    rc=$?
    said=$(tr -d '\0' <"$log" | grep '^narrowcast:')
    if grep -q '^skip' "$log"; then
        grep -m1 '^skip' "$log"
        exit 77
    fi
    if [ "$1" = nccl ] && [[ $said == *'share a GPU'* ]]; then
        echo "skip: NCCL: ranks share a GPU"
        return
    fi
    if [ "$rc" = 0 ] || [ "$rc" = 124 ] ||
        [ "$said" != 'narrowcast: rank 1 of 4 did not answer for 2 s' ]; then
        echo "$2 by $1: exit $rc, said \"$said\""
        tail -n 20 "$log"
        bad=1
    fi
}
ends ipc direct
ends ipc group-scatter:2
ends nccl direct
ends nccl native
exit $bad
