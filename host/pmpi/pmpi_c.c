/* pmpi_c.c : wraps MPI's C functions. */
#include "pmpi/pmpi.h"
#include <dlfcn.h>

int MPI_Init(int *argc, char ***argv)
{
    int level;
    const int rc = pmpi_spec()->on ? PMPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &level)
                                   : PMPI_Init(argc, argv);
    if (rc == MPI_SUCCESS)
        pmpi_begin();
    return rc;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    const int wanted = pmpi_spec()->on ? MPI_THREAD_MULTIPLE : required;
    const int rc = PMPI_Init_thread(argc, argv, wanted, provided);
    if (rc == MPI_SUCCESS)
        pmpi_begin();
    return rc;
}

int MPI_Finalize(void)
{
    if (pmpi_is_on())
        pmpi_end();
    return PMPI_Finalize();
}

int MPI_Allreduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm)
{
    const struct pmpi_call call = {send, recv, count, PMPI_ALL};
    struct pmpi_comm *c = pmpi_takes(&call, type, op, comm);
    return c ? pmpi_result(comm, pmpi_blocking(c, &call))
             : PMPI_Allreduce(send, recv, count, type, op, comm);
}

int MPI_Reduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, int root,
               MPI_Comm comm)
{
    const struct pmpi_call call = {send, recv, count, root};
    struct pmpi_comm *c = root < 0 ? NULL : pmpi_takes(&call, type, op, comm);
    return c ? pmpi_result(comm, pmpi_blocking(c, &call))
             : PMPI_Reduce(send, recv, count, type, op, root, comm);
}

static bool can_be_later(const MPI_Request *request)
{
    return pmpi_has_threads() && request;
}

int MPI_Iallreduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm, MPI_Request *request)
{
    const struct pmpi_call call = {send, recv, count, PMPI_ALL};
    struct pmpi_comm *c = can_be_later(request) ? pmpi_takes(&call, type, op, comm) : NULL;
    return c ? pmpi_result(comm, pmpi_nonblocking(c, &call, request))
             : PMPI_Iallreduce(send, recv, count, type, op, comm, request);
}

int MPI_Ireduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, int root,
                MPI_Comm comm, MPI_Request *request)
{
    const struct pmpi_call call = {send, recv, count, root};
    struct pmpi_comm *c =
        root >= 0 && can_be_later(request) ? pmpi_takes(&call, type, op, comm) : NULL;
    return c ? pmpi_result(comm, pmpi_nonblocking(c, &call, request))
             : PMPI_Ireduce(send, recv, count, type, op, root, comm, request);
}

/* MPI 4 and Open MPI 4 (MPIX_Allreduce_init) have such a function; either may be missing. */
typedef int allreduce_init(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op,
                           MPI_Comm comm, MPI_Info info, MPI_Request *request);

static int init_by(const char *name, const void *send, void *recv, int count, MPI_Datatype type,
                   MPI_Op op, MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    const struct pmpi_call call = {send, recv, count, PMPI_ALL};
    struct pmpi_comm *c = can_be_later(request) ? pmpi_takes(&call, type, op, comm) : NULL;
    union {
        void *data;
        allreduce_init *call;
    } next = {.data = dlsym(RTLD_NEXT, name)};
    if (c)
        return pmpi_result(comm, pmpi_persistent(c, &call, request));
    return next.data ? next.call(send, recv, count, type, op, comm, info, request)
                     : pmpi_result(comm, MPI_ERR_UNSUPPORTED_OPERATION);
}

allreduce_init MPI_Allreduce_init, MPIX_Allreduce_init;
int MPI_Allreduce_init(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op,
                       MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    return init_by("PMPI_Allreduce_init", send, recv, count, type, op, comm, info, request);
}
int MPIX_Allreduce_init(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op,
                        MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    return init_by("PMPIX_Allreduce_init", send, recv, count, type, op, comm, info, request);
}

int MPI_Start(MPI_Request *request)
{
    const int rc = PMPI_Start(request);
    if (rc == MPI_SUCCESS)
        pmpi_started(*request);
    return rc;
}

int MPI_Startall(int count, MPI_Request requests[])
{
    const int rc = PMPI_Startall(count, requests);
    for (int i = 0; i < count && rc == MPI_SUCCESS; i++)
        pmpi_started(requests[i]);
    return rc;
}

int MPI_Request_free(MPI_Request *request)
{
    if (request)
        pmpi_forget(*request);
    return PMPI_Request_free(request);
}

int MPI_Comm_free(MPI_Comm *comm)
{
    pmpi_leave(*comm);
    return PMPI_Comm_free(comm);
}

int MPI_Comm_disconnect(MPI_Comm *comm)
{
    pmpi_leave(*comm);
    return PMPI_Comm_disconnect(comm);
}
