/* comm_mpi.c : a job whose ranks are processes and reach each other by MPI: joining and leaving it. */
#include "comm/mpi/comm_mpi.h"
#include "base/buf.h"
#include "base/err.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void __attribute__((noreturn)) end(struct comm *c, int code)
{
    fflush(NULL);
    MPI_Abort(comm_mpi(c)->mpi, code < 0 && code > -128 ? -code : 1);
    abort(); /* MPI_Abort does not return */
}

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

static void leave(struct comm *c)
{
    /* so that MPI's own waits, which have no deadline, find everybody there */
    (void)comm_barrier(c);
    MPI_Comm_free(&comm_mpi(c)->mpi);
    give_back(comm_mpi(c));
    comm_mpi_count_open(-1);
}

static const struct comm_ops ops = {
    .is_mpi = true,
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
    .all_gather = comm_mpi_all_gather,
    .nodes = comm_mpi_nodes,
    .poll = comm_mpi_roll_heard,
    .give_up = comm_mpi_give_up,
    .given_up = comm_mpi_given_up,
    .forget = comm_mpi_forget,
    .missing = comm_mpi_roll_call,
    .leave = leave,
    .end = end,
};

/* The job's own communicator, of the caller's or of all processes. */
static int duplicate(const struct comm_members *o, MPI_Comm *out)
{
    MPI_Comm from = MPI_COMM_WORLD;
    int is_inter = 0;
    if (!o->world)
        from = o->mpi       ? *(const MPI_Comm *)o->mpi
               : o->fortran ? MPI_Comm_f2c(*o->fortran)
                            : MPI_COMM_NULL;
    if (from == MPI_COMM_NULL || !from) /* no handle of Open MPI, and none of MPICH, is 0 */
        return ERR(-EINVAL, "cannot join the job: there is no such communicator (MPI_COMM_NULL?)");
    TRY(comm_mpi_check(MPI_Comm_test_inter(from, &is_inter), "join the job"));
    if (is_inter)
        return ERR(-EINVAL, "cannot join the job: its communicator is between two groups of ranks");
    TRY(comm_mpi_check(MPI_Comm_dup(from, out), "join the job"));
    MPI_Comm_set_errhandler(*out, MPI_ERRORS_RETURN);
    return 0;
}

/* What one rank can find wrong alone. */
static int fill(struct comm_mpi *m, const struct comm_members *o)
{
    if (o->ready)
        TRY(o->ready(o->arg));
    if (!(o->deadline_s > 0))
        return ERR(-EINVAL, "cannot wait for ranks until a deadline of %g s: need more than 0",
                   o->deadline_s);
    return m ? make_room(m) : -ENOMEM;
}

/* comm_agree() of ranks that have no job yet: by MPI's own wait, as all of the opening is. */
static int agree(MPI_Comm mpi, int rank, int rc)
{
    const uint64_t fine = UINT64_MAX;
    uint64_t word = rc < 0 ? (uint64_t)rank << 32 | (uint32_t)-rc : fine, least = fine;
    TRY(comm_mpi_check(MPI_Allreduce(&word, &least, 1, MPI_UINT64_T, MPI_MIN, mpi),
                       "join the job"));
    err_release(least != fine && rank == (int)(least >> 32));
    return least == fine ? 0 : -(int)(uint32_t)least;
}

static int open_held(const struct comm_members *o, struct comm_mpi *m)
{
    MPI_Comm mpi;
    int level = MPI_THREAD_SINGLE, rank, n_ranks;
    TRY(duplicate(o, &mpi));
    MPI_Query_thread(&level);
    MPI_Comm_rank(mpi, &rank);
    MPI_Comm_size(mpi, &n_ranks);
    if (m) {
        m->mpi = mpi;
        m->comm.ops = &ops;
        m->comm.threads = comm_mpi_level(level) != COMM_MAIN;
        m->comm.rank = rank;
        m->comm.n_ranks = n_ranks;
        m->comm.deadline_s = o->deadline_s;
    }
    int rc = agree(mpi, rank, fill(m, o));
    if (rc == 0)
        rc = comm_check_version(&m->comm);
    if (rc < 0)
        MPI_Comm_free(&mpi);
    return rc;
}

int comm_open_on(const struct comm_members *o, struct comm **out)
{
    struct err_lines own = {.held = true}; /* what the caller holds stays held */
    struct err_lines *callers = err_turn(&own);
    if (callers)
        own.to = callers->to, own.arg = callers->arg;
    struct comm_mpi *m = buf_alloc(sizeof *m);
    const int rc = open_held(o, m);
    err_release(true); /* what went wrong before ranks could agree */
    err_turn(callers);
    if (callers && !callers->first[0])
        memcpy(callers->first, own.first, sizeof own.first);
    if (rc < 0) {
        if (m)
            give_back(m);
        return rc;
    }
    comm_mpi_count_open(1);
    *out = &m->comm;
    return 0;
}

int comm_open(double deadline_s, struct comm **out)
{
    const struct comm_members all = {.world = true, .deadline_s = deadline_s};
    TRY(comm_begin(false));
    return comm_open_on(&all, out);
}

void comm_close(struct comm *c)
{
    comm_leave(c);
    if (c)
        comm_mpi_end();
}
