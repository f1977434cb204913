/* comm_mpi_begin.c : MPI of a process: begun and ended once, and which of its threads may call. */
#include "comm/mpi/comm_mpi.h"
#include "base/clock.h"
#include "base/err.h"
#include "vec/fp_mode.h"
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

/* MPI can be begun and ended once in a process, so what is known of it is the process's. */
static struct {
    pthread_mutex_t lock;
    pid_t pid;  /* the process that began, or met, MPI: a child that it forks has none */
    bool begun; /* here, so it is ended here */
    int n_open; /* jobs */
    bool taken; /* comm_take_turn() */
} mpi_here = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Open MPI 4.1 unloads its components while one of its threads may still have to handle an event of
 * one of them. On a busy machine that sometimes crashed a finished run in code that was no longer
 * mapped. Therefore every library that is loaded now stays loaded. */
static void keep_loaded(void)
{
    struct link_map *l = NULL;
    void *self = dlopen(NULL, RTLD_NOW);
    if (self && !dlinfo(self, RTLD_DI_LINKMAP, &l))
        for (; l; l = l->l_next)
            if (l->l_name && *l->l_name)
                (void)dlopen(l->l_name, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

/* MPI_Finalize; then, where that took long, a rest of as long. With hundreds of ranks on a core
 * what started them falls behind, Open MPI's ranks wait 2 s for its answer, and one that is gone
 * before it has heard is taken for dead. */
static void finalize(void)
{
    fenv_t fp; /* at exit it is the program's, which may have traps */
    fp_env_enter(&fp);
    const double start = clock_s(), most = 10;
    keep_loaded();
    MPI_Finalize();
    const double took = clock_s() - start;
    if (took > 1)
        sleep((unsigned)(took < most ? took : most) + 1);
    fesetenv(&fp);
}

/* When the last job is closed, or at exit if none has come about. A process that exits from the
 * middle of a job leaves MPI as it is, which is how mpirun learns of it. */
void comm_mpi_end(void)
{
    int ended = 0;
    if (mpi_here.pid != getpid()) /* at the exit of a forked child */
        return;
    pthread_mutex_lock(&mpi_here.lock);
    MPI_Finalized(&ended);
    if (mpi_here.begun && mpi_here.n_open == 0 && !ended)
        finalize();
    pthread_mutex_unlock(&mpi_here.lock);
}

void comm_mpi_count_open(int more)
{
    pthread_mutex_lock(&mpi_here.lock);
    mpi_here.n_open += more;
    pthread_mutex_unlock(&mpi_here.lock);
}

/* MPI of a process: begun here unless the caller has done so, whose choice of threads then
 * holds. */
static int begin_mpi(bool many, int *level)
{
    int done = 0, ended = 0;
    MPI_Finalized(&ended);
    if (ended)
        return ERR(-EINVAL, "cannot join the job: MPI has been finalized in this process");
    MPI_Initialized(&done);
    if (done)
        return comm_mpi_check(MPI_Query_thread(level), "ask MPI for threads");
    TRY(comm_mpi_check(
        MPI_Init_thread(NULL, NULL, many ? MPI_THREAD_MULTIPLE : MPI_THREAD_SERIALIZED, level),
        "start MPI"));
    mpi_here.begun = true;
    atexit(comm_mpi_end);
    if (*level < MPI_THREAD_FUNNELED)
        return ERR(-ENOTSUP,
                   "cannot use this MPI: it does not allow threads (MPI_THREAD_FUNNELED)");
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
        rc = ERR(-EPERM, "cannot join the job from a forked child: MPI is its parent's");
    if (rc == 0)
        rc = begin_mpi(many, &level);
    pthread_mutex_unlock(&mpi_here.lock);
    return rc < 0 ? rc : (int)comm_mpi_level(level);
}

int comm_may_call(void)
{
    int level = MPI_THREAD_SINGLE, is_main = 0;
    TRY(comm_mpi_check(MPI_Query_thread(&level), "ask MPI for threads"));
    MPI_Is_thread_main(&is_main);
    if (comm_mpi_level(level) == COMM_MAIN && !is_main)
        return ERR(-EPERM, "cannot call from this thread: MPI was begun for its main thread alone "
                           "(need MPI_THREAD_SERIALIZED, or MPI_THREAD_MULTIPLE for several at "
                           "once)");
    return 0;
}

int comm_take_turn(void)
{
    int level = MPI_THREAD_SINGLE;
    TRY(comm_may_call());
    TRY(comm_mpi_check(MPI_Query_thread(&level), "ask MPI for threads"));
    if (comm_mpi_level(level) == COMM_MANY)
        return 0;
    pthread_mutex_lock(&mpi_here.lock);
    const bool taken = mpi_here.taken;
    mpi_here.taken = true;
    pthread_mutex_unlock(&mpi_here.lock);
    return taken ? ERR(-EBUSY, "cannot call while another communicator's call is under way: this "
                               "MPI allows one thread at a time (need MPI_THREAD_MULTIPLE)")
                 : 0;
}

void comm_give_turn(void)
{
    int level = MPI_THREAD_SINGLE;
    MPI_Query_thread(&level);
    if (comm_mpi_level(level) == COMM_MANY)
        return;
    pthread_mutex_lock(&mpi_here.lock);
    mpi_here.taken = false;
    pthread_mutex_unlock(&mpi_here.lock);
}
