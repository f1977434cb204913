/* algo_check.h : checks an algorithm's sums and traffic on ranks of any kind. */
#ifndef ALGO_CHECK_H
#define ALGO_CHECK_H
#include "algo_formulas.h"
#include "base/buf.h"
#include "base/err.h"
#include "check.h"
#include "comm/algo/algo.h"
#include "comm/comm_inside.h"
#include "hls/arith/philox.h"
#include <string.h>

/* most ranks; bytes of the widest element */
enum { ALGO_CHECK_MAX = 256, ALGO_CHECK_WIDEST = 4, ALGO_CHECK_CANARY = 0x5a };
static const uint64_t algo_check_seed = 20240607;

struct algo_world {
    /* all ranks are in one process; the lowest one fills this struct */
    bool shared;
    int n_ranks;
    size_t n_most;
    uint8_t *codes[ALGO_CHECK_MAX], *sums[ALGO_CHECK_MAX]; /* [n_most * WIDEST] bytes */
    uint8_t *want;
    uint32_t *acc; /* [n_most * 2] */
};

struct algo_rank {
    struct comm *c;
    int n_ranks, rank;
    struct algo_world *world;
};

static inline struct algo_rank algo_rank_of(struct comm *c, struct algo_world *w)
{
    return (struct algo_rank){.c = c, .n_ranks = comm_n_ranks(c), .rank = comm_rank(c), .world = w};
}

static inline void world_open(struct algo_world *w, bool shared, int n_ranks, size_t n_most)
{
    *w = (struct algo_world){.shared = shared, .n_ranks = n_ranks, .n_most = n_most};
    for (int r = 0; r < n_ranks; r++) {
        w->codes[r] = buf_alloc(n_most * ALGO_CHECK_WIDEST);
        w->sums[r] = buf_alloc(n_most * ALGO_CHECK_WIDEST);
    }
    w->want = buf_alloc(n_most * ALGO_CHECK_WIDEST);
    w->acc = buf_alloc(n_most * 2 * sizeof *w->acc);
}

static inline void world_close(struct algo_world *w)
{
    for (int r = 0; r < w->n_ranks; r++)
        free(w->codes[r]), free(w->sums[r]);
    free(w->want), free(w->acc);
}

static inline void add_in_order(const struct algo_world *w, const struct vec_sum *s,
                                uint8_t *const *vectors, const int *order, int n_vectors, size_t at,
                                size_t n, bool last, uint8_t *out)
{
    const struct mf_fmt to = last ? s->out : vec_acc_fmt(s);
    for (int i = 0; i < n_vectors; i++)
        vec_plain.accumulate(s, w->acc, vectors[order[i]] + vec_bytes(s->in, at), n, i == 0);
    vec_plain.finish(s, w->acc, n, to, last ? s->out_shift : 0, out + vec_bytes(to, at));
}

static inline void add_by_rank(const struct algo_world *w, const struct vec_sum *s,
                               uint8_t *const *vectors, int n_vectors, size_t n, bool last,
                               uint8_t *out)
{
    int order[ALGO_CHECK_MAX];
    for (int i = 0; i < n_vectors; i++)
        order[i] = i;
    add_in_order(w, s, vectors, order, n_vectors, 0, n, last, out);
}

/* In a ring's order: part j is the sum of ranks j + 1, j + 2, ..., j. */
static inline void add_by_ring(const struct algo_world *w, const struct vec_sum *s,
                               uint8_t *const *vectors, int n_vectors, size_t n, bool last,
                               uint8_t *out)
{
    for (int j = 0; j < n_vectors; j++) {
        int order[ALGO_CHECK_MAX];
        for (int i = 0; i < n_vectors; i++)
            order[i] = (j + 1 + i) % n_vectors;
        add_in_order(w, s, vectors, order, n_vectors, part_at(n, n_vectors, j),
                     part_n(n, n_vectors, j), last, out);
    }
}

static inline void work_out(const struct algo_world *w, const struct algo *a, int k,
                            const struct vec_sum *s, size_t n)
{
    const int nodes = k ? w->n_ranks / k : 0;
    const struct vec_sum among = vec_sum_of_partials(s);
    if (a == &algo_ring) {
        add_by_ring(w, s, w->codes, w->n_ranks, n, true, w->want);
    } else if (a == &algo_group_master) {
        for (int g = 0; g < nodes; g++)
            add_by_ring(w, s, w->codes + g * k, k, n, false, w->sums[g]);
        add_by_ring(w, &among, w->sums, nodes, n, true, w->want);
    } else if (a == &algo_group_scatter && s->rule != VEC_EXACT && nodes > 1) {
        for (int g = 0; g < nodes; g++)
            add_by_rank(w, s, w->codes + g * k, k, n, false, w->sums[g]);
        add_by_rank(w, &among, w->sums, nodes, n, true, w->want);
    } else {
        add_by_rank(w, s, w->codes, w->n_ranks, n, true, w->want);
    }
}

static inline void make_codes(const struct algo_world *w, struct mf_fmt fmt, size_t n,
                              uint32_t which)
{
    const size_t bytes = vec_bytes(fmt, n);
    for (int r = 0; r < w->n_ranks; r++) {
        uint64_t key = philox_key(algo_check_seed, which, (uint32_t)n, (uint32_t)r, 0);
        for (size_t i = 0; i < bytes; i += sizeof(uint32_t)) {
            const uint32_t word = philox_u32(key, i);
            memcpy(w->codes[r] + i, &word, sizeof word);
        }
    }
}

static inline double max_of_ranks(const struct algo_rank *t, double x)
{
    double all[ALGO_CHECK_MAX] = {0}, max = 0;
    all[t->rank] = x;
    comm_sum_f64(t->c, all, (size_t)t->n_ranks);
    for (int r = 0; r < t->n_ranks; r++)
        max = all[r] > max ? all[r] : max;
    return max;
}

/* `by` differs from `a` where algo_here() substitutes another algorithm. */
static inline void run_once(const struct algo_rank *t, const struct algo *a, const struct algo *by,
                            int k, const struct codec *codec, size_t n, const char *what)
{
    const struct reduce_op f = codec_reduce_op(&(struct codec_call){.codec = codec});
    const size_t scratch_bytes = by->scratch_bytes(&f, n, t->n_ranks, k),
                 in_bytes = vec_bytes(codec_sum(codec)->in, n),
                 out_bytes = vec_bytes(codec_sum(codec)->out, n);
    uint8_t *scratch = buf_alloc(scratch_bytes + 1), *result = buf_alloc(out_bytes + 1);
    /* exact length, so that sanitizers catch an overrun */
    uint8_t *mine = buf_alloc(in_bytes);
    memcpy(mine, t->world->codes[t->rank], in_bytes);
    memset(result, ALGO_CHECK_CANARY, out_bytes + 1);
    scratch[scratch_bytes] = ALGO_CHECK_CANARY;
    const struct algo_call call = {.codec = codec,
                                   .op = f,
                                   .n = n,
                                   .codes = mine,
                                   .result = result,
                                   .scratch = scratch,
                                   .group = k};
    const struct comm_count before = comm_counted(t->c);
    CHECK(by->run(t->c, &call) == 0, "%s", what);
    const struct comm_count after = comm_counted(t->c);
    CHECK(result[out_bytes] == ALGO_CHECK_CANARY && scratch[scratch_bytes] == ALGO_CHECK_CANARY,
          "%s: wrote too much", what);
    CHECK(memcmp(mine, t->world->codes[t->rank], in_bytes) == 0, "%s: changed the codes", what);
    CHECK(memcmp(result, t->world->want, out_bytes) == 0, "%s: wrong sums", what);
    const uint64_t sent = after.sent_bytes - before.sent_bytes,
                   want = formula_bytes(a, t->n_ranks, k, t->rank, codec_sum(codec), n);
    CHECK(want == UINT64_MAX || sent == want, "%s: %llu bytes, not %llu", what,
          (unsigned long long)sent, (unsigned long long)want);
    if (n >= 1000 || t->world->shared) { /* collective, so not for every size */
        const double rounds = max_of_ranks(t, (double)(after.rounds - before.rounds)),
                     rounds_want = formula_rounds(a, t->n_ranks, k);
        CHECK(rounds == rounds_want, "%s: %g rounds, not %g", what, rounds, rounds_want);
    }
    free(scratch), free(result), free(mine);
}

static inline void check_sums(const struct algo_rank *t, const struct algo *a, int k,
                              const struct codec *codec, size_t n, uint32_t which, const char *what)
{
    const struct algo *here = a;
    if (t->world->shared)
        comm_barrier(t->c);
    if (!t->world->shared || t->rank == comm_lowest_here(t->c, t->rank)) {
        make_codes(t->world, codec_sum(codec)->in, n, which);
        work_out(t->world, a, k, codec_sum(codec), n);
    }
    if (t->world->shared)
        comm_barrier(t->c);
    CHECK(algo_here(t->c, &here) == 0, "%s", what);
    run_once(t, a, here, k, codec, n, what);
    if (here != a && t->n_ranks <= 64)
        run_once(t, a, a, k, codec, n, what);
}

static inline bool allowed(const struct algo *a, enum vec_rule rule, struct mf_fmt f)
{
    const bool in_rank_order =
        a == &algo_self || a == &algo_direct || a == &algo_gather || a == &algo_gather_sum;
    const bool e5m2 = f.e == 5 && f.m == 2;
    switch (rule) {
    case VEC_EXACT:
        return f.e <= 5 && (in_rank_order || a == &algo_group_scatter);
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

static inline bool runs_here(const struct algo_rank *t, const struct algo *a, int k)
{
    return a == &algo_self ? t->n_ranks == 1 : !a->grouped || t->n_ranks % k == 0;
}

static inline bool settle(const struct algo_rank *t, const struct algo *a, int k,
                          const struct codec_spec *spec, struct codec *codec, bool should)
{
    if (codec_parse(spec, codec) < 0) {
        CHECK(false, "%s %s", spec->format, spec->sum);
        return false;
    }
    err_hold();
    int rc = algo_settle(a, k, t->n_ranks, codec);
    err_release(should);
    CHECK((rc == 0) == should, "%s:%d %s %s: %d", a->name, k, spec->format, spec->sum, rc);
    return rc == 0;
}

static const size_t sizes[] = {8, 24, 104, 56, 16, 5000, 1000};
enum { N_SIZES = sizeof sizes / sizeof sizes[0] };

static inline void test_combination(const struct algo_rank *t, const struct algo *a, int k,
                                    const struct codec_spec *spec, enum vec_rule rule)
{
    char what[128];
    struct codec codec, known;
    if (codec_parse(spec, &known) < 0) {
        CHECK(false, "%s", spec->format);
        return;
    }
    const bool should = runs_here(t, a, k) && allowed(a, rule, codec_sum(&known)->in) &&
                        !(a == &algo_native && codec_sum(&known)->acc.e);
    if (!settle(t, a, k, spec, &codec, should) || a == &algo_native)
        return;
    for (int i = 0; i<N_SIZES; i += t->n_ranks> 4 ? 3 : 1) {
        snprintf(what, sizeof what, "%s:%d %s %s %s n %zu", a->name, k, spec->format, spec->sum,
                 spec->overflow, sizes[i]);
        check_sums(t, a, k, &codec, sizes[i], (uint32_t)i, what);
    }
}

static inline void test_combinations(const struct algo_rank *t)
{
    static const char *const formats[] = {"e5m2",  "e4m3", "e4m3fn", "e3m0",
                                          "e5m10", "e8m7", "fp32",   "e6m9"};
    static const char *const outs[] = {NULL,   "e5m10", "fp32", "e4m3",
                                       "e5m2", NULL,    "e8m7", "e5m10"};
    static const char *const rules[] = {"exact", "fp32", "nearest", "kahan", "trunc"};
    const struct algo *a;
    for (int i = 0; (a = algo_at(i)); i++)
        for (int k = a->grouped ? 1 : 0; k <= (a->grouped ? t->n_ranks : 0); k++)
            for (int f = 0; f < 8; f++)
                for (int rule = 0; rule < VEC_RULES; rule++)
                    test_combination(
                        t, a, k,
                        &(struct codec_spec){
                            .format = formats[f],
                            .sum = rules[rule],
                            .out_format = a == &algo_native ? NULL : outs[f],
                            .scale = rule == VEC_EXACT && f % 2 ? "aps-tight" : NULL,
                            .overflow = rule != VEC_TRUNC && (f + rule) % 2 ? "inf" : "saturate"},
                        (enum vec_rule)rule);
}

static inline void test_partials(const struct algo_rank *t)
{
    static const struct codec_spec rows[] = {
        {.format = "e5m2", .sum = "nearest", .acc_format = "e6m9"},
        {.format = "e5m2", .sum = "kahan", .acc_format = "e5m10"},
        {.format = "e3m0", .sum = "nearest", .acc_format = "e5m2", .overflow = "inf"},
        {.format = "e4m3fn", .sum = "nearest", .acc_format = "fp32", .out_format = "e5m10"}};
    const struct algo *a;
    for (int i = 0; (a = algo_at(i)); i++)
        for (int k = a->grouped ? 1 : 0; k <= (a->grouped ? t->n_ranks : 0); k++)
            for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
                test_combination(t, a, k, &rows[r], r == 1 ? VEC_KAHAN : VEC_NEAREST);
}

static inline void test_long_and_chunked(const struct algo_rank *t)
{
    const struct algo *a;
    const size_t chunk = t->c->chunk_bytes, n = t->world->n_most;
    for (int i = 0; (a = algo_at(i)); i++) {
        struct codec codec;
        const int k = !a->grouped ? 0 : t->n_ranks % 2 ? t->n_ranks : 2;
        const bool exact = !a->adds && (!a->needs || a->needs & REDUCE_WIDE);
        if (a == &algo_native || !runs_here(t, a, k) ||
            !settle(t, a, k,
                    &(struct codec_spec){.format = "e4m3", .sum = exact ? "exact" : "nearest"},
                    &codec, true))
            continue;
        check_sums(t, a, k, &codec, n, 77, a->name);
        t->c->chunk_bytes = 999;
        check_sums(t, a, k, &codec, n, 77, a->name);
        t->c->chunk_bytes = chunk;
    }
}

static inline int check_algorithms(struct comm *c, void *world)
{
    const struct algo_rank t = algo_rank_of(c, world);
    test_combinations(&t);
    test_partials(&t);
    test_long_and_chunked(&t);
    return 0;
}

#endif
