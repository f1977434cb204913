/* test_algo_halves_mpi.c : reduce_scatter() gives each rank only its range of the sum;
 * allgather() completes the all-reduce. */
/* RANKS: 2 3 4 */
#include "base/buf.h"
#include "base/err.h"
#include "check.h"
#include "comm/algo/algo.h"
#include "comm/comm_inside.h"
#include "comm/virtual/comm_virtual.h"
#include "hls/arith/philox.h"
#include <string.h>

enum { CANARY = 0x5a, LAYERS = 2, VIRTUAL = 12 };
static const uint64_t seed = 20261125;

struct trial {
    struct comm *c;
    const struct algo *algo;
    struct reduce_op op;
    size_t n;
    struct algo_range mine;
    uint8_t *given; /* codes (sums in allgather()), copied into the call when requested */
    uint8_t *into;
    const uint8_t *want; /* sums, complete when announced */
    const uint8_t *result;
    uint8_t *needed, *had;
    size_t (*from)(const struct reduce_op *f, size_t at);
    char what[96];
};

static void note(const struct trial *t, uint8_t *times, size_t at, size_t n)
{
    const size_t unit = t->op.unit;
    CHECK(n > 0 && at % unit == 0 && n % unit == 0 && at + n <= t->n, "%s: range %zu + %zu of %zu",
          t->what, at, n, t->n);
    for (size_t i = at / unit; i < (at + n) / unit; i++)
        times[i]++;
}

static void need(void *arg, size_t at, size_t n)
{
    const struct trial *t = arg;
    const size_t from = t->from(&t->op, at), to = t->from(&t->op, at + n);
    note(t, t->needed, at, n);
    memcpy(t->into + from, t->given + from, to - from);
}

static void have(void *arg, size_t at, size_t n)
{
    const struct trial *t = arg;
    const size_t from = reduce_op_out_at(&t->op, at), to = reduce_op_out_at(&t->op, at + n);
    note(t, t->had, at, n);
    CHECK(memcmp(t->result + from, t->want + from, to - from) == 0, "%s: %zu + %zu does not stand",
          t->what, at, n);
}

static void check_told(const struct trial *t, uint8_t *times, struct algo_range r, const char *when)
{
    for (size_t i = 0, at = 0; at < t->n; i++, at += t->op.unit)
        CHECK(times[i] == (at >= r.at && at < r.at + r.n), "%s: %s: unit %zu %d times", t->what,
              when, i, times[i]);
    memset(times, 0, t->n / t->op.unit);
}

static bool is_canary(const uint8_t *bytes, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        if (bytes[i] != CANARY)
            return false;
    return true;
}

static uint8_t *canaries(size_t bytes)
{
    return memset(buf_alloc(bytes + 1), CANARY, bytes + 1);
}

static void check_halves(struct trial *t, struct algo_call call, uint8_t *result, size_t bytes)
{
    const size_t from = reduce_op_out_at(&t->op, t->mine.at),
                 to = reduce_op_out_at(&t->op, t->mine.at + t->mine.n);
    const struct algo_range all = {.n = t->n};
    const struct algo_flow flow = {need, have, t};
    call.result = result;
    t->result = result;
    if (t->algo->flows) {
        t->into = memset((uint8_t *)(uintptr_t)call.codes, CANARY, reduce_op_in_at(&t->op, t->n));
        t->from = reduce_op_in_at;
        call.flow = &flow;
    }
    CHECK(t->algo->reduce_scatter(t->c, &call) == 0, "%s", t->what);
    CHECK(memcmp(result + from, t->want + from, to - from) == 0, "%s: wrong sums", t->what);
    CHECK(is_canary(result, 0, from) && is_canary(result, to, bytes + 1),
          "%s: wrote outside its range", t->what);
    CHECK(memcmp(call.codes, t->given, reduce_op_in_at(&t->op, t->n)) == 0, "%s: changed the codes",
          t->what);
    if (t->algo->flows) {
        check_told(t, t->needed, all, "codes");
        check_told(t, t->had, t->mine, "sums");
        memcpy(t->given = canaries(bytes), t->want, bytes);
        memset(result, CANARY, bytes);
        t->into = result;
        t->from = reduce_op_out_at;
    }
    CHECK(t->algo->allgather(t->c, &call) == 0, "%s", t->what);
    CHECK(memcmp(result, t->want, bytes) == 0 && result[bytes] == CANARY, "%s: wrong bytes",
          t->what);
    if (t->algo->flows) {
        check_told(t, t->needed, t->mine, "own sums");
        check_told(t, t->had, all, "all sums");
        free(t->given);
    }
}

/* ---- other codes of the same ranges: 4 bytes per element; the op has only out_bytes ---- */

static size_t word_bytes(const struct reduce_op *f, size_t n)
{
    (void)f;
    return 4 * n;
}
static const struct reduce_op_kind words_alone = {.out_bytes = word_bytes};

static void check_other_codes(const struct trial *t, int k)
{
    uint32_t *words = (uint32_t *)(void *)canaries(4 * t->n);
    for (size_t i = t->mine.at; i < t->mine.at + t->mine.n; i++)
        words[i] = (uint32_t)i * 2654435761u;
    const struct algo_call call = {.op = {.ops = &words_alone, .unit = t->op.unit},
                                   .n = t->n,
                                   .result = (uint8_t *)words,
                                   .group = k};
    CHECK(t->algo->allgather(t->c, &call) == 0, "%s", t->what);
    size_t wrong = 0;
    for (size_t i = 0; i < t->n; i++)
        wrong += words[i] != (uint32_t)i * 2654435761u;
    CHECK(wrong == 0, "%s: %zu of %zu words are wrong", t->what, wrong, t->n);
    free(words);
}

static void check_owned(const struct trial *t, int n_ranks, int k)
{
    uint8_t *times = buf_alloc(t->n / t->op.unit);
    for (int r = 0; r < n_ranks; r++) {
        const struct algo_range o = algo_owned(t->n, t->op.unit, n_ranks, k, r);
        if (o.n > 0)
            note(t, times, o.at, o.n);
    }
    check_told(t, times, (struct algo_range){.n = t->n}, "owned");
    free(times);
}

static struct comm_count since(struct comm *c, struct comm_count before)
{
    const struct comm_count now = comm_counted(c);
    return (struct comm_count){.sent_bytes = now.sent_bytes - before.sent_bytes,
                               .rounds = now.rounds - before.rounds};
}

/* cut: `direct` cuts this length, differently in each half. */
static void try_one(struct trial *t, const struct codec *codec, int k, bool cut)
{
    struct comm *c = t->c;
    const size_t in = reduce_op_in_at(&t->op, t->n), out = reduce_op_out_at(&t->op, t->n),
                 scratch_bytes = t->algo->scratch_bytes(&t->op, t->n, c->n_ranks, k);
    uint8_t *codes = buf_alloc(in), *want = canaries(out), *result = canaries(out),
            *scratch = canaries(scratch_bytes), *given = buf_alloc(in);
    const uint64_t key = philox_key(seed, (uint32_t)t->n, 0, (uint32_t)c->rank, 0);
    for (size_t i = 0; i < in; i++)
        codes[i] = given[i] = philox_u32(key, i) & 0xbf; /* no nan of fp32 */
    t->needed = buf_alloc(t->n / t->op.unit);
    t->had = buf_alloc(t->n / t->op.unit);
    t->mine = algo_owned(t->n, t->op.unit, c->n_ranks, k, c->rank);
    t->given = given;
    t->want = want;
    const struct algo_call call = {.codec = codec,
                                   .op = t->op,
                                   .n = t->n,
                                   .codes = codes,
                                   .result = want,
                                   .scratch = scratch,
                                   .group = k};
    struct comm_count start = comm_counted(c);
    CHECK(t->algo->run(c, &call) == 0, "%s", t->what);
    const struct comm_count whole = since(c, start);
    start = comm_counted(c);
    check_halves(t, call, result, out);
    const struct comm_count halves = since(c, start);
    CHECK(scratch[scratch_bytes] == CANARY, "%s: wrote past its scratch", t->what);
    /* group-scatter's halves, unlike run(), do not cut long vectors into segments */
    CHECK((k ? halves.rounds <= whole.rounds : halves.rounds == whole.rounds) &&
              (cut || halves.sent_bytes == whole.sent_bytes),
          "%s: %llu bytes in %llu rounds, not %llu in %llu", t->what,
          (unsigned long long)halves.sent_bytes, (unsigned long long)halves.rounds,
          (unsigned long long)whole.sent_bytes, (unsigned long long)whole.rounds);
    check_other_codes(t, k);
    check_owned(t, c->n_ranks, k);
    free(codes), free(want), free(result), free(scratch), free(given), free(t->needed),
        free(t->had);
}

static int lay_out(struct codec_layer layers[LAYERS], size_t unit, size_t n)
{
    const size_t first = n > 3 * unit ? 3 * unit : n;
    layers[0] = (struct codec_layer){.n = first - 5};
    layers[1] = (struct codec_layer){.index = 1, .at = first, .n = n - first - 7};
    return n > first ? 2 : 1;
}

static void try_lengths(struct comm *c, const struct algo *a, int k, const struct codec *codec,
                        const char *name, bool long_ones)
{
    const size_t p = (size_t)c->n_ranks, message = 61440;
    const size_t units[] = {1,
                            p - 1,
                            p,
                            p + 1,
                            37,
                            7 * p + 3,
                            message / 4 * p + p / 2 + 1,
                            c->n_ranks < 4 ? message * 11 / 8 * p + 5 : 0};
    const size_t chunk = c->chunk_bytes;
    for (int i = 0; i < (long_ones ? 8 : 6); i++) {
        struct codec_layer layers[LAYERS];
        int8_t rescaled[LAYERS] = {0};
        struct codec_call bucket = {.codec = codec, .layers = layers, .rescaled = rescaled};
        struct trial t = {.c = c, .algo = a, .op = codec_reduce_op(&bucket)};
        t.n = units[i] * t.op.unit;
        if (t.n == 0)
            continue;
        bucket.n_layers = lay_out(layers, t.op.unit, t.n);
        snprintf(t.what, sizeof t.what, "%s:%d of %zu, %s, n %zu", a->name, k, p, name, t.n);
        c->chunk_bytes = i % 2 ? 9973 : chunk;
        try_one(&t, codec, k, i > 5);
    }
    c->chunk_bytes = chunk;
}

static int check_all(struct comm *c, void *ctx)
{
    static const struct codec_spec rows[] = {
        {.format = "e5m2", .sum = "exact"},
        {.format = "e3m0", .sum = "nearest", .out_format = "e4m3"},
        {.format = "e4m3", .sum = "nearest", .scale = "aps", .rescale = true},
        {.format = "fp32", .sum = "fp32"},
        {.format = "e5m2", .sum = "nearest", .acc_format = "e6m9", .out_format = "e5m10"},
        {.codec = "qsgd:4"},
        {.codec = "ternary"}};
    (void)ctx;
    const struct algo *a;
    for (int i = 0; (a = algo_at(i)); i++) {
        int n_tried = 0;
        const bool has =
            a == &algo_self || a == &algo_direct || a == &algo_ring || a == &algo_group_scatter;
        CHECK(has == !!a->reduce_scatter && has == !!a->allgather, "%s", a->name);
        for (int k = a->grouped ? 1 : 0; has && k <= (a->grouped ? c->n_ranks : 0); k++)
            for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
                struct codec codec;
                err_hold();
                const int rc =
                    codec_parse(&rows[r], &codec) < 0 ? -1 : algo_settle(a, k, c->n_ranks, &codec);
                err_release(false);
                if (rc < 0)
                    continue;
                try_lengths(c, a, k, &codec, rows[r].format ? rows[r].format : rows[r].codec,
                            r < 2 && k <= 2 && c->n_ranks <= 6);
                n_tried++;
            }
        const int least = !has || (a == &algo_self) != (c->n_ranks == 1) ? 0 : 2;
        CHECK(n_tried >= least, "%s on %d ranks: %d rows", a->name, c->n_ranks, n_tried);
    }
    return 0;
}

int main(void)
{
    struct comm *c;
    struct comm_virtual *v;
    if (comm_open(120, &c) < 0)
        return 1;
    if (c->rank == 0)
        printf("seed %llu\n", (unsigned long long)seed);
    CHECK(check_all(c, NULL) == 0, "real ranks");
    for (int p = 1; p <= VIRTUAL && c->n_ranks == 2 && c->rank == 0; p++) {
        if (comm_virtual_open(p, NULL, &v) < 0)
            return 1;
        CHECK(comm_virtual_run(v, check_all, NULL) == 0, "%d virtual ranks", p);
        comm_virtual_close(v);
    }
    comm_close(c);
    DONE();
}
