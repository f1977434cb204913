# pmpi_plain.py : mpi4py script without narrowcast, for test_pmpi.sh: prints whether its sums of
# many floats are exact.
import array

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, n_ranks, n = comm.rank, comm.size, 20000


def value(r, i):
    return ((i * 7919 + r * 104729) % 65536) / 1024


true = array.array("f", [sum(value(r, i) for r in range(n_ranks)) for i in range(n)])
x = array.array("f", [value(rank, i) for i in range(n)])
y, z = array.array("f", x), array.array("f", x)
comm.Allreduce([x, MPI.FLOAT], [y, MPI.FLOAT], op=MPI.SUM)
request = comm.Iallreduce(MPI.IN_PLACE, [z, MPI.FLOAT], op=MPI.SUM)
assert comm.allreduce(rank) == n_ranks * (n_ranks - 1) // 2  # an object, while the request is in flight
request.Wait()
assert y == z
assert max(abs(a - b) for a, b in zip(y, true)) <= 16 * n_ranks
if rank == 0:
    print("exact" if y == true else "narrow")
