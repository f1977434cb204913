/* pmpi_wrong.c : makes calls that MPI refuses, for test_pmpi.sh, and prints the error classes of
 * rank 0. Runs on 2 ranks. */
#include <mpi.h>
#include <stdio.h>
#if defined(OPEN_MPI) && __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

enum { N = 20000 };
static float a[2 * N], out[N];
static int rank, n_handled;

static void count(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    n_handled++;
}

/* Also prints how often the communicator's error handler ran since the last line. */
static void print(const char *call, int code)
{
    int class = -1;
    MPI_Error_class(code, &class);
    if (rank == 0)
        printf("%s: class %d, handled %d\n", call, class, n_handled);
    n_handled = 0;
}

static void check_sum(MPI_Comm comm)
{
    for (int i = 0; i < N; i++)
        a[i] = 1;
    print("a right call", MPI_Allreduce(a, out, N, MPI_FLOAT, MPI_SUM, comm));
    if (rank == 0)
        printf("the sum is %g and %g\n", (double)out[0], (double)out[N - 1]);
}

static int start(MPI_Request *request)
{
    const int rc = MPI_Start(request);
    return rc == MPI_SUCCESS ? MPI_Wait(request, MPI_STATUS_IGNORE) : rc;
}

static void wrong_buffers(MPI_Comm comm)
{
    MPI_Request r = MPI_REQUEST_NULL;
    print("blocking, receive in place",
          MPI_Allreduce(a, MPI_IN_PLACE, N, MPI_FLOAT, MPI_SUM, comm));
    print("blocking, both in place",
          MPI_Allreduce(MPI_IN_PLACE, MPI_IN_PLACE, N, MPI_FLOAT, MPI_SUM, comm));
    print("blocking, aliased", MPI_Allreduce(a, a, N, MPI_FLOAT, MPI_SUM, comm));
    check_sum(comm);
    print("non-blocking, receive in place",
          MPI_Iallreduce(a, MPI_IN_PLACE, N, MPI_FLOAT, MPI_SUM, comm, &r));
    print("non-blocking, aliased", MPI_Iallreduce(a, a, N, MPI_FLOAT, MPI_SUM, comm, &r));
#if defined(OMPI_HAVE_MPI_EXT_PCOLLREQ)
    r = MPI_REQUEST_NULL;
    print("persistent, receive in place",
          MPIX_Allreduce_init(a, MPI_IN_PLACE, N, MPI_FLOAT, MPI_SUM, comm, MPI_INFO_NULL, &r));
    r = MPI_REQUEST_NULL;
    print("persistent, aliased",
          MPIX_Allreduce_init(a, a, N, MPI_FLOAT, MPI_SUM, comm, MPI_INFO_NULL, &r));
    if (r != MPI_REQUEST_NULL)
        print("persistent, aliased, started", start(&r));
#else
    (void)start;
#endif
    check_sum(comm);
}

static void wrong_rest(MPI_Comm comm)
{
    MPI_Comm none = MPI_COMM_NULL, world = MPI_COMM_WORLD;
    MPI_Request r = MPI_REQUEST_NULL;
    print("no communicator", MPI_Allreduce(a, out, N, MPI_FLOAT, MPI_SUM, none));
    print("a negative count", MPI_Allreduce(a, out, -1, MPI_FLOAT, MPI_SUM, comm));
    print("no type", MPI_Allreduce(a, out, N, MPI_DATATYPE_NULL, MPI_SUM, comm));
    print("no operation", MPI_Allreduce(a, out, N, MPI_FLOAT, MPI_OP_NULL, comm));
    print("reduce without a communicator", MPI_Reduce(a, out, N, MPI_FLOAT, MPI_SUM, 0, none));
    print("reduce to rank 2", MPI_Reduce(a, out, N, MPI_FLOAT, MPI_SUM, 2, comm));
    print("reduce to rank -9", MPI_Reduce(a, out, N, MPI_FLOAT, MPI_SUM, -9, comm));
    print("reduce of nothing", MPI_Reduce(NULL, NULL, 0, MPI_FLOAT, MPI_SUM, 0, comm));
    print("reduce later to rank 2", MPI_Ireduce(a, out, N, MPI_FLOAT, MPI_SUM, 2, comm, &r));
    r = MPI_REQUEST_NULL;
    print("start of none", MPI_Start(&r));
    print("start at NULL", MPI_Start(NULL));
    print("start of one that is none", MPI_Startall(1, &r));
    print("start of a list at NULL", MPI_Startall(1, NULL));
    print("free no request", MPI_Request_free(&r));
    print("free a request at NULL", MPI_Request_free(NULL));
    print("free no communicator", MPI_Comm_free(&none));
    if (rank == 0) /* of this rank, in a call that is not collective */
        print("free the world", MPI_Comm_free(&world));
    check_sum(comm);
}

static int no_copy(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    (void)comm, (void)key, (void)extra, (void)in, (void)out;
    *flag = 0;
    return MPI_ERR_OTHER;
}

static void no_duplicate(void)
{
    MPI_Comm twin;
    int key;
    MPI_Comm_create_keyval(no_copy, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &twin);
    MPI_Comm_set_attr(twin, key, &key);
    check_sum(twin); /* its error handler ends the program */
    MPI_Comm_free(&twin);
    MPI_Comm_free_keyval(&key);
}

int main(int argc, char **argv)
{
    MPI_Errhandler handler;
    MPI_Comm twin;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_create_errhandler(count, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Comm_dup(MPI_COMM_WORLD, &twin);
    wrong_buffers(MPI_COMM_WORLD);
    wrong_buffers(twin);
    wrong_rest(MPI_COMM_WORLD);
    no_duplicate();
    MPI_Comm_free(&twin);
    MPI_Errhandler_free(&handler);
    return MPI_Finalize();
}
