/* test_algo_mpi.c : every algorithm, by every rule and in many formats, against its documented
 * order of additions. */
/* RANKS: 1 2 3 4 6 8 */
#include "base/buf.h"
#include "base/err.h"
#include "check.h"
#include "comm/algo.h"
#include "comm/comm_inside.h"
#include "hls/philox.h"
#include <string.h>

/* ranks, elements, bytes an element */
enum { MOST = 8, N_MOST = 49160, WIDEST = 4, CANARY = 0x5a };
static const uint64_t seed = 20240607;

static struct {
    struct comm *c;
    int n_ranks, rank;
    uint8_t *codes[MOST]; /* [N_MOST * WIDEST] of every rank: each of them can work out all */
    uint8_t *want, *sums[MOST], *result;
    uint32_t *acc; /* [N_MOST * 2] */
} t;

/* ---- the reference: sums of whole vectors or ranges in a given order, from vec_plain alone
 * ---- */

static size_t part_at(size_t n, int parts, int i)
{
    size_t units = n / 8, p = (size_t)parts, k = (size_t)i, longer = units % p;
    return 8 * (k * (units / p) + (k < longer ? k : longer));
}
static size_t part_n(size_t n, int parts, int i)
{
    return (i + 1 < parts ? part_at(n, parts, i + 1) : n) - part_at(n, parts, i);
}

/* Elements [at, at + n) of out = the sum of these vectors in this order. */
static void add_in_order(const struct vec_sum *s, uint8_t *const *vectors, const int *order,
                         int n_vectors, size_t at, size_t n, bool last, uint8_t *out)
{
    const struct mf_fmt to = last ? s->out : s->in;
    for (int i = 0; i < n_vectors; i++)
        vec_plain.fold(s, t.acc, vectors[order[i]] + vec_bytes(s->in, at), n, i == 0);
    vec_plain.finish(s, t.acc, n, to, last ? s->out_shift : 0, out + vec_bytes(to, at));
}

static void add_by_rank(const struct vec_sum *s, uint8_t *const *vectors, int n_vectors, size_t n,
                        bool last, uint8_t *out)
{
    static const int order[MOST] = {0, 1, 2, 3, 4, 5, 6, 7};
    add_in_order(s, vectors, order, n_vectors, 0, n, last, out);
}

/* Part j of a ring: j + 1, j + 2, ..., j. */
static void add_by_ring(const struct vec_sum *s, uint8_t *const *vectors, int n_vectors, size_t n,
                        bool last, uint8_t *out)
{
    for (int j = 0; j < n_vectors; j++) {
        int order[MOST];
        for (int i = 0; i < n_vectors; i++)
            order[i] = (j + 1 + i) % n_vectors;
        add_in_order(s, vectors, order, n_vectors, part_at(n, n_vectors, j),
                     part_n(n, n_vectors, j), last, out);
    }
}

static void work_out(const struct algo *a, int k, const struct vec_sum *s, size_t n)
{
    const int nodes = k ? t.n_ranks / k : 0;
    if (a == &algo_ring) {
        add_by_ring(s, t.codes, t.n_ranks, n, true, t.want);
    } else if (a == &algo_group_master) {
        for (int g = 0; g < nodes; g++)
            add_by_ring(s, t.codes + g * k, k, n, false, t.sums[g]);
        add_by_ring(s, t.sums, nodes, n, true, t.want);
    } else if (a == &algo_group_scatter && s->rule != VEC_EXACT && nodes > 1) {
        for (int g = 0; g < nodes; g++)
            add_by_rank(s, t.codes + g * k, k, n, false, t.sums[g]);
        add_by_rank(s, t.sums, nodes, n, true, t.want);
    } else {
        add_by_rank(s, t.codes, t.n_ranks, n, true, t.want);
    }
}

/* ---- one all-reduce ---- */

static void make_codes(struct mf_fmt fmt, size_t n, uint32_t which)
{
    /* whole bytes of random bits: every code, inf and nan too */
    const size_t bytes = vec_bytes(fmt, n);
    for (int r = 0; r < t.n_ranks; r++) {
        uint64_t key = philox_key(seed, which, (uint32_t)n, (uint32_t)r, 0);
        for (size_t i = 0; i < bytes; i += sizeof(uint32_t)) {
            const uint32_t word = philox_u32(key, i);
            memcpy(t.codes[r] + i, &word, sizeof word);
        }
    }
}

/* The largest of the ranks' values. */
static double max_of_ranks(double x)
{
    double all[MOST] = {0}, max = 0;
    all[t.rank] = x;
    comm_sum_f64(t.c, all, MOST);
    for (int r = 0; r < MOST; r++)
        max = all[r] > max ? all[r] : max;
    return max;
}

static double formula_rounds(const struct algo *a, int k)
{
    const int p = t.n_ranks;
    if (a == &algo_ring)
        return 2 * (p - 1);
    if (a == &algo_group_master)
        return 4 * (k - 1) + 2 * (p / k - 1);
    if (a == &algo_direct)
        return p > 1 ? 2 : 0;
    if (a == &algo_gather)
        return p > 1 ? 1 : 0;
    if (a == &algo_group_scatter)
        return (k > 1 ? 2 : 0) + (p / k > 1 ? 2 : 0);
    return 0;
}

static uint64_t in_part(const struct vec_sum *s, size_t n, int parts, int i)
{
    return vec_bytes(s->in, part_n(n, parts, i));
}
static uint64_t out_part(const struct vec_sum *s, size_t n, int parts, int i)
{
    return vec_bytes(s->out, part_n(n, parts, i));
}

/* What this rank sends; UINT64_MAX where no formula is held. */
static uint64_t formula_bytes(const struct algo *a, int k, const struct vec_sum *s, size_t n)
{
    const int p = t.n_ranks, me = t.rank;
    const uint64_t in = vec_bytes(s->in, n), out = vec_bytes(s->out, n), others = (uint64_t)(p - 1);
    if (p == 1)
        return 0;
    if (a == &algo_direct)
        return in - in_part(s, n, p, me) + others * out_part(s, n, p, me);
    if (a == &algo_ring)
        return in - in_part(s, n, p, me) + out - out_part(s, n, p, (me + 1) % p);
    if (a == &algo_gather)
        return others * in;
    if (a == &algo_native)
        return in;
    if (a == &algo_group_scatter) {
        const int nodes = p / k, node = me / k, i = me % k;
        const size_t mine = part_n(n, k, i), range = part_n(mine, nodes, node);
        const uint64_t across =
            s->rule == VEC_EXACT ? vec_wide_bytes(s, mine - range) : vec_bytes(s->in, mine - range);
        const uint64_t inside = in - in_part(s, n, k, i) + (uint64_t)(k - 1) * out_part(s, n, k, i);
        return inside + (nodes > 1 ? across + (uint64_t)(nodes - 1) * vec_bytes(s->out, range) : 0);
    }
    return UINT64_MAX;
}

static void run_once(const struct algo *a, int k, const struct codec *codec, size_t n,
                     const char *what)
{
    const struct fold f = codec_fold(&(struct codec_call){.codec = codec});
    const size_t scratch_bytes = a->scratch_bytes(&f, n, t.n_ranks, k),
                 out_bytes = vec_bytes(codec_sum(codec)->out, n);
    uint8_t *scratch = buf_alloc(scratch_bytes + 1);
    /* ends where its memory ends, for sanitizers */
    uint8_t *mine = buf_alloc(vec_bytes(codec_sum(codec)->in, n));
    memcpy(mine, t.codes[t.rank], vec_bytes(codec_sum(codec)->in, n));
    memset(t.result, CANARY, out_bytes + 1);
    scratch[scratch_bytes] = CANARY;
    const struct algo_call call = {.codec = codec,
                                   .fold = f,
                                   .n = n,
                                   .codes = mine,
                                   .result = t.result,
                                   .scratch = scratch,
                                   .group = k};
    const struct comm_count before = comm_counted(t.c);
    CHECK(a->run(t.c, &call) == 0, "%s", what);
    const struct comm_count after = comm_counted(t.c);
    CHECK(t.result[out_bytes] == CANARY && scratch[scratch_bytes] == CANARY, "%s: wrote too much",
          what);
    CHECK(memcmp(mine, t.codes[t.rank], vec_bytes(codec_sum(codec)->in, n)) == 0,
          "%s: changed the codes", what);
    CHECK(memcmp(t.result, t.want, out_bytes) == 0, "%s: wrong sums", what);
    const uint64_t sent = after.sent_bytes - before.sent_bytes,
                   want = formula_bytes(a, k, codec_sum(codec), n);
    CHECK(want == UINT64_MAX || sent == want, "%s: %llu bytes, not %llu", what,
          (unsigned long long)sent, (unsigned long long)want);
    if (n >= 1000) { /* asks all ranks: not for every size */
        const double rounds = max_of_ranks((double)(after.rounds - before.rounds));
        CHECK(rounds == formula_rounds(a, k), "%s: %g rounds, not %g", what, rounds,
              formula_rounds(a, k));
    }
    free(scratch);
    free(mine);
}

/* ---- which sums each algorithm allows (host/comm/README.md) ---- */

static bool allowed(const struct algo *a, enum vec_rule rule, struct mf_fmt f)
{
    const bool in_rank_order = a == &algo_self || a == &algo_direct || a == &algo_gather;
    const bool e5m2 = f.e == 5 && f.m == 2;
    switch (rule) {
    case VEC_EXACT:
        return f.e <= 5 && f.m <= 10 && (in_rank_order || a == &algo_group_scatter);
    case VEC_FP32:
        return in_rank_order || (a == &algo_native && f.e == 8 && f.m == 23);
    case VEC_KAHAN:
        return in_rank_order;
    case VEC_NEAREST:
        return a != &algo_native || e5m2 || (f.e == 5 && f.m == 10) || (f.e == 8 && f.m == 7);
    default:
        return e5m2;
    }
}

static bool runs_here(const struct algo *a, int k)
{
    return a == &algo_self ? t.n_ranks == 1 : !a->grouped || t.n_ranks % k == 0;
}

/* The combination is settled, or refused, as it should be. */
static bool settle(const struct algo *a, int k, const struct codec_words *words,
                   struct codec *codec, bool should)
{
    if (codec_parse(words, codec) < 0)
        return false;
    err_hold();
    int rc = algo_settle(a, k, t.n_ranks, codec);
    err_release(should);
    CHECK((rc == 0) == should, "%s:%d %s %s: %d", a->name, k, words->format, words->sum, rc);
    return rc == 0;
}

/* every third where ranks are many */
static const size_t sizes[] = {8, 24, 104, 56, 16, 5000, 1000};
enum { N_SIZES = sizeof sizes / sizeof sizes[0] };

static void test_combination(const struct algo *a, int k, const struct codec_words *words,
                             enum vec_rule rule)
{
    char what[128];
    struct codec codec, known;
    if (codec_parse(words, &known) < 0) {
        CHECK(false, "%s", words->format);
        return;
    }
    const bool should = runs_here(a, k) && allowed(a, rule, codec_sum(&known)->in);
    if (!settle(a, k, words, &codec, should) || a == &algo_native)
        return;
    for (int i = 0; i<N_SIZES; i += t.n_ranks> 4 ? 3 : 1) {
        make_codes(codec_sum(&codec)->in, sizes[i], (uint32_t)i);
        work_out(a, k, codec_sum(&codec), sizes[i]);
        snprintf(what, sizeof what, "%s:%d %s %s %s n %zu", a->name, k, words->format, words->sum,
                 words->overflow, sizes[i]);
        run_once(a, k, &codec, sizes[i], what);
    }
}

/* Every algorithm and group size of this job with every rule and format. */
static void test_combinations(void)
{
    static const char *const formats[] = {"e5m2",  "e4m3", "e4m3fn", "e3m0",
                                          "e5m10", "e8m7", "fp32",   "e6m9"};
    static const char *const outs[] = {NULL,   "e5m10", "fp32", "e4m3",
                                       "e5m2", NULL,    "e8m7", "e5m10"};
    static const char *const rules[] = {"exact", "fp32", "nearest", "kahan",
                                        "trunc"}; /* in the order of enum vec_rule */
    const struct algo *a;
    for (int i = 0; (a = algo_at(i)); i++)
        for (int k = a->grouped ? 1 : 0; k <= (a->grouped ? t.n_ranks : 0); k++)
            for (int f = 0; f < 8; f++)
                for (int rule = 0; rule < VEC_RULES; rule++)
                    test_combination(
                        a, k,
                        &(struct codec_words){
                            .format = formats[f],
                            .sum = rules[rule],
                            .out_format = a == &algo_native ? NULL : outs[f],
                            .scale = rule == VEC_EXACT && f % 2 ? "aps-tight" : NULL,
                            .overflow = rule != VEC_TRUNC && (f + rule) % 2 ? "inf" : "saturate"},
                        (enum vec_rule)rule);
}

/* Ranges longer than a block of accumulators, and messages longer than MPI is given at a time. */
static void test_long_and_chunked(void)
{
    const struct algo *a;
    const size_t chunk = t.c->chunk_bytes;
    for (int i = 0; (a = algo_at(i)); i++) {
        struct codec codec;
        const int k = !a->grouped ? 0 : t.n_ranks % 2 ? t.n_ranks : 2;
        const bool exact = !a->adds && (!a->needs || a->needs & FOLD_WIDE);
        if (a == &algo_native || !runs_here(a, k) ||
            !settle(a, k,
                    &(struct codec_words){.format = "e4m3", .sum = exact ? "exact" : "nearest"},
                    &codec, true))
            continue;
        make_codes(codec_sum(&codec)->in, N_MOST, 77);
        work_out(a, k, codec_sum(&codec), N_MOST);
        run_once(a, k, &codec, N_MOST, a->name);
        t.c->chunk_bytes = 999;
        run_once(a, k, &codec, N_MOST, a->name);
        t.c->chunk_bytes = chunk;
    }
}

/* MPI's own order of additions is unknown, so: any codes for 2 ranks, and small whole numbers,
 * which add without rounding. */
static void test_native(const char *format, const char *sum, const char *overflow,
                        const char *out_format)
{
    struct codec codec;
    const size_t chunk = t.c->chunk_bytes;
    const struct codec_words words = {
        .format = format, .sum = sum, .overflow = overflow, .out_format = out_format};
    if (!settle(&algo_native, 0, &words, &codec, true))
        return;
    const struct vec_cast cast = {
        .fmt = codec_sum(&codec)->in, .round = MF_NEAREST, .overflow = codec_sum(&codec)->overflow};
    for (int i = 0; i < N_SIZES; i++) {
        const size_t n = sizes[i];
        /* trunc: what it makes of nan is nobody's contract */
        if (t.n_ranks <= 2 && codec_sum(&codec)->rule != VEC_TRUNC) {
            make_codes(codec_sum(&codec)->in, n, 5);
            const uint32_t max =
                mf_max(codec_sum(&codec)->in); /* twice the largest number: an overflow */
            for (int r = 0; r < t.n_ranks; r++)
                memcpy(t.codes[r], &max, vec_bytes(codec_sum(&codec)->in, 1));
        } else {
            float x[5000];
            for (int r = 0; r < t.n_ranks; r++) {
                for (size_t j = 0; j < n; j++)
                    x[j] = (float)((j + (size_t)r) * (j + 3) % 11 % 2);
                vec_plain.encode(&cast, x, n, 0, 0, t.codes[r]);
            }
        }
        work_out(&algo_native, 0, codec_sum(&codec), n);
        t.c->chunk_bytes = i % 2 ? 1000 : chunk;
        run_once(&algo_native, 0, &codec, n, format);
        t.c->chunk_bytes = chunk;
    }
}

/* native refuses what MPI cannot do, even where codec and rule would do. */
static void test_native_refusals(void)
{
    static const struct codec_words wrong[] = {{.format = "e4m3", .sum = "nearest"},
                                               {.format = "e5m2", .sum = "exact"},
                                               {.format = "fp16", .sum = "fp32"},
                                               {.format = "fp32", .sum = "nearest"}};
    struct codec codec;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        settle(&algo_native, 0, &wrong[i], &codec, false);
    for (int i = 0; i < 2; i++) {
        settle(&algo_native, 0, &(struct codec_words){.format = i ? "fp16" : "e5m2"}, &codec, true);
        CHECK(codec_sum(&codec)->rule == VEC_NEAREST, "auto settles on what MPI can do");
    }
}

int main(void)
{
    if (comm_open(120, &t.c) < 0)
        return 1;
    t.n_ranks = comm_n_ranks(t.c);
    t.rank = comm_rank(t.c);
    if (t.rank == 0)
        printf("seed %llu\n", (unsigned long long)seed);
    for (int r = 0; r < MOST; r++) {
        t.codes[r] = buf_alloc(N_MOST * WIDEST);
        t.sums[r] = buf_alloc(N_MOST * WIDEST);
    }
    t.want = buf_alloc(N_MOST * WIDEST);
    t.result = buf_alloc(N_MOST * WIDEST + 1);
    t.acc = buf_alloc(N_MOST * 2 * sizeof *t.acc);
    test_combinations();
    test_long_and_chunked();
    test_native("fp32", "fp32", "saturate", NULL);
    test_native("fp32", "fp32", "inf", "e4m3");
    test_native("fp16", "nearest", "inf", NULL);
    test_native("fp16", "nearest", "saturate", "fp32");
    test_native("bf16", "nearest", "inf", NULL);
    test_native("bf16", "nearest", "saturate", NULL);
    test_native("e5m2", "nearest", "saturate", NULL);
    test_native("e5m2", "nearest", "inf", "fp16");
    test_native("e5m2", "trunc", "saturate", NULL);
    test_native_refusals();
    for (int r = 0; r < MOST; r++)
        free(t.codes[r]), free(t.sums[r]);
    free(t.want), free(t.result), free(t.acc);
    comm_close(t.c);
    DONE();
}
