/* test_overlap_thread_mpi.c : the thread that sends buckets starts before the last gradient
 * exists. An MPI without threads works without it. */
/* RANKS: 1 2 3 LONG: 4 */
#include "base/err.h"
#include "overlap_fixture.h"
#include <semaphore.h>

static sem_t summed;
static size_t spy_scratch(const struct reduce_op *f, size_t n, int n_ranks, int group)
{
    return algo_gather.scratch_bytes(f, n, n_ranks, group);
}
static int spy_run(struct comm *c, const struct algo_call *call)
{
    int rc = algo_gather.run(c, call);
    sem_post(&summed);
    return rc;
}
static int broken_run(struct comm *c, const struct algo_call *call)
{
    (void)c, (void)call;
    return ERR(-EIO, "broken on purpose");
}

static void check_that_it_overlaps(void)
{
    static const struct algo spy = {.name = "spy", .scratch_bytes = spy_scratch, .run = spy_run};
    const struct setting s = {.spec = {.format = "e4m3", .scale = "aps"}, .bucket_bytes = 300};
    struct reducer *r = open_reducer(&s, &spy);
    struct reducer_step report;
    struct timespec limit;
    float *at[N_LAYERS];
    sem_init(&summed, 0, 0);
    make_grads(1);
    point(t.grads, at);
    CHECK(reducer_set_overlap(r, true) == 0, "overlap");
    reducer_begin(r, 1, at);
    reducer_ready(r, N_LAYERS - 2, 2);
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += 60;
    CHECK(sem_timedwait(&summed, &limit) == 0, "the first bucket waits for the others");
    CHECK(reducer_finish(r, &report) == 0 && report.hidden_s > 0, "%g s hidden", report.hidden_s);
    reducer_close(r);
    sem_destroy(&summed);
}

static void check_failure(void)
{
    static const struct algo broken = {
        .name = "broken", .scratch_bytes = spy_scratch, .run = broken_run};
    const struct setting s = {.spec = {.format = "e5m2"}, .algo = "auto", .bucket_bytes = 300};
    struct reducer *r = open_reducer(&s, &broken), *left = open_reducer(&s, NULL);
    struct reducer_step report = {.n_guessed = -1};
    float *at[N_LAYERS];
    int first, n;
    make_grads(1);
    point(t.grads, at);
    CHECK(reducer_set_overlap(r, true) == 0 && reducer_set_overlap(left, true) == 0, "overlap");
    err_hold();
    reducer_begin(r, 1, at);
    CHECK(!reducer_next(r, &first, &n), "means of layers %d+%d of a step that failed", first, n);
    CHECK(reducer_finish(r, &report) == -EIO && report.n_guessed == -1, "a failure in the thread");
    err_release(false);
    reducer_close(r);
    reducer_begin(left, 1, at); /* its thread waits in vain for gradients */
    nap(1000000);
    reducer_close(left);
}

static void check_refusal(void)
{
    const struct setting s = {
        .spec = {.format = "e4m3", .scale = "aps"}, .algo = "auto", .bucket_bytes = 700};
    struct reducer *late = open_reducer(&s, NULL), *asked = open_reducer(&s, NULL);
    err_hold();
    CHECK(reducer_set_overlap(asked, true) == 0 && !reducer_overlaps(asked),
          "overlap on one thread");
    err_release(false);
    for (uint32_t step = 0; step < 5; step++) {
        const bool bad = make_grads(step);
        const struct reducer_step a = run_late(late, step), b = run_early(asked, step, bad);
        CHECK(a.skipped == b.skipped && b.hidden_s == 0, "step %u", step);
        for (int l = 0; l < N_LAYERS && !bad; l++)
            CHECK(memcmp(t.late[l], t.early[l], sizes[l] * sizeof(float)) == 0, "step %u layer %d",
                  step, l);
    }
    reducer_close(late);
    reducer_close(asked);
}

int main(void)
{
    overlap_fixture_open();
    if (t.n_ranks == 3) {
        t.c->threads = t.rank != 1; /* one rank's MPI has no threads */
        check_refusal();
    } else {
        check_that_it_overlaps();
        check_failure();
    }
    comm_close(t.c);
    DONE();
}
