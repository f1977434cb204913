/* doctor_card.c : tests cards with a job of one layer. */
#include "app/doctor/doctor.h"
#include "base/err.h"
#include "job/job.h"
#include <stdio.h>

enum { ELEMENTS = 4096 };

/* All ranks call it. Each element is 1 on one rank and 0 on the others, so its sum is exact in any
 * format. */
static int add_ones(struct comm *c, struct job *job, bool *by_card, bool *right)
{
    const int n_ranks = comm_n_ranks(c);
    float x[ELEMENTS];
    float *layers[] = {x};
    struct reducer_step step;
    for (int i = 0; i < ELEMENTS; i++)
        x[i] = i % n_ranks == comm_rank(c);
    TRY(reducer_run(job->reducer, 0, layers, &step));
    *by_card = step.by_card_path;
    *right = true;
    for (int i = 0; i < ELEMENTS; i++)
        *right = *right && x[i] == 1 / (float)n_ranks;
    return 0;
}

static void mend(struct doctor_finding *f)
{
    doctor_mend(f, "start narrowcast sim --listen HOST:PORT or narrowcast card on that machine, "
                   "and open UDP and TCP to it in the firewall");
}

static void judge(struct job *job, bool by_card, bool right, struct doctor_finding *f)
{
    char path[2048];
    struct text text = text_in(path, sizeof path);
    if (offload_is_open(job->offload))
        job_path(job, &text);
    else
        text_add(&text, "%s", offload_why(job->offload));
    if (!right) {
        doctor_say(f, DOCTOR_FAIL, "the card returned wrong sums: %.400s", path);
        doctor_mend(f, "use --offload off; then look at narrowcast sim --counters HOST:PORT and "
                       "the card's log");
    } else if (by_card) {
        doctor_say(f, DOCTOR_OK, "%.500s; one step went through", path);
    } else {
        doctor_say(f, DOCTOR_FAIL, "%.500s", path);
        mend(f);
    }
}

static int try_step(struct comm *c, struct job *job, struct doctor_finding *f)
{
    bool by_card = false, right = true;
    TRY(add_ones(c, job, &by_card, &right));
    int8_t failed[2] = {!by_card, !right};
    TRY(comm_max_i8(c, failed, 2));
    if (comm_rank(c) == 0)
        judge(job, !failed[0], !failed[1], f);
    return 0;
}

enum { LINE_BYTES = 512 };

static void keep_error(void *arg, bool error, const char *line)
{
    if (error)
        snprintf(arg, LINE_BYTES, "%s", line);
    else
        err_note("narrowcast: warning: %s", line);
}

/* A missing or silent card is a finding, not an error. */
static int open_job(struct comm *c, struct job *job, struct doctor_finding *f, bool *is_open)
{
    const struct reducer_layer layers[] = {{.name = "ones", .n = ELEMENTS}};
    char error[LINE_BYTES] = "";
    struct err_lines lines = {.to = keep_error, .arg = error}, *before = err_turn(&lines);
    const int rc = job_open(job, layers, 1);
    err_turn(before);
    *is_open = rc == 0;
    if (rc == -ENXIO || rc == -ENOTCONN) {
        if (comm_rank(c) == 0) {
            doctor_say(f, DOCTOR_FAIL, "%.500s", error);
            mend(f);
        }
        return 0;
    }
    return rc == 0 || !error[0] ? rc : ERR(rc, "%s", error);
}

int doctor_card(struct comm *c, const char *where, const char *fabric, double deadline_s,
                struct doctor_finding *f)
{
    const struct job_spec spec = {
        .codec = {.codec = "minifloat", .format = "e4m3", .scale = "none"},
        .bucket_bytes = 1 << 20,
        .cards = {.where = where, .provider = fabric, .card_deadline_s = deadline_s}};
    struct job job;
    bool is_open;
    TRY(job_settle(c, &spec, &job));
    job.cards.needed = true;
    if (!job.cards.where) {
        doctor_say(f, DOCTOR_OK, "none named; --offload udp://HOST:PORT checks one");
        job_close(&job);
        return 0;
    }
    int rc = open_job(c, &job, f, &is_open);
    if (rc == 0 && is_open)
        rc = try_step(c, &job, f);
    job_close(&job);
    return rc;
}
