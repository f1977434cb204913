/* pmpi_fortran.c : wraps MPI's Fortran functions: mpi_x_ for mpif.h and `use mpi`, mpi_x_f08_ for
 * `use mpi_f08`. Nothing is narrowed if the MPI does not export Fortran's MPI_IN_PLACE. */
#include "pmpi/pmpi.h"
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

/* Open MPI recognises these constants by address. */
extern char mpi_fortran_in_place_ __attribute__((weak));
extern char mpi_fortran_bottom_ __attribute__((weak));

typedef void any_function(void);

static any_function *next_of(const char *name)
{
    union {
        void *data;
        any_function *call;
    } next = {.data = dlsym(RTLD_NEXT, name)};
    if (!next.data)
        abort(); /* the caller was linked to it */
    return next.call;
}

/* Returns the buffer as C names it. */
static void *buffer_of(const void *buffer)
{
    return buffer == &mpi_fortran_in_place_ ? MPI_IN_PLACE : (void *)(uintptr_t)buffer;
}

/* Fills *call. */
static struct pmpi_comm *takes(const void *send, void *recv, const MPI_Fint *count, int root,
                               const MPI_Fint *type, const MPI_Fint *op, const MPI_Fint *comm,
                               struct pmpi_call *call)
{
    if (!pmpi_is_on() || !&mpi_fortran_in_place_ || send == &mpi_fortran_bottom_ ||
        recv == &mpi_fortran_bottom_ || *count <= 0)
        return NULL;
    *call = (struct pmpi_call){buffer_of(send), buffer_of(recv), *count, root};
    return pmpi_takes(call, MPI_Type_f2c(*type), MPI_Op_f2c(*op), MPI_Comm_f2c(*comm));
}

static void tell(MPI_Fint *ierr, int rc)
{
    if (ierr)
        *ierr = rc;
}

/* MPI_IN_PLACE as recv is an error in C; Open MPI's own Fortran calls write to its address. */
static bool is_refused(const void *recv, const MPI_Fint *comm, MPI_Fint *ierr)
{
    if (!pmpi_is_on() || !&mpi_fortran_in_place_ || recv != &mpi_fortran_in_place_)
        return false;
    tell(ierr, pmpi_result(MPI_Comm_f2c(*comm), MPI_ERR_BUFFER));
    return true;
}

/* Only the root's recv counts. */
static bool is_root(MPI_Fint root, const MPI_Fint *comm)
{
    const MPI_Comm c = pmpi_is_on() ? MPI_Comm_f2c(*comm) : MPI_COMM_NULL;
    int rank = -1, is_inter = 1;
    if (c != MPI_COMM_NULL)
        PMPI_Comm_test_inter(c, &is_inter);
    if (!is_inter)
        PMPI_Comm_rank(c, &rank);
    return rank >= 0 && rank == root;
}

#define NAMED(symbol, own, parameters, arguments) \
    void symbol parameters;                       \
    void symbol parameters                        \
    {                                             \
        static any_function *_Atomic next;        \
        if (!(own arguments)) {                   \
            if (!next)                            \
                next = next_of("p" #symbol);      \
            ((void(*) parameters)next) arguments; \
        }                                         \
    }

/* Callers of the second name may omit ierr. */
#define BOTH(name, own, parameters, arguments) \
    NAMED(name##_, own, parameters, arguments) \
    NAMED(name##_f08_, own, parameters, arguments)

/* These return whether they have handled the call. */
static bool allreduce(const void *send, void *recv, const MPI_Fint *count, const MPI_Fint *type,
                      const MPI_Fint *op, const MPI_Fint *comm, MPI_Fint *ierr)
{
    struct pmpi_call call;
    struct pmpi_comm *c = takes(send, recv, count, PMPI_ALL, type, op, comm, &call);
    if (c)
        tell(ierr, pmpi_result(MPI_Comm_f2c(*comm), pmpi_blocking(c, &call)));
    return c || is_refused(recv, comm, ierr);
}
BOTH(mpi_allreduce, allreduce,
     (const void *send, void *recv, const MPI_Fint *count, const MPI_Fint *type, const MPI_Fint *op,
      const MPI_Fint *comm, MPI_Fint *ierr),
     (send, recv, count, type, op, comm, ierr))

static bool iallreduce(const void *send, void *recv, const MPI_Fint *count, const MPI_Fint *type,
                       const MPI_Fint *op, const MPI_Fint *comm, MPI_Fint *request, MPI_Fint *ierr)
{
    struct pmpi_call call;
    struct pmpi_comm *c =
        pmpi_has_threads() ? takes(send, recv, count, PMPI_ALL, type, op, comm, &call) : NULL;
    MPI_Request r = MPI_REQUEST_NULL;
    if (c) {
        tell(ierr, pmpi_result(MPI_Comm_f2c(*comm), pmpi_nonblocking(c, &call, &r)));
        *request = MPI_Request_c2f(r);
    }
    return c || is_refused(recv, comm, ierr);
}
BOTH(mpi_iallreduce, iallreduce,
     (const void *send, void *recv, const MPI_Fint *count, const MPI_Fint *type, const MPI_Fint *op,
      const MPI_Fint *comm, MPI_Fint *request, MPI_Fint *ierr),
     (send, recv, count, type, op, comm, request, ierr))

static bool reduce(const void *send, void *recv, const MPI_Fint *count, const MPI_Fint *type,
                   const MPI_Fint *op, const MPI_Fint *root, const MPI_Fint *comm, MPI_Fint *ierr)
{
    struct pmpi_call call;
    struct pmpi_comm *c = *root < 0 ? NULL : takes(send, recv, count, *root, type, op, comm, &call);
    if (c)
        tell(ierr, pmpi_result(MPI_Comm_f2c(*comm), pmpi_blocking(c, &call)));
    return c || (is_root(*root, comm) && is_refused(recv, comm, ierr));
}
BOTH(mpi_reduce, reduce,
     (const void *send, void *recv, const MPI_Fint *count, const MPI_Fint *type, const MPI_Fint *op,
      const MPI_Fint *root, const MPI_Fint *comm, MPI_Fint *ierr),
     (send, recv, count, type, op, root, comm, ierr))

static bool ireduce(const void *send, void *recv, const MPI_Fint *count, const MPI_Fint *type,
                    const MPI_Fint *op, const MPI_Fint *root, const MPI_Fint *comm,
                    MPI_Fint *request, MPI_Fint *ierr)
{
    struct pmpi_call call;
    struct pmpi_comm *c = *root < 0 || !pmpi_has_threads()
                              ? NULL
                              : takes(send, recv, count, *root, type, op, comm, &call);
    MPI_Request r = MPI_REQUEST_NULL;
    if (c) {
        tell(ierr, pmpi_result(MPI_Comm_f2c(*comm), pmpi_nonblocking(c, &call, &r)));
        *request = MPI_Request_c2f(r);
    }
    return c || (is_root(*root, comm) && is_refused(recv, comm, ierr));
}
BOTH(mpi_ireduce, ireduce,
     (const void *send, void *recv, const MPI_Fint *count, const MPI_Fint *type, const MPI_Fint *op,
      const MPI_Fint *root, const MPI_Fint *comm, MPI_Fint *request, MPI_Fint *ierr),
     (send, recv, count, type, op, root, comm, request, ierr))

static bool init_persistent(const void *send, void *recv, const MPI_Fint *count,
                            const MPI_Fint *type, const MPI_Fint *op, const MPI_Fint *comm,
                            const MPI_Fint *info, MPI_Fint *request, MPI_Fint *ierr)
{
    struct pmpi_call call;
    struct pmpi_comm *c =
        pmpi_has_threads() ? takes(send, recv, count, PMPI_ALL, type, op, comm, &call) : NULL;
    MPI_Request r = MPI_REQUEST_NULL;
    (void)info;
    if (c) {
        tell(ierr, pmpi_result(MPI_Comm_f2c(*comm), pmpi_persistent(c, &call, &r)));
        *request = MPI_Request_c2f(r);
    }
    return c || is_refused(recv, comm, ierr);
}
#define PERSISTENT(name)                                                                     \
    BOTH(name, init_persistent,                                                              \
         (const void *send, void *recv, const MPI_Fint *count, const MPI_Fint *type,         \
          const MPI_Fint *op, const MPI_Fint *comm, const MPI_Fint *info, MPI_Fint *request, \
          MPI_Fint *ierr),                                                                   \
         (send, recv, count, type, op, comm, info, request, ierr))
PERSISTENT(mpi_allreduce_init)
PERSISTENT(mpix_allreduce_init)

int MPI_Init(int *argc, char ***argv);

static bool init(MPI_Fint *ierr)
{
    tell(ierr, MPI_Init(NULL, NULL));
    return true;
}
BOTH(mpi_init, init, (MPI_Fint * ierr), (ierr))

static bool init_thread(const MPI_Fint *required, MPI_Fint *provided, MPI_Fint *ierr)
{
    int got = 0;
    tell(ierr, MPI_Init_thread(NULL, NULL, *required, &got));
    *provided = got;
    return true;
}
BOTH(mpi_init_thread, init_thread, (const MPI_Fint *required, MPI_Fint *provided, MPI_Fint *ierr),
     (required, provided, ierr))

static bool finalize(MPI_Fint *ierr)
{
    (void)ierr;
    if (pmpi_is_on())
        pmpi_end();
    return false;
}
BOTH(mpi_finalize, finalize, (MPI_Fint * ierr), (ierr))

static bool leave(MPI_Fint *comm, MPI_Fint *ierr)
{
    (void)ierr;
    if (pmpi_is_on())
        pmpi_leave(MPI_Comm_f2c(*comm));
    return false;
}
BOTH(mpi_comm_free, leave, (MPI_Fint * comm, MPI_Fint *ierr), (comm, ierr))
BOTH(mpi_comm_disconnect, leave, (MPI_Fint * comm, MPI_Fint *ierr), (comm, ierr))

static bool start(MPI_Fint *request, MPI_Fint *ierr)
{
    MPI_Request r = MPI_Request_f2c(*request);
    const int rc = MPI_Start(&r);
    *request = MPI_Request_c2f(r);
    tell(ierr, rc);
    return true;
}
BOTH(mpi_start, start, (MPI_Fint * request, MPI_Fint *ierr), (request, ierr))

static bool start_all(const MPI_Fint *count, MPI_Fint *requests, MPI_Fint *ierr)
{
    const int n = *count > 0 ? *count : 0;
    MPI_Request *list = calloc((size_t)n + 1, sizeof *list);
    if (!list) {
        tell(ierr, pmpi_result(MPI_COMM_WORLD, MPI_ERR_NO_MEM));
        return true;
    }
    for (int i = 0; i < n; i++)
        list[i] = MPI_Request_f2c(requests[i]);
    tell(ierr, MPI_Startall(*count, list));
    for (int i = 0; i < n; i++)
        requests[i] = MPI_Request_c2f(list[i]);
    free(list);
    return true;
}
BOTH(mpi_startall, start_all, (const MPI_Fint *count, MPI_Fint *requests, MPI_Fint *ierr),
     (count, requests, ierr))

static bool forget(MPI_Fint *request, MPI_Fint *ierr)
{
    (void)ierr;
    pmpi_forget(MPI_Request_f2c(*request));
    return false;
}
BOTH(mpi_request_free, forget, (MPI_Fint * request, MPI_Fint *ierr), (request, ierr))
