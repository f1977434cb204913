/* test_overlap_mpi.c : buckets that travel while gradients are made have the bits of
 * reducer_run(). */
/* RANKS: 1 2 4 */
#include "overlap_fixture.h"

static void check_setting(const struct setting *s, bool card_path)
{
    struct setting plain = *s;
    plain.batches = false;
    struct reducer *late = open_reducer(&plain, NULL), *early = open_reducer(s, NULL);
    int taken = 0, redone = 0;
    CHECK(reducer_set_overlap(early, true) == 0 && reducer_overlaps(early), "no overlap");
    t.fake = (struct fake_card_path){.c = t.c, .seed = SEED, .mpi = t.fake.mpi};
    if (card_path)
        CHECK(reducer_set_card_path(early, &fake_ops, &t.fake) == 0, "few buckets");
    for (uint32_t step = 0; step < N_STEPS; step++) {
        const bool bad = make_grads(step);
        t.fake.step = step;
        reducer_force_fp32(late, step % 7 == 3);
        reducer_force_fp32(early, step % 7 == 3);
        if (step == N_STEPS / 2)
            CHECK(reducer_set_overlap(early, false) == 0 && reducer_set_overlap(early, true) == 0,
                  "again");
        const struct reducer_step a = run_late(late, step), b = run_early(early, step, bad);
        CHECK(a.skipped == bad && b.skipped == bad, "step %u: skipped %d late, %d early, nan %d",
              step, a.skipped, b.skipped, bad);
        for (int l = 0; l < N_LAYERS && !bad; l++)
            CHECK(memcmp(t.late[l], t.early[l], sizes[l] * sizeof(float)) == 0,
                  "%s %s %s, buckets of %zu: step %u layer %d differs", s->spec.format,
                  s->spec.scale, s->algo, s->bucket_bytes, step, l);
        CHECK(bad || card_path || a.sent_bytes == b.sent_bytes, "step %u: %d bytes late, %d early",
              step, (int)a.sent_bytes, (int)b.sent_bytes);
        CHECK(a.code_bytes == b.code_bytes && a.fp32_bytes == b.fp32_bytes, "step %u", step);
        taken += !bad;
        redone += b.n_redone;
    }
    CHECK(taken > N_STEPS / 2 && taken < N_STEPS,
          "%d steps of %d were taken: this tests too little", taken, N_STEPS);
    CHECK(!card_path || (redone > 3 && t.fake.abandoned > 1 && t.fake.sums > 5),
          "%d buckets redone, given up %d times, %d sums", redone, t.fake.abandoned, t.fake.sums);
    reducer_close(late);
    reducer_close(early);
}

static void check_bits(void)
{
    static const size_t buckets[] = {1, 700, 2500, 1 << 20};
    const bool many = t.n_ranks > 1;
    const char *group = t.n_ranks % 2 ? "gather" : "group-scatter:2",
               *ring = many ? "ring" : "self";
    const struct setting settings[] = {
        {.spec = {.format = "e4m3", .scale = "aps"}, .algo = "auto"},
        {.spec = {.format = "e5m2", .scale = "none", .round = "stochastic"}, .algo = "auto"},
        {.spec = {.format = "e3m0", .scale = "aps-tight"}, .algo = group},
        {.spec = {.format = "e5m2", .sum = "trunc"}, .algo = ring},
        {.spec = {.format = "e6m9", .scale = "const:8", .sum = "nearest"},
         .algo = many ? "direct" : "self"},
        {.spec = {.format = "fp32", .scale = "none"}, .algo = "native"},
        {.spec = {.codec = "ternary"}, .bucket_bytes = 175},
        {.spec = {.format = "e4m3", .scale = "quantile:every=3"}, .bucket_bytes = 700},
        {.spec = {.format = "e2m5f", .scale = "aps-tight:32", .out_format = "e2m5f"},
         .bucket_bytes = 700},
    };
    for (int i = 0; i < 6; i++)
        for (int b = 0; b < 4; b++) {
            struct setting s = settings[i];
            s.bucket_bytes = buckets[b];
            check_setting(&s, false);
        }
    for (int i = 0; i < 9; i = i == 2 ? 6 : i + 1) { /* exact sums, like a card's */
        struct setting s = settings[i];
        s.algo = "auto";
        s.bucket_bytes = s.bucket_bytes ? s.bucket_bytes : 700;
        check_setting(&s, true);
        s.batches = true;
        check_setting(&s, i > 0);
    }
    CHECK(batch.decodes > 100 && batch.decoded > batch.decodes, "%d layers in %d decodes",
          batch.decoded, batch.decodes);
    CHECK(batch.launches > 100 && batch.allocated == 0, "%d launches, %d not freed", batch.launches,
          batch.allocated);
}

int main(void)
{
    overlap_fixture_open();
    MPI_Comm_dup(MPI_COMM_WORLD, &t.fake.mpi);
    check_bits();
    MPI_Comm_free(&t.fake.mpi);
    comm_close(t.c);
    DONE();
}
