/* test_algo_phases.c : an algorithm's phases state its bytes, messages and rounds for 1 to 256
 * ranks. The numbers of the APS paper's section 4.2 follow. */
#include "algo_check.h"
#include "comm/virtual/comm_virtual.h"

struct counted {
    uint64_t sent, got, n_sent, n_got, rounds;
    uint64_t either; /* bytes of each phase's busier direction, which determine its time */
};

struct run {
    const struct algo *algo;
    int k;
    struct codec codec;
    size_t n;
    struct counted of[ALGO_CHECK_MAX];
};

static const struct comm_ops *real;
static struct run *now;

static int count_send(struct comm *c, size_t place, int tag, int to, const void *buf, size_t bytes)
{
    now->of[c->rank].sent += bytes;
    now->of[c->rank].n_sent++;
    return real->send(c, place, tag, to, buf, bytes);
}

static int count_recv(struct comm *c, size_t place, int tag, int from, void *buf, size_t bytes)
{
    now->of[c->rank].got += bytes;
    now->of[c->rank].n_got++;
    return real->recv(c, place, tag, from, buf, bytes);
}

static int run_one(struct comm *c, void *ctx)
{
    struct run *r = ctx;
    struct codec_call of = {.codec = &r->codec};
    const struct reduce_op f = codec_reduce_op(&of);
    const size_t in = f.ops->in_bytes(&f, r->n), out = f.ops->out_bytes(&f, r->n);
    struct algo_call call = {.codec = &r->codec,
                             .op = f,
                             .n = r->n,
                             .codes = buf_alloc(in + 1),
                             .result = buf_alloc(out + 1),
                             .scratch =
                                 buf_alloc(r->algo->scratch_bytes(&f, r->n, c->n_ranks, r->k) + 1),
                             .group = r->k};
    static struct comm_ops counting;
    if (c->rank == 0)
        counting = *c->ops, real = c->ops;
    counting.send = count_send, counting.recv = count_recv;
    const uint64_t rounds = c->count.rounds;
    TRY(comm_barrier(c));
    c->ops = &counting;
    const int rc = r->algo->run(c, &call);
    c->ops = real;
    r->of[c->rank].rounds = c->count.rounds - rounds;
    free((void *)call.codes), free(call.result), free(call.scratch);
    return rc;
}

static struct counted of_phases(const struct run *r, int n_ranks)
{
    struct codec_call of = {.codec = &r->codec};
    const struct reduce_op f = codec_reduce_op(&of);
    struct algo_phase phases[ALGO_PHASES];
    struct counted sum = {0};
    const int n = r->algo->phases(&f, r->n, n_ranks, r->k, phases);
    for (int i = 0; i < n; i++) {
        const uint64_t steps = (uint64_t)phases[i].steps;
        CHECK(steps > 0, "%s: leg %d has no step", r->algo->name, i);
        sum.rounds += steps;
        sum.sent += steps * phases[i].sent;
        sum.got += steps * phases[i].got;
        sum.either += steps * (phases[i].got > phases[i].sent ? phases[i].got : phases[i].sent);
        sum.n_sent += steps * (uint64_t)phases[i].n_sent;
        sum.n_got += steps * (uint64_t)phases[i].n_got;
    }
    return sum;
}

static bool same(const struct counted *a, const struct counted *b)
{
    return a->sent == b->sent && a->got == b->got && a->n_sent == b->n_sent && a->n_got == b->n_got;
}

/* equal: ranges have one length, so rank 0's traffic is exactly the phases'. Otherwise those are
 * an upper bound, at most one unit per message too large. */
static void check(struct comm_virtual *v, struct run *r, int n_ranks, bool equal)
{
    memset(r->of, 0, sizeof r->of);
    now = r;
    CHECK(comm_virtual_run(v, run_one, r) == 0, "%s:%d", r->algo->name, r->k);
    const struct counted want = of_phases(r, n_ranks), *is = &r->of[0];
    const uint64_t slack = (want.n_sent + want.n_got) * 8 * 8; /* units of wide sums */
    if (equal)
        CHECK(same(&want, is),
              "%s:%d of %d, %zu: %llu %llu bytes, %llu %llu messages; is %llu %llu, %llu %llu",
              r->algo->name, r->k, n_ranks, r->n, (unsigned long long)want.sent,
              (unsigned long long)want.got, (unsigned long long)want.n_sent,
              (unsigned long long)want.n_got, (unsigned long long)is->sent,
              (unsigned long long)is->got, (unsigned long long)is->n_sent,
              (unsigned long long)is->n_got);
    for (int i = 0; i < n_ranks; i++)
        CHECK(r->of[i].sent <= want.either && r->of[i].got <= want.either, "%s:%d of %d: rank %d",
              r->algo->name, r->k, n_ranks, i);
    CHECK(want.sent <= is->sent + slack && want.got <= is->got + slack, "%s:%d of %d: too many",
          r->algo->name, r->k, n_ranks);
    if (!r->algo->flows || r->n < 10000) /* segments of a pipeline count as rounds */
        CHECK(want.rounds == is->rounds, "%s:%d of %d: %llu rounds, is %llu", r->algo->name, r->k,
              n_ranks, (unsigned long long)want.rounds, (unsigned long long)is->rounds);
}

/* Codecs whose sums have no partial form. */
static void check_codec(const char *name)
{
    struct run r = {.algo = &algo_direct, .n = 4096};
    const struct codec_spec spec = {.codec = name};
    if (codec_parse(&spec, &r.codec) < 0 || algo_settle(r.algo, 0, 4, &r.codec) < 0)
        exit(1);
    const struct reduce_op f = codec_reduce_op(&(struct codec_call){.codec = &r.codec});
    const size_t part = r.n / 4;
    const struct counted is = of_phases(&r, 4);
    CHECK(is.rounds == 2 && is.sent == 3 * (f.ops->in_bytes(&f, part) + f.ops->out_bytes(&f, part)),
          "%s: %llu bytes in %llu rounds", name, (unsigned long long)is.sent,
          (unsigned long long)is.rounds);
}

static void check_ranks(int n_ranks, size_t n, bool equal)
{
    static const struct codec_spec spec[] = {
        {.format = "e5m2"},
        {.format = "e3m0"},
        {.format = "fp32"},
        {.format = "e5m2", .sum = "nearest", .acc_format = "e6m9"}};
    struct comm_virtual *v;
    const struct algo *a;
    if (comm_virtual_open(n_ranks, NULL, &v) < 0)
        exit(1);
    for (int i = 0; (a = algo_at(i)); i++)
        for (int k = a->grouped ? 1 : 0; k <= (a->grouped ? n_ranks : 0); k++)
            for (int w = 0; w < 4; w++) {
                struct run r = {.algo = a, .k = k, .n = n};
                if (!a->phases || (a == &algo_self && n_ranks > 1) || (k && n_ranks % k))
                    continue;
                err_hold();
                const int rc =
                    codec_parse(&spec[w], &r.codec) < 0 ? -1 : algo_settle(a, k, n_ranks, &r.codec);
                err_release(false);
                if (rc == 0)
                    check(v, &r, n_ranks, equal);
            }
    comm_virtual_close(v);
}

static uint64_t rounds_of(const struct algo *a, int k, int n_ranks)
{
    struct run r = {.algo = a, .k = k, .n = 8 * 4096};
    if (codec_parse(&(struct codec_spec){.format = "e5m2"}, &r.codec) < 0 ||
        algo_settle(a, k, n_ranks, &r.codec) < 0)
        return 0;
    return of_phases(&r, n_ranks).rounds;
}

int main(void)
{
    for (int p = 1; p <= 12; p++) {
        check_ranks(p, 8 * (size_t)p * 3, true);
        check_ranks(p, 8 * (size_t)p * 3 + 8, false);
    }
    check_codec("onebit");
    check_codec("qsgd:4");
    check_ranks(4, 8 * 4 * 65536, true);
    check_ranks(64, 8 * 64, true);
    check_ranks(256, 8 * 256, true);
    CHECK(rounds_of(&algo_group_master, 16, 256) == 90, "group-master:16");
    CHECK(rounds_of(&algo_ring, 0, 256) == 510, "ring");
    CHECK(!algo_native.phases, "MPI's own");
    DONE();
}
