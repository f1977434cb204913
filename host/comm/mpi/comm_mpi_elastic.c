/* comm_mpi_elastic.c : lets jobs go on without ranks that died, and take in new ones, by MPI's
 * fault tolerance (ULFM).
 *
 *     a call fails --revoke--> all ranks' calls fail --comm_all_fine()--> false everywhere
 *     --comm_renew()--> a communicator of the living --> the callers go on from a common state
 *
 * MPI sees only deaths. A rank that waited for deadline_s therefore kills those that are silent as
 * long (comm_mpi_heartbeat.h). */
#include "base/buf.h"
#include "base/clock.h"
#include "base/deadline.h"
#include "base/err.h"
#include "comm/mpi/comm_library.h"
#include "comm/mpi/comm_mpi.h"
#include "comm/mpi/comm_mpi_heartbeat.h"
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

static void beat(struct comm_mpi *m)
{
    heartbeat_note(m->heartbeat, m->comm.rank);
}

static int kill_silent(struct comm_mpi *m)
{
    return heartbeat_kill_silent(m->heartbeat, m->comm.rank, m->comm.deadline_s);
}

static bool poll(struct comm *c)
{
    beat(comm_mpi(c));
    return false;
}

/* The deadline of a wait has passed. */
static int missing(struct comm *c)
{
    struct comm_mpi *m = comm_mpi(c);
    const double now = clock_s();
    beat(m); /* comm_look() does not call poll() any more */
    if (m->failed)
        return m->failed;
    if (now - m->said_s < c->deadline_s)
        return 0;
    m->said_s = now;
    if (!kill_silent(m) && c->rank == 0)
        err_news("rank 0 has waited %g s for ranks of other machines, or for MPI", c->deadline_s);
    return 0;
}

static void fail(struct comm *c, int code)
{
    struct comm_mpi *m = comm_mpi(c);
    if (!m->failed)
        (void)mpilib->Comm_revoke(m->mpi);
    m->failed = m->failed ? m->failed : code;
}

static int failed(const struct comm *c)
{
    return ((const struct comm_mpi *)c)->failed;
}

/* Silent ranks are killed until all have come. */
static void leave(struct comm *c)
{
    struct heartbeat *heartbeat = comm_mpi(c)->heartbeat;
    comm_mpi_ops.leave(c);
    heartbeat_close(heartbeat);
}

/* After a failure Open MPI 5.0 frees messages that failed, and ends the job if one of them was
 * still in flight ("Send error after request freed"). So sends are persistent (comm_mpi_wait.c),
 * and collectives are made of them. All messages are short enough to leave at once (eager), so that
 * they end when a rank is lost. */
static const char eager_bytes[] = "32768"; /* with MPI's header */
enum { MESSAGE_BYTES = 32768 - 256 };

static int barrier(struct comm *c)
{
    return comm_message_barrier(c, (uint8_t *)comm_mpi(c)->all);
}

static int reduce(struct comm *c, enum comm_reduce how, void *x, size_t n, const char *what)
{
    (void)what;
    return comm_message_reduce(c, how, x, n, (uint8_t *)comm_mpi(c)->all);
}

static const struct comm_ops *elastic_ops(void)
{
    static struct comm_ops ops;
    ops = comm_mpi_ops;
    ops.barrier = barrier;
    ops.bcast = comm_message_bcast;
    ops.reduce = reduce;
    ops.all_gather = NULL;
    ops.poll = poll;
    ops.missing = missing;
    ops.fail = fail;
    ops.failed = failed;
    ops.leave = leave;
    return &ops;
}

/* ---- heartbeats ---- */

/* Without shared memory, silent ranks are waited for. */
static int heartbeat_open(struct comm_mpi *m)
{
    uint64_t id = 0;
    char name[64];
    if (m->comm.rank == 0 && getrandom(&id, sizeof id, 0) != sizeof id)
        id = (uint64_t)getpid();
    TRY(comm_bcast(&m->comm, &id, sizeof id, 0));
    snprintf(name, sizeof name, "/narrowcast-%016llx", (unsigned long long)id);
    m->heartbeat = heartbeat_join(name, m->comm.rank, m->comm.n_ranks);
    const int rc = comm_barrier(&m->comm);
    (void)shm_unlink(name);
    return rc;
}

/* Watches a call of MPI that has no deadline. shrink() ends once the silent ranks are dead. Calls
 * that connect processes may not: Open MPI 5.0 retries for ever if a rank dies during them. */
struct guard {
    struct comm_mpi *m;
    double deadline_s;
    bool exits, ends;
    pthread_t thread;
    bool runs;
};

static const double SPAWN_S = 20, START_S = 60; /* for starting a process, and all of them */

static void *watch(void *arg)
{
    struct guard *g = arg;
    struct deadline d = deadline_in(clock_s(), g->deadline_s);
    while (!__atomic_load_n(&g->ends, __ATOMIC_ACQUIRE)) {
        usleep(20000);
        beat(g->m);
        if (!deadline_passed(&d, clock_s()))
            continue;
        if (g->exits) {
            err_news("MPI did not connect all processes within %g s: this process ends",
                     g->deadline_s);
            (void)raise(SIGKILL); /* those that are connected go on */
        }
        (void)kill_silent(g->m);
        d = deadline_in(clock_s(), g->deadline_s);
    }
    return NULL;
}

static void guard_begin(struct guard *g)
{
    g->ends = false;
    g->runs = pthread_create(&g->thread, NULL, watch, g) == 0;
}

static void guard_end(struct guard *g)
{
    __atomic_store_n(&g->ends, true, __ATOMIC_RELEASE);
    if (g->runs)
        pthread_join(g->thread, NULL);
}

static int shrink(struct comm_mpi *m, MPI_Comm *out)
{
    struct guard g = {.m = m, .deadline_s = m->comm.deadline_s};
    guard_begin(&g);
    const int rc = mpilib->Comm_shrink(m->mpi, out);
    guard_end(&g);
    return comm_mpi_check(rc, "go on without the ranks that are lost");
}

/* ---- joining ---- */

/* Not by MPI's collectives: they free messages that failed. */
static int meet(struct comm_mpi *m)
{
    if (comm_mpi_room(m) < 0)
        comm_abort(&m->comm, -ENOMEM);
    m->comm.chunk_bytes = MESSAGE_BYTES;
    TRY(comm_check_version(&m->comm));
    return heartbeat_open(m);
}

/* Replace m's communicator by `mpi`, which m then owns. If no rank was lost but `mpi` cannot be
 * used, m keeps the old one, and the error is returned. While the ranks meet, the old heartbeats
 * show which ones are silent. */
static int move(struct comm_mpi *m, MPI_Comm mpi)
{
    struct guard g = {.m = m, .deadline_s = m->comm.deadline_s};
    struct comm_mpi next = {.failed = 0};
    mpilib->Comm_set_errhandler(mpi, mpilib->errors_return);
    comm_mpi_set(&next, elastic_ops(), mpi, m->comm.deadline_s);
    guard_begin(&g);
    const int rc = meet(&next);
    guard_end(&g);
    const bool stays = rc < 0 && !next.failed;
    struct comm_mpi *left = stays ? &next : m;
    comm_mpi_room_free(left);
    if (left->comm.ops)
        mpilib->Comm_free(&left->mpi);
    if (stays)
        return rc;
    heartbeat_close(m->heartbeat);
    *m = next;
    return rc;
}

/* Open MPI's fault tolerance is off unless mpirun was asked for it. */
static bool is_enabled(void)
{
    char library[96];
    const char *word = getenv("OMPI_MCA_mpi_ft_enable");
    comm_library(library, sizeof library);
    return !strstr(library, "Open MPI") || (word && strchr("1tTyY", *word));
}

bool comm_can_be_elastic(void)
{
    struct err_lines unseen = {.held = true};
    struct err_lines *callers = err_turn(&unseen);
    const int rc = comm_library_load();
    err_turn(callers);
    return rc == 0 && mpilib->Comm_shrink && is_enabled();
}

static int check_ulfm(void)
{
    char library[96];
    comm_library(library, sizeof library);
    library[strcspn(library, ",")] = 0;
    if (!mpilib->Comm_shrink)
        return ERR(-ENOTSUP,
                   "--elastic needs an MPI with fault tolerance (ULFM): this is %s; Open MPI 5 has "
                   "it, and NARROWCAST_RESTARTS=N host/ranks.sh restarts a job with any MPI",
                   library);
    if (!is_enabled())
        return ERR(-ENOTSUP, "--elastic needs MPI's fault tolerance: `mpirun --with-ft ulfm`");
    return 0;
}

/* Joins the two sides: `local`, whose rank 0 has the new process in `bridge`, and the new process,
 * whose `local` is itself. */
static int connect_sides(MPI_Comm local, MPI_Comm bridge, bool is_new, MPI_Comm *out)
{
    MPI_Comm inter;
    comm_mpi_no_end();
    TRY(comm_mpi_check(mpilib->Intercomm_create(local, 0, bridge, !is_new, 0, &inter),
                       "connect a new process"));
    const int rc = mpilib->Intercomm_merge(inter, is_new, out);
    mpilib->Comm_free(&inter);
    return comm_mpi_check(rc, "connect a new process");
}

static int join_parent(MPI_Comm *out)
{
    MPI_Comm parent, bridge;
    TRY(comm_mpi_check(mpilib->Comm_get_parent(&parent), "join the job"));
    TRY(comm_mpi_check(mpilib->Intercomm_merge(parent, 1, &bridge), "join the job"));
    return connect_sides(mpilib->self, bridge, true, out);
}

/* Not MPI_Comm_dup(), which fails only on some ranks if one dies meanwhile. */
static int join_world(double deadline_s, MPI_Comm *out)
{
    struct comm_mpi world = {.mpi = mpilib->world, .comm = {.deadline_s = deadline_s}};
    int rank, n_started, n;
    TRY(shrink(&world, out));
    mpilib->Comm_size(mpilib->world, &n_started);
    mpilib->Comm_size(*out, &n);
    mpilib->Comm_rank(*out, &rank);
    if (n < n_started)
        comm_mpi_no_end();
    if (rank == 0 && n < n_started)
        err_note("%d of %d processes %s lost at the start", n_started - n, n_started,
                 n_started - n > 1 ? "are" : "is");
    return 0;
}

static int open_first(struct comm_mpi *m, bool joins)
{
    MPI_Comm mpi;
    mpilib->Comm_set_errhandler(mpilib->world, mpilib->errors_return);
    mpilib->Comm_set_errhandler(mpilib->self, mpilib->errors_return);
    TRY(joins ? join_parent(&mpi) : join_world(m->comm.deadline_s, &mpi));
    return move(m, mpi);
}

static int open_job(double deadline_s, bool joins, struct comm **out)
{
    /* Open MPI 5.0's collectives by machine (han) do not agree on a job's machines once processes
     * have died and joined */
    setenv("OMPI_MCA_coll", "^han", 0);
    setenv("OMPI_MCA_btl_sm_eager_limit", eager_bytes, 0);
    TRY(comm_begin(false));
    TRY(check_ulfm());
    struct comm_mpi *m = buf_alloc(sizeof *m);
    if (!m)
        return -ENOMEM;
    m->comm.deadline_s = deadline_s;
    const int rc = open_first(m, joins);
    if (rc < 0 && !m->failed)
        return free(m), rc;
    comm_mpi_count_open(1);
    *out = &m->comm;
    return 0;
}

/* MPI_Init() may wait for ever for a process that died in it, and a new process for a job that
 * ended meanwhile. */
int comm_open_elastic(double deadline_s, bool joins, struct comm **out)
{
    struct comm_mpi none = {.heartbeat = NULL};
    struct guard g = {
        .m = &none, .deadline_s = deadline_s + (joins ? SPAWN_S : START_S), .exits = true};
    guard_begin(&g);
    const int rc = open_job(deadline_s, joins, out);
    guard_end(&g);
    return rc;
}

bool comm_all_fine(struct comm *c, bool fine)
{
    struct comm_mpi *m = comm_mpi(c);
    struct guard g = {.m = m, .deadline_s = c->deadline_s};
    int flag = fine && !m->failed;
    guard_begin(&g);
    const int rc = mpilib->Comm_agree(m->mpi, &flag);
    guard_end(&g);
    return rc == MPI_SUCCESS && flag;
}

int comm_renew(struct comm *c, int *was)
{
    struct comm_mpi *m = comm_mpi(c);
    const int mine = c->rank;
    const uint8_t **parts = NULL;
    int rc, *all = NULL;
    comm_mpi_no_end();
    do {
        MPI_Comm mpi;
        (void)mpilib->Comm_revoke(m->mpi);
        TRY(shrink(m, &mpi));
        err_hold();
        rc = move(m, mpi);
        free(all);
        free(parts);
        all = buf_alloc((size_t)c->n_ranks * sizeof *all);
        parts = buf_alloc((size_t)c->n_ranks * sizeof *parts);
        if (!all || !parts)
            comm_abort(c, -ENOMEM);
        if (rc == 0)
            rc = comm_all_gather(c, &mine, sizeof mine, all, parts);
        err_release(rc < 0 && !m->failed);
        if (rc < 0 && !m->failed)
            return free(all), free(parts), rc;
    } while (!comm_all_fine(c, rc == 0));
    for (int r = 0; r < c->n_ranks; r++)
        memcpy(&was[r], parts[r], sizeof *was);
    free(all);
    free(parts);
    return 0;
}

/* Only rank 0 starts the process, so that other ranks may die meanwhile. Open MPI cannot start
 * processes for a process that it started itself. */
static int start_process(char **args, MPI_Comm *bridge)
{
    MPI_Comm inter, parent;
    char program[PATH_MAX] = "";
    TRY(comm_mpi_check(mpilib->Comm_get_parent(&parent), "start one more process"));
    if (parent != mpilib->comm_null)
        return ERR(-ENOTSUP, "cannot start one more process: none is left of those that mpirun "
                             "started");
    if (readlink("/proc/self/exe", program, sizeof program - 1) < 0 || access(program, X_OK))
        return ERR(-ENOENT, "cannot start one more process: the program file was replaced or "
                            "removed since the start");
    TRY(comm_mpi_check(mpilib->Comm_spawn(program, args, 1, mpilib->info_null, 0, mpilib->self,
                                          &inter, MPI_ERRCODES_IGNORE),
                       "start one more process"));
    return comm_mpi_check(mpilib->Intercomm_merge(inter, 0, bridge), "start one more process");
}

/* A process that cannot be taken in would wait for rank 0. */
static void end_bridge(MPI_Comm *bridge, bool is_crossed)
{
    if (*bridge == mpilib->comm_null)
        return;
    if (!is_crossed)
        (void)mpilib->Comm_revoke(*bridge);
    mpilib->Comm_free(bridge);
}

int comm_grow(struct comm *c, char **args)
{
    struct comm_mpi *m = comm_mpi(c);
    struct guard g = {.m = m, .deadline_s = c->deadline_s + SPAWN_S, .exits = true};
    MPI_Comm bridge = mpilib->comm_null, mpi;
    int rc = 0;
    err_hold();
    if (c->rank == 0) {
        guard_begin(&g);
        rc = start_process(args, &bridge);
        guard_end(&g);
    }
    rc = comm_agree(c, rc);
    if (rc == 0) {
        guard_begin(&g);
        err_hold(); /* all go on without the new process if it dies */
        rc = connect_sides(m->mpi, bridge, false, &mpi);
        err_release(false);
        guard_end(&g);
        if (comm_all_fine(c, rc == 0)) { /* else some may not have connected */
            end_bridge(&bridge, true);
            return move(m, mpi);
        }
        fail(c, -ECONNRESET);
        rc = -ECONNRESET;
    }
    end_bridge(&bridge, false);
    return rc;
}
