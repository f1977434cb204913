#!/bin/bash
# test_pmpi.sh : preloads libnarrowcast-pmpi.so into programs without narrowcast. Sums of many
# floats must have narrowcast.h's bits. The first runs are on 5 ranks, with `long` also on 4.
set -u
. "$(dirname "$0")/../lib/in_folder.sh"
tree=$(dirname "$here")
pmpi=$B/libnarrowcast-pmpi.so
need_plain "$pmpi"
for word in FORMAT SCALE SUM ROUND ALGO OUT_FORMAT COMMS LEAST_BYTES DEADLINE REPORT; do unset "NARROWCAST_$word"; done
mpicc=${MPICC:-mpicc}
"$mpicc" -O2 -Wall -Wextra -Werror "$here/pmpi/pmpi_plain.c" -lm -o plain || fail "plain is not built"
"$mpicc" -O2 -Wall -Wextra -Werror -DBY_NC -I"$tree/host/include" "$here/pmpi/pmpi_plain.c" -L"$B" -Wl,-rpath="$B" -lnarrowcast -lm -o by_nc ||
    fail "by_nc is not built"

# runs RANKS PROGRAM ARG [VARIABLE=VALUE...]: sets $said and $lines. PRELOAD= leaves our library out
runs() {
    local preload="LD_PRELOAD=$pmpi" # for ranks, not for mpirun
    case " ${*:4} " in *' PRELOAD= '*) preload=PRELOAD= ;; esac
    "$here/stuck.sh" 100 env "${@:4}" mpirun -np "$1" env "$preload" "$2" "$3" >out 2>err </dev/null || fail "$*: exit $?: said $(head -n 3 out); $(head -n 150 err)"
    said=$(cat out) lines=$(grep '^narrowcast:' err)
}
narrow=(NARROWCAST_FORMAT=e4m3 NARROWCAST_SCALE=aps NARROWCAST_REPORT=1 NARROWCAST_LEAST_BYTES=10000)
for p in 5 ${1:+4}; do
    runs "$p" ./plain exact PRELOAD=
    exact=$said
    [ "${exact% *}" = checksum ] || fail "said '$exact'"
    runs "$p" ./plain exact
    [ "$said" = "$exact" ] || fail "without a format: '$said', not '$exact'"
    [ "$lines" = 'narrowcast: sums are not narrowed: set NARROWCAST_FORMAT to a format' ] || fail "without a format: '$lines'"
    runs "$p" ./by_nc narrow "${narrow[@]}" PRELOAD=
    by_nc=$said
    runs "$p" ./plain narrow "${narrow[@]}"
    { [ "$said" = "$by_nc" ] && [ "$said" != "$exact" ]; } || fail "$p ranks: '$said', by narrowcast.h '$by_nc', exact '$exact'"
    [[ $lines == 'narrowcast: '[1-9]*' sums narrowed: '*' bytes of codes instead of '* ]] || fail "report: '$lines'"
done
runs 4 ./plain world "${narrow[@]}" NARROWCAST_COMMS=world
runs 4 ./plain world "${narrow[@]}" NARROWCAST_COMMS=other,MPI_COMM_WORLD
runs 4 ./plain exact "${narrow[@]}" NARROWCAST_COMMS=MPI_COMM
[[ $lines == *'no sum was narrowed: no communicator had a name of NARROWCAST_COMMS "MPI_COMM" at its first sum of 10000 bytes or more'* ]] || fail "a name of none: '$lines'"
runs 4 ./plain exact "${narrow[@]}" NARROWCAST_LEAST_BYTES=1000000
[ "$lines" = 'narrowcast: 0 sums narrowed: 0 bytes of codes instead of 0' ] || fail "nothing narrowed: '$lines'"
for word in many 0x10; do
    runs 4 ./plain exact "${narrow[@]}" NARROWCAST_LEAST_BYTES=$word
    [[ $lines == *"bad NARROWCAST_LEAST_BYTES \"$word\": need a number above 0" ]] || fail "LEAST_BYTES=$word: '$lines'"
done
runs 4 ./plain exact "${narrow[@]}" NARROWCAST_FORMAT=fp32 NARROWCAST_SCALE= NARROWCAST_ALGO=native
[[ $lines == 'narrowcast: '[1-9]*' sums narrowed: '* ]] || fail "fp32 by native: '$lines'"
runs 4 ./plain exact "${narrow[@]}" NARROWCAST_FORMAT=e9m9 # MPI adds; rank 0 of the world and of the other half print the reason
[ "$(grep -c "^narrowcast: .*e9m9" err)" = 2 ] || fail "e9m9, not said once: '$(head -n 3 err)'"
[ "$(grep -cx 'narrowcast: sums are not narrowed: correct the variable of that option, such as NARROWCAST_ROUND for --round' err)" = 2 ] || fail "e9m9: '$(head -n 5 err)'"
cat >differs <<'END'
#!/bin/sh
[ "${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}" = 2 ] && export "$RANK_2"
exec ./plain "$@"
END
chmod +x differs
for word in SCALE=none DEADLINE=x; do # the latter is refused only there
    runs 4 ./differs exact "${narrow[@]}" "RANK_2=NARROWCAST_$word"
    [[ $lines == *'NARROWCAST_* differs between ranks'* ]] || fail "ranks differ in $word: '$lines'"
done

cat >first_without <<'END'
#!/bin/sh
[ "${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}" != 0 ] || unset NARROWCAST_FORMAT
exec ./plain "$@"
END
chmod +x first_without
runs 4 ./first_without exact "${narrow[@]}"
[ "$lines" = 'narrowcast: sums are not narrowed: NARROWCAST_* differs between ranks (mpirun -x passes it to all ranks)' ] ||
    fail "rank 0 has no format: '$lines'"

if command -v mpifort >/dev/null && command -v gfortran >/dev/null; then
    sed 's/use mpi$/use mpi_f08/; s/integer :: rank, n_ranks, ierr, comm, request, requests(2),/type(MPI_Comm) :: comm; type(MPI_Request) :: request, requests(2); integer :: rank, n_ranks, ierr,/' \
        "$here/pmpi/pmpi_plain.f90" >f08.f90
    cp "$here/pmpi/pmpi_plain.f90" f90.f90
    for kind in f90 f08; do
        mpifort -O1 "$kind.f90" -o "$kind" >said 2>&1 || { fail "$kind is not built: $(head -n 5 said)"; continue; }
        runs 4 "./$kind" ''
        [ "$(tr '\n' ';' <<<"$said")" = 'blocking exact;in place exact;non-blocking exact;to one rank exact;later exact;' ] || fail "$kind, no format: '$said'"
        runs 4 "./$kind" refuse "${narrow[@]}"
        [ "$(tr '\n' ';' <<<"$said")" = 'blocking narrow;in place narrow;non-blocking narrow;to one rank narrow;later narrow;' ] || fail "$kind, narrow: '$said'"
    done
else
    echo 'not run: Fortran (no gfortran)'
fi

# Wrong calls must end as without the library.
"$mpicc" -O2 -Wall -Wextra -Werror "$here/pmpi/pmpi_wrong.c" -o wrong || fail "wrong is not built"
runs 2 ./wrong - PRELOAD=
plain=$said
runs 2 ./wrong - "${narrow[@]}"
[ "$said" = "$plain" ] || fail "wrong calls: $(diff <(echo "$plain") <(echo "$said"))"

python=''
for at in python3 /usr/bin/python3; do "$at" -c 'import mpi4py' 2>/dev/null && python=$at && break; done
if [ -n "$python" ]; then
    for want in exact narrow; do
        words=() && [ $want = exact ] || words=("${narrow[@]}")
        runs 4 "$python" "$here/pmpi/pmpi_plain.py" "${words[@]}"
        [ "$said" = $want ] || fail "mpi4py: '$said', not '$want'"
    done
else
    echo 'not run: mpi4py (not installed)'
fi

# Ranks may open communicators in any order, sum new lengths on them in any order, and leave some
# to MPI_Finalize.
cat >crossed.c <<'END'
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>
static float x[2][100000], y[2][100000];
int main(void)
{
    MPI_Comm comm[2] = {MPI_COMM_WORLD};
    MPI_Request request[2];
    int rank;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(comm[0], &rank);
    MPI_Comm_dup(comm[0], &comm[1]);
    for (int i = 0; i < 100000; i++)
        x[0][i] = x[1][i] = 1;
    for (int i = 0; i < 2; i++) {
        const int k = i ^ (rank & 1);
        MPI_Iallreduce(x[k], y[k], 100000, MPI_FLOAT, MPI_SUM, comm[k], &request[i]);
    }
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 2; i++) {
        if (rank == 0)
            MPI_Allreduce(x[i], y[i], 99998 + i, MPI_FLOAT, MPI_SUM, comm[i]);
        MPI_Iallreduce(x[!i], y[!i], 99998 + i, MPI_FLOAT, MPI_SUM, comm[!i], &request[0]);
        usleep(100000);
        if (rank == 1)
            MPI_Allreduce(x[i], y[i], 99998 + i, MPI_FLOAT, MPI_SUM, comm[i]);
        MPI_Wait(&request[0], MPI_STATUS_IGNORE);
    }
    if (rank == 0)
        printf("%g %g\n", y[0][99999], y[1][0]);
    return MPI_Finalize();
}
END
"$mpicc" -O2 -Wall -Wextra -Werror crossed.c -o crossed || fail "crossed is not built"
runs 2 ./crossed - "${narrow[@]}"
[ "$said" = '2 2' ] || fail "communicators in another order on each rank: '$said'"

# Sums with ranks of another MPI_COMM_WORLD, here without the library, are MPI's.
cat >spawn.c <<'END'
#include <mpi.h>
#include <stdio.h>
static float x[20000], y[20000];
int main(int argc, char **argv)
{
    MPI_Comm parent, both, all;
    (void)argc;
    MPI_Init(NULL, NULL);
    MPI_Comm_get_parent(&parent);
    if (parent == MPI_COMM_NULL)
        MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &both, MPI_ERRCODES_IGNORE);
    else
        both = parent;
    MPI_Intercomm_merge(both, parent != MPI_COMM_NULL, &all);
    for (int i = 0; i < 20000; i++)
        x[i] = 1.03f;
    MPI_Allreduce(x, y, 20000, MPI_FLOAT, MPI_SUM, all);
    if (parent == MPI_COMM_NULL)
        printf("%g\n", y[19999]);
    MPI_Comm_free(&all);
    MPI_Comm_disconnect(&both);
    return MPI_Finalize();
}
END
"$mpicc" -O2 -Wall -Wextra -Werror spawn.c -o spawn || fail "spawn is not built"
runs 1 ./spawn - "${narrow[@]}"
[ "$said" = 2.06 ] || fail "a sum with ranks of another world: '$said'"

# A wrong NARROWCAST_ALGO refuses also the reduce before the first all-reduce.
cat >reduces.c <<'END'
#include <mpi.h>
#include <stdio.h>
static float x[100000], y[2][100000];
int main(void)
{
    int rank;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 100000; i++)
        x[i] = 1.03f;
    MPI_Reduce(x, y[0], 100000, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Allreduce(x, y[1], 100000, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%g %g\n", y[0][99999], y[1][0]);
    return MPI_Finalize();
}
END
"$mpicc" -O2 -Wall -Wextra -Werror reduces.c -o reduces || fail "reduces is not built"
for want in 'ring 2 2' 'group-scatter:3 2.06 2.06'; do
    runs 2 ./reduces - "${narrow[@]}" NARROWCAST_SUM=nearest "NARROWCAST_ALGO=${want%% *}"
    [ "$said" = "${want#* }" ] || fail "reduce and all-reduce with algorithm $want: '$said'"
done

"$mpicc" -O2 -Wall -Wextra -Werror "$here/pmpi/pmpi_tags.c" -o tags || fail "tags is not built"
runs 2 ./tags - "${narrow[@]}"
[ "$(sort -u out)" = '0 early, 0 wrong' ] || fail "persistent sums beside others: '$said'"

nm -D --defined-only "$pmpi" | awk '{ print $NF }' | grep -vE '^(MPIX?_(Init|Init_thread|Finalize|I?[Aa]llreduce|I?[Rr]educe|Allreduce_init|Start|Startall|Request_free|Comm_free|Comm_disconnect)|mpix?_[a-z0-9_]*_)$' |
    grep . && fail "it exports other names"
exit $bad
