/* pmpi_call.c : implements the narrowed calls: blocking, non-blocking, persistent. */
#include "pmpi/pmpi.h"
#include <stdatomic.h>
#include <stdlib.h>

/* The request is MPI's persistent receive from this process itself. */
struct persistent {
    MPI_Request request;
    struct pmpi_comm *comm;
    struct pmpi_call call;
    long long number;
    int tag;
    struct persistent *next;
};
static struct persistent *persistents;
static atomic_int n_persistents;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int pmpi_result(MPI_Comm comm, int rc)
{
    if (rc != MPI_SUCCESS)
        PMPI_Comm_call_errhandler(comm, rc);
    return rc;
}

int pmpi_blocking(struct pmpi_comm *c, const struct pmpi_call *call)
{
    const long long number = pmpi_comm_number(c, false);
    struct pmpi_queue *q = pmpi_comm_queue(c, number > 0);
    if (!q && number > 0)
        return MPI_ERR_NO_MEM; /* other ranks agree on this sum first */
    return q ? pmpi_queue_run(q, number, call) : pmpi_sum(c, call);
}

int pmpi_nonblocking(struct pmpi_comm *c, const struct pmpi_call *call, MPI_Request *request)
{
    const long long number = pmpi_comm_number(c, false);
    struct pmpi_queue *q = pmpi_comm_queue(c, true);
    const int tag = q ? pmpi_take_tag() : -1;
    if (tag < 0)
        return MPI_ERR_NO_MEM;
    const int rc = PMPI_Irecv(NULL, 0, MPI_BYTE, 0, tag, pmpi_self(), request);
    if (rc != MPI_SUCCESS) {
        pmpi_give_tag(tag);
        return rc;
    }
    return pmpi_queue_later(q, number, call, tag, false) ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

int pmpi_persistent(struct pmpi_comm *c, const struct pmpi_call *call, MPI_Request *request)
{
    const long long number = pmpi_comm_number(c, true);
    struct persistent *p = calloc(1, sizeof *p);
    const int tag = p && pmpi_comm_queue(c, true) ? pmpi_take_tag() : -1;
    if (tag < 0) {
        free(p);
        return MPI_ERR_NO_MEM;
    }
    *p = (struct persistent){.comm = c, .call = *call, .number = number, .tag = tag};
    const int rc = PMPI_Recv_init(NULL, 0, MPI_BYTE, 0, tag, pmpi_self(), &p->request);
    if (rc != MPI_SUCCESS) {
        pmpi_give_tag(tag);
        free(p);
        return rc;
    }
    *request = p->request;
    pthread_mutex_lock(&lock);
    p->next = persistents;
    persistents = p;
    n_persistents++;
    pthread_mutex_unlock(&lock);
    return MPI_SUCCESS;
}

void pmpi_started(MPI_Request request)
{
    struct persistent *p = NULL, found = {.comm = NULL};
    if (n_persistents == 0)
        return;
    pthread_mutex_lock(&lock);
    for (p = persistents; p && p->request != request; p = p->next)
        ;
    if (p)
        found = *p;
    pthread_mutex_unlock(&lock);
    if (found.comm && !pmpi_queue_later(pmpi_comm_queue(found.comm, true), found.number,
                                        &found.call, found.tag, true))
        PMPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
}

void pmpi_forget(MPI_Request request)
{
    if (n_persistents == 0)
        return;
    pthread_mutex_lock(&lock);
    struct persistent **at = &persistents, *p;
    while (*at && (*at)->request != request)
        at = &(*at)->next;
    p = *at;
    if (p) {
        *at = p->next;
        n_persistents--;
    }
    pthread_mutex_unlock(&lock);
    if (p)
        pmpi_give_tag(p->tag);
    free(p);
}
