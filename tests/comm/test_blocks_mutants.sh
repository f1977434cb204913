#!/bin/bash
# test_blocks_mutants.sh : plants mutants that make results depend on the number of processes; a
# test of blocks must fail for each (without `long` for every other one). A line of the list: file in
# host/, test program, number of processes, sed command. Exit 1: a mutant has survived, does not compile, or changes nothing.
set -u
. "$(dirname "$0")/../lib/in_folder.sh"
list() {
    cat <<'END'
reduce/reducer_bucket.c             test_nc_blocks_mpi 2 s/(uint32_t)comm_rank(r->comm)/(uint32_t)comm_lowest_here(r->comm, comm_rank(r->comm))/
job/job.c                           test_nc_blocks_mpi 2 s/n_ranks = comm_n_ranks(j->comm)/n_ranks = comm_n_processes(j->comm)/
job/nc.c                            test_nc_blocks_mpi 3 s/comm_virtual_lowest(nc->virtual) + k)/comm_virtual_lowest(nc->virtual))/
comm/virtual/comm_virtual_far.c     test_blocks_mpi    3 s/for (int r = 0; r < v->n_ranks && rc == 0; r++)/for (int r = v->n_ranks - 1; r >= 0 \&\& rc == 0; r--)/; s/if (r == 0)/if (r == v->n_ranks - 1)/
comm/virtual/comm_virtual_far.c     test_blocks_mpi    3 s/(int64_t)v->n_ranks \* process \/ v->below->n_ranks/(int64_t)(v->n_ranks \/ v->below->n_ranks) * process/
comm/virtual/comm_virtual_far.c     test_blocks_mpi    2 s/m->head.from == head->from && //
comm/virtual/comm_virtual_far.c     test_blocks_mpi    2 s/m->head.to == head->to && //
comm/virtual/comm_virtual_far.c     test_blocks_mpi    2 s/ && m->head.tag == head->tag//
comm/virtual/comm_virtual_far.c     test_blocks_mpi    2 s/if (m->n_left == 0)/if (m->n_left >= 0)/
comm/virtual/comm_virtual_message.c test_blocks_mpi    3 s/ && !(v->below && how == COMM_SUM_F64)//
comm/virtual/comm_virtual_message.c test_blocks_mpi    3 s/virtual_index(v, any->how) : 0/0 : 0/
END
}

cd "$here/.." || exit 1
# build SOURCE FILE TEST: links SOURCE instead of FILE. Its object precedes the library, so the
# library's own is not linked.
build() {
    # shellcheck disable=SC2046 # flags are words
    OMPI_CC=${CC:-cc} ${MPICC:-mpicc} $(sed 's/^[^ ]* [^ ]* //; s/-lopenblas.*//' "$B/flags") -O1 -w -Ihost/"${2%/*}" \
        "$1" "$B/o/$(dirname tests/*/"$3".c)/$3.o" "$B/o/host/comm/mpi/mpi_calls.o" "$B/libnarrowcast.a" -lopenblas -lz -lm -ldl -lpthread -o "$dir/mutant" </dev/null >"$dir/said" 2>&1
}
declare -A limit # of a test: ten times the seconds of the unchanged program
# control FILE TEST PROCESSES: the unchanged program must pass, once for each test
control() {
    local start
    [ -z "${limit[$2]-}" ] || return 0
    build "host/$1" "$1" "$2" || { fail "unchanged, $1 does not compile: $(tail -n 3 "$dir/said")"; exit 1; }
    start=$SECONDS
    timeout 300 mpirun -np "$3" "$dir/mutant" </dev/null >"$dir/said" 2>&1 ||
        { fail "unchanged, $2 fails on $3 processes: $(tail -n 3 "$dir/said")"; exit 1; }
    limit[$2]=$((10 * (SECONDS - start + 1)))
}
caught=0
while read -r file test processes change; do
    sed "$change" "host/$file" >"$dir/mutant.c"
    if cmp -s "host/$file" "$dir/mutant.c"; then
        fail "changes nothing: $file: $change"
        continue
    fi
    control "$file" "$test" "$processes"
    if ! build "$dir/mutant.c" "$file" "$test"; then
        fail "does not compile: $file: $change: $(tail -n 3 "$dir/said")"
        continue
    fi
    if timeout "${limit[$test]}" mpirun -np "$processes" "$dir/mutant" </dev/null >"$dir/said" 2>&1; then
        fail "survives $test on $processes processes: $file: $change"
    else
        caught=$((caught + 1))
    fi
done < <(list | sed -n "1~$([ "${1-}" = long ] && echo 1 || echo 2)p")
echo "$caught mutants caught"
exit $bad
