/* comm_mpi.c : a job whose ranks are processes and reach each other by MPI: joining and leaving it. */
#include "comm/comm_mpi.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include <assert.h>
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* MPI can be begun and ended once in a process, so what is known of it is the process's. */
static struct {
    bool begun; /* here, so it is ended here */
    int n_open; /* jobs */
} mpi_here;

/* Open MPI (4.1) unloads its components while a thread of its own may still have an event of one of
 * them to handle: seldom, on a busy machine, that ended a finished run in code that was no longer
 * there. So what is loaded stays. Of another MPI there is none by that name. */
static void keep_components(void)
{
    struct link_map *l = NULL;
    void *self = dlopen(NULL, RTLD_NOW);
    if (self && !dlinfo(self, RTLD_DI_LINKMAP, &l))
        for (; l; l = l->l_next)
            if (l->l_name && strstr(l->l_name, "/mca_"))
                (void)dlopen(l->l_name, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

/* MPI_Finalize; then, where that took long, a rest of as long. With hundreds of ranks on a core
 * what started them falls behind, Open MPI's ranks wait 2 s for its answer, and one that is gone
 * before it has heard is taken for dead. */
static void finalize(void)
{
    const double start = clock_s(), most = 10;
    keep_components();
    MPI_Finalize();
    const double took = clock_s() - start;
    if (took > 1)
        sleep((unsigned)(took < most ? took : most) + 1);
}

/* When the last job is closed, or at exit if none has come about. A process that exits from the
 * middle of a job leaves MPI as it is, which is how mpirun learns of it. */
static void end_mpi(void)
{
    int ended = 0;
    MPI_Finalized(&ended);
    if (mpi_here.begun && mpi_here.n_open == 0 && !ended)
        finalize();
}

/* MPI of a process: begun here unless the caller has done so, whose choice of threads then
 * holds. */
static int begin_mpi(int *level)
{
    int done = 0, ended = 0;
    MPI_Finalized(&ended);
    if (ended)
        return ERR(-EINVAL, "cannot join the job: MPI has been finalized in this process");
    MPI_Initialized(&done);
    if (done)
        return comm_mpi_check(MPI_Query_thread(level), "ask MPI for threads");
    TRY(comm_mpi_check(MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, level), "start MPI"));
    mpi_here.begun = true;
    atexit(end_mpi);
    if (*level < MPI_THREAD_FUNNELED)
        return ERR(-ENOTSUP,
                   "cannot use this MPI: it does not allow threads (MPI_THREAD_FUNNELED)");
    return 0;
}

static void __attribute__((noreturn)) end(struct comm *c, int code)
{
    fflush(NULL);
    MPI_Abort(comm_mpi(c)->mpi, code < 0 && code > -128 ? -code : 1);
    abort(); /* MPI_Abort does not return */
}

static const struct comm_ops ops = {
    .is_virtual = false,
    .make_room = comm_mpi_make_room,
    .clear = comm_mpi_clear,
    .send = comm_mpi_send,
    .recv = comm_mpi_recv,
    .done = comm_mpi_done,
    .wait = comm_mpi_wait,
    .some = comm_mpi_some,
    .barrier = comm_mpi_barrier,
    .bcast = comm_mpi_bcast,
    .reduce = comm_mpi_reduce,
    .nodes = comm_mpi_nodes,
    .poll = comm_mpi_roll_heard,
    .give_up = comm_mpi_give_up,
    .given_up = comm_mpi_given_up,
    .forget = comm_mpi_forget,
    .missing = comm_mpi_roll_call,
    .end = end,
};

/* The parts that need to know how many ranks there are. */
static int make_room(struct comm_mpi *m)
{
    const size_t n = (size_t)m->comm.n_ranks;
    m->heard = buf_alloc(n * sizeof *m->heard);
    m->gave_up = buf_alloc(n * sizeof *m->gave_up);
    m->all = buf_alloc(n * COMM_BLOCK);
    if (!m->heard || !m->gave_up || !m->all)
        return ERR(-ENOMEM, "cannot open a job of %d ranks: out of memory", m->comm.n_ranks);
    return comm_init(&m->comm);
}

static void give_back(struct comm_mpi *m)
{
    comm_fini(&m->comm);
    free(m->req);
    free(m->status);
    free(m->heard);
    free(m->gave_up);
    free(m->all);
    free(m);
}

int comm_open(double deadline_s, struct comm **out)
{
    struct comm_mpi *m = buf_alloc(sizeof *m);
    if (!m)
        return -ENOMEM;
    struct comm *c = &m->comm;
    c->ops = &ops;
    c->deadline_s = deadline_s;
    int level = MPI_THREAD_SINGLE;
    int rc = begin_mpi(&level);
    if (rc < 0)
        goto free_comm;
    c->threads = level >= MPI_THREAD_SERIALIZED;
    rc = comm_mpi_check(MPI_Comm_dup(MPI_COMM_WORLD, &m->mpi), "join the job");
    if (rc < 0)
        goto free_comm;
    MPI_Comm_set_errhandler(m->mpi, MPI_ERRORS_RETURN);
    MPI_Comm_rank(m->mpi, &c->rank);
    MPI_Comm_size(m->mpi, &c->n_ranks);
    if (!(deadline_s > 0)) {
        rc = c->rank > 0
                 ? -EINVAL
                 : ERR(-EINVAL, "cannot wait for ranks until a deadline of %g s: need more than 0",
                       deadline_s);
        goto leave_job;
    }
    mpi_here.n_open++;
    rc = make_room(m);
    if (rc < 0)
        comm_abort(c, rc); /* the others are in the job already and would wait */
    *out = c;
    return 0;
leave_job:
    MPI_Comm_free(&m->mpi);
free_comm:
    give_back(m);
    return rc;
}

void comm_leave(struct comm *c)
{
    if (!c)
        return;
    assert(c->ops == &ops); /* virtual ranks are closed by who opened them */
    /* so that MPI's own waits, which have no deadline, find everybody there */
    (void)comm_barrier(c);
    MPI_Comm_free(&comm_mpi(c)->mpi);
    give_back(comm_mpi(c));
    mpi_here.n_open--;
}

void comm_close(struct comm *c)
{
    comm_leave(c);
    if (c)
        end_mpi();
}
