/* elastic.c : begins and ends the attempts of an elastic run. */
#include "app/train/elastic.h"
#include "app/train/train.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TRIES = 3 }; /* attempts from the same step by the same processes */

static volatile sig_atomic_t asked;

static void ask(int number)
{
    (void)number;
    asked = 1;
}

void elastic_listen(void)
{
    struct sigaction act = {.sa_handler = ask, .sa_flags = SA_RESTART};
    sigemptyset(&act.sa_mask);
    sigaction(SIGUSR2, &act, NULL);
}

bool elastic_asked(void)
{
    return asked;
}

void elastic_pause(const struct train *t)
{
    const char *s = getenv("NARROWCAST_TEST_PAUSE");
    if (s && t->elastic && !t->owner)
        sleep((unsigned)atoi(s));
}

struct elastic *elastic_open(const struct train_options *o, struct comm *comm, bool joins, int argc,
                             char **argv)
{
    static char command[] = "train", word[] = ELASTIC_JOINS;
    struct elastic *e = buf_alloc(sizeof *e);
    if (!e || !(e->args = buf_alloc(((size_t)argc + 3) * sizeof *e->args)))
        return free(e), NULL;
    e->args[0] = command;
    e->args[1] = word;
    memcpy(e->args + 2, argv, (size_t)argc * sizeof *argv);
    e->o = o;
    e->comm = comm;
    e->joins = joins;
    return e;
}

void elastic_close(struct elastic *e)
{
    if (!e)
        return;
    elastic_drop_file(e);
    elastic_slot_free(&e->slots[0]);
    elastic_slot_free(&e->slots[1]);
    free(e->plan.layers);
    free(e->args);
    free(e);
}

int elastic_resume_own(struct comm *comm, const char *id, struct train_options *o)
{
    uint8_t has = comm_rank(comm) == 0 && id && o->save && checkpoint_is_of(o->save, id);
    TRY(comm_bcast(comm, &has, sizeof has, 0));
    if (has)
        o->resume = o->save, o->resumes_own = true;
    return 0;
}

/* From the last checkpoint of this run, if process 0 has one, or from its start. */
static int start_anew(const struct elastic *e, struct train_options *run)
{
    TRY(elastic_resume_own(e->comm, *e->plan.run ? e->plan.run : train_job_id(), run));
    if (e->lost_s > 0 && comm_rank(e->comm) == 0)
        err_note("the state in memory is lost: going on from %s%s",
                 run->resume ? "checkpoint " : "the start", run->resume ? run->resume : "");
    return 0;
}

/* Copies of most processes are on another machine. */
static int find_apart(struct elastic *e)
{
    const int n = comm_n_ranks(e->comm);
    int32_t *lowest = buf_alloc((size_t)n * sizeof *lowest);
    if (!lowest)
        comm_abort(e->comm, -ENOMEM);
    const int rc = comm_nodes(e->comm, lowest);
    e->apart = 1;
    for (int by = 1, most = 0; by < n && rc == 0; by++) {
        int others = 0;
        for (int r = 0; r < n; r++)
            others += lowest[r] != lowest[(r + by) % n];
        if (others > most)
            most = others, e->apart = by;
    }
    free(lowest);
    return rc;
}

static int check_enough(const struct elastic *e)
{
    const int n = comm_n_ranks(e->comm);
    err_hold();
    return comm_agree(e->comm,
                      n >= e->o->elastic
                          ? 0
                          : ERR(-ECONNRESET, "%d process%s, and --elastic asks for %lld", n,
                                n > 1 ? "es are left" : " is left", (long long)e->o->elastic));
}

int elastic_begin(struct elastic *e, struct train_options *run)
{
    const int n = comm_n_ranks(e->comm);
    const struct elastic_offer mine = elastic_offer(e);
    struct elastic_offer *all = buf_alloc((size_t)n * sizeof *all);
    const uint8_t **offers = buf_alloc((size_t)n * sizeof *offers);
    *run = *e->o;
    elastic_drop_file(e);
    if (!all || !offers)
        comm_abort(e->comm, -ENOMEM);
    int rc = check_enough(e);
    err_hold();
    if (rc == 0)
        rc = find_apart(e);
    if (rc == 0)
        rc = comm_all_gather(e->comm, &mine, sizeof mine, all, offers);
    if (rc == 0)
        elastic_choose(e, offers);
    if (rc == 0 && e->ended)
        rc = ELASTIC_ENDED;
    else if (rc == 0 && e->from == 0)
        rc = start_anew(e, run);
    else if (rc == 0)
        rc = elastic_restore(e, offers);
    if (rc == 0 && e->tries > TRIES)
        rc = comm_rank(e->comm) > 0
                 ? -EIO
                 : ERR(-EIO, "%d attempts from step %llu failed although no process died", TRIES,
                       (unsigned long long)(e->from ? e->from - 1 : 0));
    if (rc == 0 && e->file.path[0])
        run->resume = e->file.path, run->resumes_own = true;
    free(offers);
    free(all);
    return rc;
}

/* ---- the end of an attempt ---- */

static void say_lost(const struct elastic *e, const int *was, int n_before)
{
    char list[128];
    struct text text = text_in(list, sizeof list);
    int n_lost = 0;
    for (int r = 0, i = 0; r < n_before; r++) {
        if (i < comm_n_ranks(e->comm) && was[i] == r)
            i++;
        else
            text_add(&text, "%s%d", n_lost++ ? ", " : "", r);
    }
    if (comm_rank(e->comm) == 0 && n_lost > 0)
        err_note("process%s %s of %d %s lost", n_lost > 1 ? "es" : "", list, n_before,
                 n_lost > 1 ? "are" : "is");
}

static int renew(struct elastic *e)
{
    const int n = comm_n_ranks(e->comm);
    int *was = buf_alloc((size_t)n * sizeof *was);
    if (!was)
        comm_abort(e->comm, -ENOMEM);
    e->lost_s = clock_s();
    const int rc = comm_renew(e->comm, was);
    if (rc == 0)
        say_lost(e, was, n);
    free(was);
    TRY(rc);
    e->tries = comm_n_ranks(e->comm) < n ? 0 : e->tries;
    return 0;
}

static int grow(struct elastic *e)
{
    const int n = comm_n_ranks(e->comm);
    asked = 0;
    if (n >= e->o->blocks) {
        if (comm_rank(e->comm) == 0)
            err_note("cannot take in a process: there are %d for %lld blocks", n,
                     (long long)e->o->blocks);
        return 0;
    }
    e->lost_s = clock_s();
    (void)comm_grow(e->comm, e->args); /* the next attempt notices a failure, as all do */
    return 0;
}

/* The state that an attempt could not go on from. */
static void leave_file(struct elastic *e)
{
    if (e->file.path[0] && comm_rank(e->comm) == 0)
        err_note("the state after step %llu is in '%s': try it with --resume",
                 (unsigned long long)e->from - 1, e->file.path);
    e->file.path[0] = 0;
}

bool elastic_end(struct elastic *e, int *rc)
{
    if (*rc >= 0 && *rc < ELASTIC_GROWS) { /* all have passed train_agree(): all is written */
        e->ended = true;
        e->status = *rc;
    }
    const bool fine = comm_all_fine(e->comm, true);
    *rc = *rc == ELASTIC_ENDED ? e->status : *rc;
    if (fine && *rc != ELASTIC_GROWS) {
        if (*rc < 0)
            leave_file(e);
        return false;
    }
    err_release(false);
    err_hold();
    *rc = fine ? grow(e) : renew(e);
    return *rc == 0;
}
