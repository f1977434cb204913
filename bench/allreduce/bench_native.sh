#!/bin/bash
# bench_native.sh : runs bench_native with the algorithm of Open MPI's MPI_Iallreduce that is the
# fastest on fp32.
# usage: bench/allreduce/bench_native.sh [RANKS [OPTION OF bench_native...]]
# Environment: B, the build folder; ROUNDS of trials [3].
set -euo pipefail
. "$(dirname "$0")/../usage.sh"
ranks=${1:-2}
shift $(($# > 0))
whole RANKS "$ranks" 'a number of ranks'
whole ROUNDS "${ROUNDS:-3}" 'a number of rounds'
. host/ranks.sh
# As users run it: Open MPI chooses pinning, spinning and CMA.
unset OMPI_MCA_pml OMPI_MCA_btl OMPI_MCA_btl_tcp_if_include OMPI_MCA_btl_vader_single_copy_mechanism OMPI_MCA_mpi_yield_when_idle
unset OMPI_MCA_hwloc_base_binding_policy PRTE_MCA_hwloc_default_binding_policy

with() {  # with ALGORITHM OPTION...: bench_native; ignore: Open MPI's own choice
    OMPI_MCA_coll_libnbc_iallreduce_algorithm=$1 mpirun -np "$ranks" "$B/bench_native" "${@:2}"
}
for _ in $(seq "${ROUNDS:-3}"); do
    for algorithm in ignore ring binomial rabenseifner recursive_doubling; do
        with "$algorithm" "$@" --json --only 'MPI_Iallreduce fp32' | sed -n "s/.*\"ms\":\([0-9.]*\).*/\1 $algorithm/p"
    done
done | sort -n | awk '!seen[$2]++ { printf "%-28s %9.2f ms\n", $2, $1 }' >"$B/bench_native.algorithms"
echo "MPI_Iallreduce fp32 by algorithm, the best of ${ROUNDS:-3} runs (ignore: what Open MPI takes by itself)"
cat "$B/bench_native.algorithms"
with "$(sed 's/ .*//;q' "$B/bench_native.algorithms")" "$@"
