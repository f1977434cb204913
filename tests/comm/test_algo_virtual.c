/* test_algo_virtual.c : every algorithm on virtual ranks with many group sizes (also for
 * deadlocks), and a ring that forgets a message. */
#include "algo_check.h"
#include "capture.h"
#include "comm/algo/algo_step.h"
#include "comm/virtual/comm_virtual.h"

static int run(int n_ranks, size_t n_most, int (*body)(struct comm *c, void *ctx))
{
    struct algo_world world;
    struct comm_virtual *v;
    if (comm_virtual_open(n_ranks, NULL, &v) < 0)
        exit(1);
    world_open(&world, true, n_ranks, n_most);
    const int rc = comm_virtual_run(v, body, &world);
    world_close(&world);
    comm_virtual_close(v);
    return rc;
}

static size_t longest(int n_ranks)
{
    return 8 * (size_t)(n_ranks + 3);
}

static int sweep(struct comm *c, void *world)
{
    static const struct codec_spec rules[] = {
        {.format = "e5m2", .sum = "nearest"},
        {.format = "e5m2", .sum = "exact"},
        {.format = "e5m2", .sum = "kahan"},
        {.format = "e5m2", .sum = "nearest", .acc_format = "e6m9"}};
    const struct algo_rank t = algo_rank_of(c, world);
    const size_t p = (size_t)t.n_ranks, lengths[] = {8, 8 * (p / 2 + 1), longest(t.n_ranks)};
    const struct algo *a;
    char what[64];
    for (int i = 0; (a = algo_at(i)); i++)
        for (int k = a->grouped ? 1 : 0; k <= (a->grouped ? t.n_ranks : 0); k++)
            for (int rule = 0; rule < 4; rule++) {
                const bool known = rule % 3 == 0 || allowed(a, rule == 1 ? VEC_EXACT : VEC_KAHAN,
                                                            (struct mf_fmt){5, 2, 0});
                struct codec codec;
                if (a == &algo_native || !runs_here(&t, a, k) || !known ||
                    !settle(&t, a, k, &rules[rule], &codec, true))
                    continue;
                snprintf(what, sizeof what, "%s:%d of %d, %s %d", a->name, k, t.n_ranks,
                         rules[rule].sum, rule);
                for (int l = rule == 0 ? 0 : 2; l < 3; l++)
                    check_sums(&t, a, k, &codec, lengths[l], (uint32_t)l, what);
            }
    return 0;
}

static int ask_native(struct comm *c, void *ctx)
{
    const struct algo *a = &algo_native;
    (void)ctx;
    err_hold();
    return comm_agree(c, algo_here(c, &a));
}

static void test_native(void)
{
    struct capture cap;
    capture_begin(&cap);
    const int rc = run(3, 8, ask_native);
    capture_end(&cap);
    CHECK(rc == -EINVAL, "%d", rc);
    CHECK(strcmp(cap.text, "narrowcast: cannot run \"native\" with virtual ranks: MPI chooses "
                           "its order of additions; use another --algo\n") == 0,
          "\"%s\"", cap.text);
}

/* ---- a ring with a rank that forgets to send ---- */

struct forgetful {
    size_t n;
    int rank, round;
};

static int forgetful_ring(struct comm *c, void *ctx)
{
    const struct forgetful *who = ctx;
    const int p = c->n_ranks, me = c->rank, left = (me + p - 1) % p, right = (me + 1) % p;
    uint8_t *vector = buf_alloc(who->n), *got = buf_alloc(who->n);
    int rc = 0;
    memset(vector, 1, who->n);
    for (int round = 1; round <= 2 * (p - 1) && rc == 0; round++) {
        const bool adds = round < p;
        const int step = adds ? round : round - p + 1;
        const int going = (me + 2 * p - step + !adds) % p, coming = (going + p - 1) % p;
        uint8_t *to = adds ? got : vector + part_at(who->n, p, coming);
        rc = comm_recv(c, left, to, part_n(who->n, p, coming));
        if (rc == 0 && !(me == who->rank && round == who->round))
            rc = comm_send(c, right, vector + part_at(who->n, p, going), part_n(who->n, p, going));
        if (rc == 0)
            rc = comm_round(c);
        for (size_t i = 0; i < part_n(who->n, p, coming) && adds; i++)
            vector[part_at(who->n, p, coming) + i] =
                (uint8_t)(vector[part_at(who->n, p, coming) + i] + got[i]);
    }
    for (size_t i = 0; i < who->n && rc == 0 && who->round == 0; i++)
        CHECK(vector[i] == p, "element %zu: %d", i, vector[i]);
    free(vector), free(got);
    return rc;
}

static void test_forgetful(int n_ranks, struct forgetful who, int want, const char *line)
{
    struct comm_virtual *v;
    struct capture cap;
    if (comm_virtual_open(n_ranks, NULL, &v) < 0)
        exit(1);
    capture_begin(&cap);
    const int rc = comm_virtual_run(v, forgetful_ring, &who);
    capture_end(&cap);
    CHECK(rc == want, "%d", rc);
    CHECK(strcmp(cap.text, line) == 0, "rank %d, round %d: \"%s\"", who.rank, who.round, cap.text);
    who.round = 0;
    CHECK(comm_virtual_run(v, forgetful_ring, &who) == 0, "the next run");
    comm_virtual_close(v);
}

int main(void)
{
    printf("seed %llu\n", (unsigned long long)algo_check_seed);
    for (int p = 1; p <= 8; p++)
        CHECK(run(p, 49160, check_algorithms) == 0, "%d ranks", p);
    for (int p = 1; p <= 256; p = p < 64 ? p + 1 : p == 64 ? 100 : p + 156)
        CHECK(run(p, longest(p), sweep) == 0, "%d ranks", p);
    test_native();
    test_forgetful(6, (struct forgetful){.n = 480}, 0, "");
    /* later messages take its place, so the last is missing */
    test_forgetful(6, (struct forgetful){.n = 480, .rank = 2, .round = 9}, -EDEADLK,
                   "narrowcast: rank 3 waits for 80 bytes from rank 2, which has ended\n");
    test_forgetful(6, (struct forgetful){.n = 480, .rank = 2, .round = 3}, -EDEADLK,
                   "narrowcast: rank 3 waits for 80 bytes from rank 2, which has ended\n");
    test_forgetful(6, (struct forgetful){.n = 488, .rank = 5, .round = 10}, -EDEADLK,
                   "narrowcast: rank 0 waits for 80 bytes from rank 5, which has ended\n");
    test_forgetful(6, (struct forgetful){.n = 488, .rank = 2, .round = 3}, -EIO,
                   "narrowcast: rank 3 expects 80 bytes from rank 2, which sends 88\n");
    DONE();
}
