/* test_algo_scatter.c : algo_scatter gives every rank the sums of its own range, also if ranges
 * share units, and then all sums; need() and have() name each unit once. */
#include "base/buf.h"
#include "check.h"
#include "comm/algo/algo.h"
#include "comm/comm_inside.h"
#include "comm/virtual/comm_virtual.h"
#include "hls/arith/philox.h"
#include <string.h>

enum { RANKS_MAX = 9 };
static const uint64_t seed = 20261126;

struct trial {
    struct reduce_op op;
    size_t n;
    const uint8_t *given;
    uint8_t *codes, *needed, *had;
};

static void count(const struct trial *t, uint8_t *times, size_t at, size_t n)
{
    CHECK(at % t->op.unit == 0 && n % t->op.unit == 0 && at + n <= t->n, "%zu + %zu", at, n);
    for (size_t i = at / t->op.unit; i < (at + n) / t->op.unit; i++)
        times[i]++;
}

static void need(void *arg, size_t at, size_t n)
{
    const struct trial *t = arg;
    const size_t from = reduce_op_in_at(&t->op, at), to = reduce_op_in_at(&t->op, at + n);
    count(t, t->needed, at, n);
    memcpy(t->codes + from, t->given + from, to - from);
}

static void have(void *arg, size_t at, size_t n)
{
    const struct trial *t = arg;
    count(t, t->had, at, n);
}

/* Random ranges: a third are empty, and a third begin with the last unit of the one before. */
static void cut_units(struct algo_range *cut, int n_ranks, size_t unit, size_t units, uint64_t key)
{
    size_t at = 0;
    for (int r = 0; r < n_ranks; r++) {
        const uint32_t random = philox_u32(key, (uint64_t)r);
        size_t n = r == n_ranks - 1 ? units - at : random % 3 ? random / 3 % (units - at + 1) : 0;
        size_t from = at;
        if (n > 0 && at > 0 && random / 7 % 3 == 0)
            from--, n++;
        cut[r] = (struct algo_range){.at = n ? from * unit : 0, .n = n * unit};
        at = n ? from + n : at;
    }
    if (at < units) { /* the last range was empty */
        cut[n_ranks - 1] = (struct algo_range){.at = at * unit, .n = (units - at) * unit};
    }
}

/* call: of run(), which has left the sums of this rank's range `mine` at the result's start. */
static void check_allgather(struct comm *c, const struct trial *t, struct algo_call call,
                            const uint8_t *want, struct algo_range mine)
{
    const size_t units = t->n / t->op.unit, out = reduce_op_out_at(&t->op, t->n),
                 from = reduce_op_out_at(&t->op, mine.at),
                 to = reduce_op_out_at(&t->op, mine.at + mine.n);
    memmove(call.result + from, call.result, to - from);
    memset(call.result, 0x5a, from);
    memset(call.result + to, 0x5a, out - to);
    memset(t->needed, 0, units);
    memset(t->had, 0, units);
    CHECK(algo_scatter.allgather(c, &call) == 0, "allgather");
    size_t wrong = call.result[out] != 0x5a || memcmp(call.result, want, out) != 0;
    for (size_t i = 0; i < units; i++) {
        const size_t at = i * t->op.unit;
        wrong += t->had[i] != 1 || t->needed[i] != (at >= mine.at && at < mine.at + mine.n);
    }
    CHECK(wrong == 0, "allgather of %zu elements: %zu wrong", t->n, wrong);
}

static size_t word_bytes(const struct reduce_op *f, size_t n)
{
    (void)f;
    return 4 * n;
}

/* Other codes of the same ranges: 4 bytes per element, of an op that has only out_bytes. */
static void check_words(struct comm *c, const struct trial *t, const struct algo_range *cut)
{
    static const struct reduce_op_kind words_alone = {.out_bytes = word_bytes};
    uint32_t *words = buf_alloc(4 * t->n);
    const struct algo_range mine = cut[c->rank];
    for (size_t i = mine.at; i < mine.at + mine.n; i++)
        words[i] = (uint32_t)(i + 1) * 2654435761u;
    const struct algo_call call = {.op = {.ops = &words_alone, .unit = t->op.unit},
                                   .n = t->n,
                                   .result = (uint8_t *)words,
                                   .cut = cut};
    CHECK(algo_scatter.allgather(c, &call) == 0, "allgather");
    size_t wrong = 0;
    for (size_t i = 0; i < t->n; i++)
        wrong += words[i] != (uint32_t)(i + 1) * 2654435761u;
    CHECK(wrong == 0, "%zu of %zu words are wrong", wrong, t->n);
    free(words);
}

static void try_one(struct comm *c, struct trial *t, const struct codec *codec, uint64_t key)
{
    const size_t in = reduce_op_in_at(&t->op, t->n), out = reduce_op_out_at(&t->op, t->n);
    struct algo_range cut[RANKS_MAX];
    cut_units(cut, c->n_ranks, t->op.unit, t->n / t->op.unit, key);
    const size_t scratch_bytes =
        algo_scatter.scratch_bytes(&t->op, algo_cut_longest(cut, c->n_ranks), c->n_ranks, 0);
    const struct algo *whole = &algo_direct;
    uint8_t *given = buf_alloc(in), *want = buf_alloc(out), *result = buf_alloc(out + 1),
            *scratch = buf_alloc(scratch_bytes + 1),
            *all = buf_alloc(whole->scratch_bytes(&t->op, t->n, c->n_ranks, 0));
    t->codes = buf_alloc(in);
    t->needed = buf_alloc(t->n / t->op.unit);
    t->had = buf_alloc(t->n / t->op.unit);
    t->given = given;
    for (size_t i = 0; i < in; i++)
        given[i] = philox_u32(philox_key(key, 0, 0, (uint32_t)c->rank, 0), i) & 0xbf;
    struct algo_call call = {
        .codec = codec, .op = t->op, .n = t->n, .codes = given, .result = want, .scratch = all};
    const struct algo_flow flow = {need, have, t};
    CHECK(whole->run(c, &call) == 0, "direct");
    memset(result, 0x5a, out + 1);
    scratch[scratch_bytes] = 0x5a;
    call.codes = t->codes;
    call.result = result;
    call.scratch = scratch;
    call.cut = cut;
    call.flow = &flow;
    CHECK(algo_scatter.run(c, &call) == 0, "scatter");
    const struct algo_range mine = cut[c->rank];
    const size_t from = reduce_op_out_at(&t->op, mine.at),
                 to = reduce_op_out_at(&t->op, mine.at + mine.n);
    CHECK(memcmp(result, want + from, to - from) == 0, "wrong sums of %zu + %zu", mine.at, mine.n);
    size_t wrong = scratch[scratch_bytes] != 0x5a;
    for (size_t i = 0; i < out + 1; i++)
        wrong += i >= to - from && result[i] != 0x5a;
    for (size_t i = 0; i < t->n / t->op.unit; i++) {
        const size_t at = i * t->op.unit;
        wrong += t->needed[i] != 1 || t->had[i] != (at >= mine.at && at < mine.at + mine.n);
    }
    CHECK(wrong == 0, "rank %d of %d, %zu elements: %zu wrong", c->rank, c->n_ranks, t->n, wrong);
    check_allgather(c, t, call, want, mine);
    check_words(c, t, cut);
    free(given), free(want), free(result), free(scratch), free(all), free(t->codes),
        free(t->needed), free(t->had);
}

static int check_all(struct comm *c, void *ctx)
{
    static const struct codec_spec rows[] = {{.format = "e5m2", .sum = "exact"},
                                             {.format = "e3m0", .out_format = "fp32"},
                                             {.codec = "ternary"}};
    (void)ctx;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        struct codec codec;
        CHECK(codec_parse(&rows[r], &codec) == 0 &&
                  algo_settle(&algo_scatter, 0, c->n_ranks, &codec) == 0,
              "row %zu", r);
        /* the last length needs several segments */
        const size_t units[] = {1, 2, 7, 40, 61440 / 8 * (size_t)c->n_ranks + 5};
        for (uint64_t i = 0; i < 10; i++) {
            struct codec_layer layer = {.n = 8};
            struct codec_call bucket = {.codec = &codec, .layers = &layer, .n_layers = 1};
            struct trial t = {.op = codec_reduce_op(&bucket)};
            t.n = layer.n = units[i % 5] * t.op.unit;
            try_one(c, &t, &codec, philox_key(seed, (uint32_t)i, (uint32_t)r, 0, 0));
        }
    }
    return 0;
}

int main(void)
{
    printf("seed %llu\n", (unsigned long long)seed);
    for (int p = 1; p <= RANKS_MAX; p++) {
        struct comm_virtual *v;
        if (comm_virtual_open(p, NULL, &v) < 0)
            return 1;
        CHECK(comm_virtual_run(v, check_all, NULL) == 0, "%d ranks", p);
        comm_virtual_close(v);
    }
    DONE();
}
