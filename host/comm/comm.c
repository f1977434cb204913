/* comm.c : joining and leaving a job of ranks, and agreeing whether a step went well. */
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "comm/comm_mpi.h"
#include <stdlib.h>
#include <unistd.h>

/* MPI can be begun and ended once in a process, so what is known of it is the process's. */
static struct {
    bool begun; /* here, so it is ended here */
    int n_open; /* jobs */
} mpi_here;

/* MPI_Finalize; then, where that took long, a rest of as long. With hundreds of ranks on a core
 * what started them falls behind, Open MPI's ranks wait 2 s for its answer, and one that is gone
 * before it has heard is taken for dead. */
static void finalize(void)
{
    const double start = clock_s(), most = 10;
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

/* The parts that need to know how many ranks there are. */
static int make_room(struct comm *c)
{
    size_t n = (size_t)c->n_ranks;
    c->room = 4 * n + 16;
    c->req = malloc(c->room * sizeof *c->req);
    c->status = malloc(c->room * sizeof *c->status);
    c->heard = buf_alloc(n * sizeof *c->heard);
    c->gave_up = buf_alloc(n * sizeof *c->gave_up);
    c->scratch = buf_alloc(n * COMM_BLOCK);
    c->book = buf_alloc(n * COMM_BOOK);
    if (!c->req || !c->status || !c->heard || !c->gave_up || !c->scratch || !c->book)
        return ERR(-ENOMEM, "cannot open a job of %d ranks: out of memory", c->n_ranks);
    return 0;
}

static void give_back(struct comm *c)
{
    free(c->req);
    free(c->status);
    free(c->heard);
    free(c->gave_up);
    free(c->scratch);
    free(c->book);
    free(c);
}

int comm_open(double deadline_s, struct comm **out)
{
    struct comm *c = buf_alloc(sizeof *c);
    if (!c)
        return -ENOMEM;
    c->deadline_s = deadline_s;
    c->chunk_bytes = (size_t)1 << 30;
    int level = MPI_THREAD_SINGLE;
    int rc = begin_mpi(&level);
    if (rc < 0)
        goto free_comm;
    c->threads = level >= MPI_THREAD_SERIALIZED;
    rc = comm_mpi_check(MPI_Comm_dup(MPI_COMM_WORLD, &c->mpi), "join the job");
    if (rc < 0)
        goto free_comm;
    MPI_Comm_set_errhandler(c->mpi, MPI_ERRORS_RETURN);
    MPI_Comm_rank(c->mpi, &c->rank);
    MPI_Comm_size(c->mpi, &c->n_ranks);
    if (!(deadline_s > 0)) {
        rc = c->rank > 0
                 ? -EINVAL
                 : ERR(-EINVAL, "cannot wait for ranks until a deadline of %g s: need more than 0",
                       deadline_s);
        goto leave_job;
    }
    mpi_here.n_open++;
    rc = make_room(c);
    if (rc < 0)
        comm_abort(c, rc); /* the others are in the job already and would wait */
    *out = c;
    return 0;
leave_job:
    MPI_Comm_free(&c->mpi);
free_comm:
    give_back(c);
    return rc;
}

void comm_leave(struct comm *c)
{
    if (!c)
        return;
    /* so that MPI's own waits, which have no deadline, find everybody there */
    (void)comm_barrier(c);
    MPI_Comm_free(&c->mpi);
    give_back(c);
    mpi_here.n_open--;
}

void comm_close(struct comm *c)
{
    comm_leave(c);
    if (c)
        end_mpi();
}

int comm_rank(const struct comm *c)
{
    return c->rank;
}
int comm_n_ranks(const struct comm *c)
{
    return c->n_ranks;
}
bool comm_threads(const struct comm *c)
{
    return c->threads;
}
struct comm_count comm_counted(const struct comm *c)
{
    return c->count;
}

/* One word a rank, | rank : -code |, and the smallest wins: the lowest rank that failed brings its
 * code along. */
int comm_agree(struct comm *c, int rc)
{
    const uint64_t fine = UINT64_MAX;
    uint64_t word = rc < 0 ? (uint64_t)c->rank << 32 | (uint32_t)-rc : fine;
    MPI_Request *req = comm_request(c);
    if (!req)
        return -ENOMEM;
    TRY(comm_mpi_check(MPI_Iallreduce(MPI_IN_PLACE, &word, 1, MPI_UINT64_T, MPI_MIN, c->mpi, req),
                       "agree with all ranks"));
    c->n_req++;
    TRY(comm_wait(c));
    const int speaker = word == fine ? 0 : (int)(word >> 32);
    err_release(c->rank == speaker);
    return word == fine ? 0 : -(int)(uint32_t)word;
}
