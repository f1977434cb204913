/* cmd_train.c : runs `narrowcast train` and `emulate`: starts ranks, reports errors. */
#include "app/app.h"
#include "app/train/train.h"
#include "base/buf.h"
#include "base/err.h"
#include "comm/mpi/comm_library.h"
#include "comm/virtual/comm_virtual.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const double DEADLINE_S = 60; /* until the options are read */

/* ranks that are fibers of this process, for `emulate` and train --blocks */
struct emulation {
    const struct train_options *o;
    struct train *ranks; /* of this process */
    struct elastic *elastic;
    int status; /* of the run, or 128 + signal number */
};

static int run_rank(struct comm *c, void *ctx)
{
    struct emulation *e = ctx;
    const int index = comm_rank(c) - comm_lowest_here(c, comm_rank(c));
    struct train *t = &e->ranks[index];
    t->o = e->o;
    t->comm = c;
    t->elastic = e->elastic;
    t->owner = index > 0 ? e->ranks : NULL;
    err_hold();
    const int rc = train_all(t);
    err_release(false);
    e->status = rc;
    return rc;
}

static int run(const struct train_options *o, struct comm_virtual *v, struct elastic *elastic)
{
    const int n = comm_virtual_n_here(v);
    struct emulation e = {.o = o, .elastic = elastic};
    e.ranks = buf_alloc((size_t)n * sizeof *e.ranks);
    int rc = e.ranks ? comm_virtual_run(v, run_rank, &e) : -ENOMEM;
    /* The owner of the network closes last. */
    for (int r = n - 1; r >= 0 && e.ranks; r--)
        train_close(&e.ranks[r]);
    free(e.ranks);
    return rc < 0 ? rc : e.status;
}

static int check_blocks(const struct train_options *o, const struct comm *comm)
{
    const int n = comm_n_ranks(comm);
    if (o->blocks < n)
        return ERR(-EINVAL, "--blocks %lld is less than the %d processes: need at least %d",
                   (long long)o->blocks, n, n);
    return 0;
}

/* Called with errors held. */
static int train_blocks(const struct train_options *o, struct comm *comm, struct elastic *elastic)
{
    struct comm_virtual *v = NULL;
    TRY(comm_agree(comm, comm_check_equal(comm, &o->blocks, sizeof o->blocks, "--blocks")));
    err_hold();
    int rc = comm_agree(comm, check_blocks(o, comm));
    err_hold();
    if (rc == 0)
        rc = comm_agree(comm, comm_virtual_open((int)o->blocks, comm, &v));
    if (rc == 0)
        rc = run(o, v, elastic);
    comm_virtual_close(v);
    return rc;
}

/* For launchers, as mpirun's status may be that of a process that died. */
static void say_done(void)
{
    const char *path = getenv("NARROWCAST_DONE");
    FILE *f = path ? fopen(path, "w") : NULL;
    if (f)
        fclose(f);
}

static int train_elastic(const struct train_options *o, struct comm *comm, bool joins, int argc,
                         char **argv)
{
    struct elastic *e = elastic_open(o, comm, joins, argc, argv);
    int rc;
    if (!e)
        comm_abort(comm, -ENOMEM);
    do {
        struct train_options attempt;
        rc = elastic_begin(e, &attempt);
        if (rc == 0)
            rc = train_blocks(&attempt, comm, e);
    } while (elastic_end(e, &rc));
    elastic_close(e);
    return rc;
}

static bool any_blocks(struct comm *comm, const struct train_options *o)
{
    int8_t some = o->blocks != 0;
    return comm_max_i8(comm, &some, 1) == 0 && some;
}

int cmd_train(int argc, char **argv)
{
    struct train_options o = {.deadline = DEADLINE_S};
    struct opt_parsed parsed = {0};
    struct comm *comm;
    err_hold();
    const bool joins = argc > 0 && !strcmp(argv[0], ELASTIC_JOINS);
    if (joins)
        argc--, argv++;
    int rc = train_options_read(&train_command, argc, argv, &o, &parsed);
    if (!parsed.help)
        signal(SIGPIPE, SIG_IGN); /* if the reader of --log closes it, the write fails */
    const bool elastic =
        rc == 0 && o.elastic && !parsed.help && (comm_can_be_elastic() || !train_job_id());
    if (rc == 0 && joins && !elastic)
        rc = ERR(-EINVAL, "unknown word '%s'", ELASTIC_JOINS);
    if (elastic)
        elastic_listen();
    int joined =
        elastic ? comm_open_elastic(o.deadline, joins, &comm) : comm_open(o.deadline, &comm);
    if (joined < 0) {
        err_release(true);
        return joined;
    }
    if (!joins || !elastic)
        rc = comm_agree(comm, rc);
    err_hold();
    if (rc == 0 && !elastic && !parsed.help)
        rc = elastic_resume_own(comm, o.resume ? NULL : train_job_id(), &o);
    if (rc == 0 && parsed.help) {
        if (comm_rank(comm) == 0)
            opt_help(&train_command, &parsed, stdout);
    } else if (elastic && (rc == 0 || comm_failed(comm))) {
        rc = train_elastic(&o, comm, joins, argc, argv);
    } else if (rc == 0 && any_blocks(comm, &o)) {
        rc = train_blocks(&o, comm, NULL);
    } else if (rc == 0) {
        struct train *t = buf_alloc(sizeof *t);
        if (!t)
            comm_abort(comm, -ENOMEM);
        t->o = &o;
        t->comm = comm;
        rc = train_all(t);
        train_close(t);
        free(t);
    }
    err_release(false);
    if (rc == 0 && comm_rank(comm) == 0)
        say_done();
    comm_close(comm);
    return rc;
}

/* Refuses mpirun, whose processes would write the same files. Ranks other than 0 wait, because
 * mpirun kills all once one fails. */
static int check_alone(void)
{
    static const struct timespec patience = {.tv_sec = 2};
    int which;
    const int n = comm_library_started(&which);
    if (n <= 1)
        return 0;
    if (which == 0)
        return ERR(-EINVAL,
                   "emulate runs all ranks in one process, but %d processes were started: leave "
                   "mpirun out",
                   n);
    (void)nanosleep(&patience, NULL);
    return -EINVAL;
}

int cmd_emulate(int argc, char **argv)
{
    struct comm_virtual *v;
    struct train_options o = {0};
    struct opt_parsed parsed = {0};
    TRY(train_options_read(&emulate_command, argc, argv, &o, &parsed));
    if (parsed.help)
        return opt_help(&emulate_command, &parsed, stdout), 0;
    signal(SIGPIPE, SIG_IGN);
    TRY(check_alone());
    TRY(comm_virtual_open((int)o.ranks, NULL, &v));
    const int rc = run(&o, v, NULL);
    comm_virtual_close(v);
    return rc;
}
