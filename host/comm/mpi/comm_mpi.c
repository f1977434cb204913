/* comm_mpi.c : joins and leaves a job of MPI processes. */
#include "comm/mpi/comm_mpi.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/clock.h"
#include "vec/fp_mode.h"
#include "comm/mpi/comm_library.h"
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void __attribute__((noreturn)) end(struct comm *c, int code)
{
    fflush(NULL);
    mpilib->Abort(comm_mpi(c)->mpi, code < 0 && code > -128 ? -code : 1);
    abort(); /* MPI_Abort does not return */
}

int comm_mpi_room(struct comm_mpi *m)
{
    const size_t n = (size_t)m->comm.n_ranks;
    m->heard = buf_alloc(n * sizeof *m->heard);
    m->abandoned = buf_alloc(n * sizeof *m->abandoned);
    m->notes = buf_alloc(n * sizeof *m->notes);
    m->all = buf_alloc(n * COMM_BLOCK);
    for (size_t r = 0; r < n && m->notes; r++)
        m->notes[r] = mpilib->request_null;
    if (!m->heard || !m->abandoned || !m->notes || !m->all)
        return ERR(-ENOMEM, "cannot open a job of %d ranks: out of memory", m->comm.n_ranks);
    return comm_init(&m->comm);
}

void comm_mpi_room_free(struct comm_mpi *m)
{
    comm_fini(&m->comm);
    free(m->req);
    free(m->status);
    free(m->ended);
    free(m->kept);
    free(m->heard);
    free(m->abandoned);
    free(m->notes);
    free(m->all);
    m->req = NULL, m->status = NULL, m->ended = NULL, m->kept = NULL;
    m->heard = m->abandoned = NULL, m->notes = NULL, m->all = NULL;
}

static void give_back(struct comm_mpi *m)
{
    comm_mpi_room_free(m);
    free(m);
}

static void leave(struct comm *c)
{
    /* After this barrier MPI's own waits, which have no deadline, find all ranks ready. */
    (void)comm_barrier(c);
    if (!comm_mpi(c)->is_lent)
        mpilib->Comm_free(&comm_mpi(c)->mpi);
    give_back(comm_mpi(c));
    comm_mpi_count_open(-1);
}

const struct comm_ops comm_mpi_ops = {
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
    .poll = comm_mpi_liveness_poll,
    .abandon = comm_mpi_abandon,
    .abandoned = comm_mpi_abandoned,
    .forget = comm_mpi_forget,
    .missing = comm_mpi_liveness_check,
    .leave = leave,
    .end = end,
};

static int find(const struct comm_members *o, MPI_Comm *out)
{
    MPI_Comm from = mpilib->world;
    int is_inter = 0;
    if (!o->world)
        from = o->mpi       ? *(const MPI_Comm *)o->mpi
               : o->fortran ? mpilib->Comm_f2c(*o->fortran)
                            : mpilib->comm_null;
    if (from == mpilib->comm_null || !from) /* no valid handle of Open MPI or MPICH is 0 */
        return ERR(-EINVAL,
                   "cannot join the job: the communicator does not exist (MPI_COMM_NULL?)");
    TRY(comm_mpi_check(mpilib->Comm_test_inter(from, &is_inter), "join the job"));
    if (is_inter)
        return ERR(-EINVAL, "cannot join the job: its communicator connects two groups of ranks "
                            "(an intercommunicator)");
    if (o->is_lent)
        *out = from;
    else
        TRY(comm_mpi_check(mpilib->Comm_dup(from, out), "join the job"));
    mpilib->Comm_set_errhandler(*out, mpilib->errors_return);
    return 0;
}

/* No communication. */
static int fill(struct comm_mpi *m, const struct comm_members *o)
{
    if (o->ready)
        TRY(o->ready(o->arg));
    if (!(o->deadline_s > 0))
        return ERR(-EINVAL, "cannot use a deadline of %g s: need more than 0", o->deadline_s);
    return m ? comm_mpi_room(m) : -ENOMEM;
}

/* comm_agree() for ranks without a job. Opening has no deadline. */
static int agree(MPI_Comm mpi, int rank, int rc)
{
    const uint64_t fine = UINT64_MAX;
    uint64_t word = rc < 0 ? (uint64_t)rank << 32 | (uint32_t)-rc : fine, least = fine;
    TRY(comm_mpi_check(mpilib->Allreduce(&word, &least, 1, mpilib->uint64, mpilib->min, mpi),
                       "join the job"));
    err_release(least != fine && rank == (int)(least >> 32));
    return least == fine ? 0 : -(int)(uint32_t)least;
}

void comm_mpi_set(struct comm_mpi *m, const struct comm_ops *ops, MPI_Comm mpi, double deadline_s)
{
    int level = MPI_THREAD_SINGLE;
    mpilib->Query_thread(&level);
    mpilib->Comm_rank(mpi, &m->comm.rank);
    mpilib->Comm_size(mpi, &m->comm.n_ranks);
    m->mpi = mpi;
    m->comm.ops = ops;
    m->comm.threads = comm_mpi_level(level) != COMM_MAIN;
    m->comm.deadline_s = deadline_s;
}

static int open_held(const struct comm_members *o, struct comm_mpi *m)
{
    MPI_Comm mpi;
    int rank;
    TRY(find(o, &mpi));
    mpilib->Comm_rank(mpi, &rank);
    if (m) {
        comm_mpi_set(m, &comm_mpi_ops, mpi, o->deadline_s);
        m->is_lent = o->is_lent;
    }
    int rc = agree(mpi, rank, fill(m, o));
    if (rc == 0)
        rc = comm_check_version(&m->comm);
    if (rc < 0 && !o->is_lent)
        mpilib->Comm_free(&mpi);
    return rc;
}

int comm_open_on(const struct comm_members *o, struct comm **out)
{
    struct err_lines own = {.held = true}; /* lines held by the caller stay held */
    struct err_lines *callers = err_turn(&own);
    if (callers)
        own.to = callers->to, own.arg = callers->arg;
    struct comm_mpi *m = buf_alloc(sizeof *m);
    const int rc = open_held(o, m);
    err_release(true); /* errors from before ranks could agree */
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

/* MPI can begin and end once per process. */
static struct {
    pthread_mutex_t lock;
    pid_t pid;  /* process that began or found MPI; not a forked child */
    bool begun; /* this process initialized MPI and finalizes it */
    int n_open;
    bool taken;
    bool no_end; /* MPI_Finalize may wait for ever for processes that died */
} mpi_here = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Open MPI 4.1 unloads its components while its threads may still handle their events, which
 * sometimes crashed finished runs on busy machines. */
static void keep_loaded(void)
{
    struct link_map *l = NULL;
    void *self = dlopen(NULL, RTLD_NOW);
    if (self && !dlinfo(self, RTLD_DI_LINKMAP, &l))
        for (; l; l = l->l_next)
            if (l->l_name && *l->l_name)
                (void)dlopen(l->l_name, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

/* If MPI_Finalize took over 1 s, sleep as long again plus up to 1 s, at most 11 s. With hundreds of
 * ranks per core the launcher answers late, but Open MPI's ranks wait only 2 s for it, and a rank
 * that exits before the launcher notices MPI_Finalize counts as dead. */
static void finalize(void)
{
    /* the program's floating-point mode may enable traps */
    fenv_t fp;
    fp_env_enter(&fp);
    const double start = clock_s(), most = 10;
    keep_loaded();
    mpilib->Finalize();
    const double took = clock_s() - start;
    if (took > 1)
        sleep((unsigned)(took < most ? took : most) + 1);
    fesetenv(&fp);
}

static void end_mpi(bool exits)
{
    if (mpi_here.pid != getpid()) /* exit of a forked child */
        return;
    pthread_mutex_lock(&mpi_here.lock);
    const bool ends = mpi_here.begun && !comm_is_finalized() && !mpi_here.no_end;
    if (ends && mpi_here.n_open == 0)
        finalize();
    else if (ends && exits && !err_had_error())
        err_warn("this process ends without nc_close(), so the job fails");
    pthread_mutex_unlock(&mpi_here.lock);
}

void comm_mpi_end(void)
{
    end_mpi(false);
}

/* A process that exits within a job does not finalize MPI, so mpirun notices the failure. */
static void at_exit(void)
{
    end_mpi(true);
}

void comm_mpi_no_end(void)
{
    mpi_here.no_end = true;
}

void comm_mpi_count_open(int more)
{
    pthread_mutex_lock(&mpi_here.lock);
    mpi_here.n_open += more;
    pthread_mutex_unlock(&mpi_here.lock);
}

static int begin_mpi(bool many, int *level)
{
    int done = 0, ended = 0;
    TRY(comm_library_load());
    mpilib->Finalized(&ended);
    if (ended)
        return ERR(-EINVAL, "cannot join the job: MPI has been finalized in this process, and "
                            "starts only once; for several jobs in turn, call MPI_Init and "
                            "MPI_Finalize around all of them");
    mpilib->Initialized(&done);
    if (done)
        return comm_mpi_check(mpilib->Query_thread(level), "ask MPI for threads");
    TRY(comm_mpi_check(
        mpilib->Init_thread(NULL, NULL, many ? MPI_THREAD_MULTIPLE : MPI_THREAD_SERIALIZED, level),
        "start MPI"));
    mpi_here.begun = true;
    /* MPICH asks this one when a wait for several messages fails, not the messages' own. */
    mpilib->Comm_set_errhandler(mpilib->world, mpilib->errors_return);
    atexit(at_exit);
    return 0;
}

enum comm_level comm_mpi_level(int mpi_level)
{
    return mpi_level >= MPI_THREAD_MULTIPLE     ? COMM_MANY
           : mpi_level >= MPI_THREAD_SERIALIZED ? COMM_TURNS
                                                : COMM_MAIN;
}

int comm_begin(bool many)
{
    int level = MPI_THREAD_SINGLE, rc = 0;
    pthread_mutex_lock(&mpi_here.lock);
    mpi_here.pid = mpi_here.pid ? mpi_here.pid : getpid();
    if (mpi_here.pid != getpid())
        rc = ERR(-EPERM, "cannot join the job from a forked child: MPI belongs to its parent");
    if (rc == 0)
        rc = begin_mpi(many, &level);
    pthread_mutex_unlock(&mpi_here.lock);
    return rc < 0 ? rc : (int)comm_mpi_level(level);
}

bool comm_is_finalized(void)
{
    int ended = 0;
    mpilib->Finalized(&ended);
    return ended;
}

int comm_may_call(void)
{
    int level = MPI_THREAD_SINGLE, is_main = 0;
    if (comm_is_finalized())
        return ERR(-EPERM, "cannot call: MPI has been finalized in this process");
    TRY(comm_mpi_check(mpilib->Query_thread(&level), "ask MPI for threads"));
    mpilib->Is_thread_main(&is_main);
    if (comm_mpi_level(level) == COMM_MAIN && !is_main)
        return ERR(
            -EPERM,
            "cannot call from this thread: MPI was initialised only for its main thread (need "
            "MPI_THREAD_SERIALIZED, or MPI_THREAD_MULTIPLE for several threads at once)");
    return 0;
}

int comm_take_turn(void)
{
    int level = MPI_THREAD_SINGLE;
    TRY(comm_may_call());
    TRY(comm_mpi_check(mpilib->Query_thread(&level), "ask MPI for threads"));
    if (comm_mpi_level(level) == COMM_MANY)
        return 0;
    pthread_mutex_lock(&mpi_here.lock);
    const bool taken = mpi_here.taken;
    mpi_here.taken = true;
    pthread_mutex_unlock(&mpi_here.lock);
    return taken ? ERR(-EBUSY, "cannot call during a call of another communicator: this MPI allows "
                               "one thread at a time (need MPI_THREAD_MULTIPLE)")
                 : 0;
}

void comm_give_turn(void)
{
    int level = MPI_THREAD_SINGLE;
    mpilib->Query_thread(&level);
    if (comm_mpi_level(level) == COMM_MANY)
        return;
    pthread_mutex_lock(&mpi_here.lock);
    mpi_here.taken = false;
    pthread_mutex_unlock(&mpi_here.lock);
}
