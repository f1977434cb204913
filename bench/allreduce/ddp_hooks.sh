#!/bin/bash
# ddp_hooks.sh : compares PyTorch DDP's hooks over slow links: narrowcast's, gloo's fp32, and
# PyTorch's own (fp16, PowerSGD), for a step of resnet18 on CPUs.
# usage: bench/allreduce/ddp_hooks.sh [NODES [RATE [IMAGE [BATCH [STEPS]]]]]      4 1gbit 64 4 9
#        HOOKS=bench/allreduce/fsdp_comms.py PYTHON=... bench/allreduce/ddp_hooks.sh [NODES [RATE [STEPS]]]     FSDP2 instead
# Environment: B, the build folder; PYTHON, one with torch. One rank and thread per node. Run as
# root, like netlab.sh.
set -eu
. "$(dirname "$0")/../usage.sh"
B=$(realpath "${B:-build}")
export HOOKS=${HOOKS:-bench/allreduce/ddp_hooks.py} PYTHON=${PYTHON:-/usr/bin/python3} NARROWCAST_LIBRARY=$B/libnarrowcast.so.0 OMP_NUM_THREADS=1
nodes=${1:-4} rate=${2:-1gbit}
shift $(($# < 2 ? $# : 2))
"$PYTHON" -c 'import torch.distributed' 2>/dev/null || { echo "ddp_hooks.sh: $PYTHON has no PyTorch (python3-torch); PYTHON= names another" >&2; exit 2; }
# shellcheck disable=SC2016  # the variables are netlab.sh's
bench/netlab.sh -n "$nodes" -r "$rate" -- bash -c '
    set -- $NETLAB_HOSTS -- "$@"
    rank=0 first=$1 hosts=()
    while [ "$1" != -- ]; do hosts+=("$1") && shift; done
    shift
    for host in "${hosts[@]}"; do
        netlab-exec "$host" "GLOO_SOCKET_IFNAME=\$(ip -o -4 addr | sed -n \"s/^[0-9]*: \([^ ]*\) .* $host.*/\1/p\") \
            ${PYTHON@Q} $HOOKS $rank ${#hosts[@]} $first:29500 ${*@Q}" &
        rank=$((rank + 1))
    done
    for job in $(jobs -p); do wait "$job" || exit 1; done' - "$@"
