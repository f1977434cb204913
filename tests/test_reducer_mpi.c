/* test_reducer_mpi.c : a step's gradients through the reducer: the mean, its bound, skipping,
 * buckets, bytes. */
/* RANKS: 1 2 4 6 */
#include "base/err.h"
#include "check.h"
#include "reduce/bucket.h"
#include "reduce/reducer.h"
#include "hls/philox.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 8, N_LAYERS = 10, N_MOST = 700 };
static const uint64_t seed = 31337;

/* Two layers of zeros, one that only one rank fills, one of fp32 subnormals (f > 127), one near the
 * top of fp32. */
enum kind { NORMAL, ZERO, ONE_RANK, SUBNORMAL, HUGE_VALUES };
static const struct {
    size_t n;
    enum kind kind;
    double size;
} shape[N_LAYERS] = {{1, NORMAL, 1},          {7, ZERO, 0},           {8, NORMAL, 1e-3},
                     {9, ONE_RANK, 0.25},     {N_MOST, NORMAL, 3e-2}, {333, SUBNORMAL, 1e-41},
                     {64, HUGE_VALUES, 1e37}, {257, NORMAL, 1e-12},   {40, NORMAL, 1},
                     {5, NORMAL, 0.3}};

static struct {
    struct comm *c;
    int n_ranks, rank;
    float grads[MOST][N_LAYERS][N_MOST]; /* of every rank: each of them can work out all */
    float mine[N_LAYERS][N_MOST];        /* what the reducer works on */
    float *at[N_LAYERS];                 /* into mine */
    struct reducer_layer layers[N_LAYERS];
} t;

/* tame: no layer outside of what every format holds without a scale. */
static void make_grads(uint32_t step, bool tame)
{
    for (int r = 0; r < t.n_ranks; r++)
        for (int l = 0; l < N_LAYERS; l++) {
            const uint64_t key = philox_key(seed, step, (uint32_t)l, (uint32_t)r, 1);
            const bool zero =
                shape[l].kind == ZERO || (shape[l].kind == ONE_RANK && r != t.n_ranks / 2);
            const double size = zero ? 0 : tame ? 1 : shape[l].size;
            for (size_t i = 0; i < shape[l].n; i++) {
                double u = (double)philox_u32(key, 2 * i) / 4294967296.0 - 0.5,
                       v = (double)philox_u32(key, 2 * i + 1) / 4294967296.0;
                t.grads[r][l][i] = (float)(size * u * v * v * 2); /* many small ones, |x| <= size */
            }
        }
}

static void take_mine(void)
{
    for (int l = 0; l < N_LAYERS; l++)
        memcpy(t.mine[l], t.grads[t.rank][l], sizeof t.mine[l]);
}

static bool mine_unchanged(void)
{
    bool same = true;
    for (int l = 0; l < N_LAYERS; l++)
        same = same && memcmp(t.mine[l], t.grads[t.rank][l], sizeof t.mine[l]) == 0;
    return same;
}

static struct reducer *open_reducer(const struct codec_words *words, const char *algo_word,
                                    size_t bucket_bytes, struct codec *codec)
{
    const struct algo *algo;
    int group;
    struct reducer *r = NULL;
    if (codec_parse(words, codec) < 0 || algo_find(algo_word, t.n_ranks, &algo, &group) < 0 ||
        algo_settle(algo, group, t.n_ranks, codec) < 0 ||
        reducer_open(t.c, codec, algo, group, bucket_bytes, t.layers, N_LAYERS, &r) < 0) {
        fprintf(stderr, "cannot open %s\n", words->format);
        exit(1);
    }
    return r;
}

static struct reducer_step run(struct reducer *r, uint64_t step)
{
    struct reducer_step s = {.skipped = true};
    take_mine();
    CHECK(reducer_run(r, step, t.at, &s) == 0, "step %d", (int)step);
    CHECK(s.skipped || comm_check_equal(t.c, t.mine, sizeof t.mine, "the mean") == 0, "step %d",
          (int)step);
    return s;
}

/* ---- the mean against fp64 ---- */

static double max_of_layer(int l)
{
    double max = 0;
    for (int r = 0; r < t.n_ranks; r++)
        for (size_t i = 0; i < shape[l].n; i++)
            max = fmax(max, fabs((double)t.grads[r][l][i]));
    return max;
}

static int clamp(int e)
{
    return e < -126 ? -126 : e > 126 ? 126 : e;
}

/* f by its definition (APS paper, Algorithm 1; aps-tight: codec.h), in fp64. */
static int shift_of(const struct codec *c, double max)
{
    int e, bias = (1 << (c->fmt.e - 1)) - 1;
    if (c->scale == CODEC_NONE || c->scale == CODEC_CONST)
        return c->const_shift;
    if (max == 0)
        return 0;
    if (c->scale == CODEC_APS) {
        double fraction = frexp(max * t.n_ranks, &e);
        return bias - clamp(fraction == 0.5 ? e - 1 : e);
    }
    const double largest = c->fmt.fn ? 1.75 : 2 - ldexp(1, -c->fmt.m);
    for (e = -200; max > ldexp(largest, e);)
        e++;
    return bias + c->fmt.fn - clamp(e);
}

static double half_ulp(struct mf_fmt f, double x)
{
    return fabs(x) * ldexp(1, -f.m - 1);
}
static double half_smallest(struct mf_fmt f)
{
    return ldexp(1, 1 - ((1 << (f.e - 1)) - 1) - f.m - 1);
}

/* How far the mean of element i may be from the true one: each rounding moves a value by half a
 * unit in its last place at most, or by half the smallest number below the normal ones: one
 * rounding for each addend, one for each addition that rounds into the format (none where sums are
 * exact or fp32, but fp32's own), one for the result, and fp32's for decoding and division. */
static double bound(const struct codec *c, int l, size_t i, int f)
{
    const double p = t.n_ranks;
    double addends = 0, error = 0;
    for (int r = 0; r < t.n_ranks; r++) {
        const double g = ldexp((double)t.grads[r][l][i], f);
        error += half_ulp(c->fmt, g) + half_smallest(c->fmt);
        addends += fabs(g);
    }
    /* no partial sum is larger */
    const double most = (addends + error) * pow(1 + ldexp(1, -c->fmt.m - 1), p);
    if (c->rule == VEC_NEAREST)
        error += (p - 1) * (half_ulp(c->fmt, most) + half_smallest(c->fmt));
    error += (p + 2) * ldexp(most, -24);
    error += half_ulp(c->out, most) + ldexp(half_smallest(c->out), c->sum.out_shift);
    return ldexp(error, -f) / p + 2 * ldexp(1, -149);
}

static void check_layer(const struct codec *c, int l, const char *what)
{
    const int f = shift_of(c, max_of_layer(l));
    for (size_t i = 0; i < shape[l].n; i++) {
        double mean = 0;
        for (int r = 0; r < t.n_ranks; r++)
            mean += (double)t.grads[r][l][i] / t.n_ranks;
        const double got = (double)t.mine[l][i], b = bound(c, l, i, f);
        CHECK(fabs(got - mean) <= b, "%s: layer %d element %zu: %g, not %g +- %g", what, l, i, got,
              mean, b);
    }
}

static void test_mean(const char *format, const char *scale, const char *sum, const char *algo)
{
    char what[100];
    struct codec codec;
    struct reducer *r = open_reducer(
        &(struct codec_words){.format = format, .scale = scale, .sum = sum}, algo, 300, &codec);
    const bool scaled = strncmp(scale, "aps", 3) == 0;
    snprintf(what, sizeof what, "%s %s %s %s", format, scale, sum, algo);
    for (uint32_t step = 0; step < 3; step++) {
        make_grads(step, !scaled);
        const struct reducer_step s = run(r, step);
        CHECK(!s.skipped && s.comm_s >= 0 && s.codec_s > 0, "%s", what);
        for (int l = 0; l < N_LAYERS; l++)
            check_layer(&codec, l, what);
        for (size_t i = 0; i < shape[1].n; i++) /* a layer of zeros stays +0 */
            CHECK(t.mine[1][i] == 0 && !signbit(t.mine[1][i]), "%s: %g", what,
                  (double)t.mine[1][i]);
    }
    reducer_close(r);
}

static void test_means(void)
{
    static const char *const formats[] = {"e5m2",  "e4m3", "e4m3fn", "e3m0",
                                          "e5m10", "e6m9", "e8m7",   "fp32"};
    for (int i = 0; i < 8; i++) {
        const bool exact = i < 5;
        test_mean(formats[i], "aps", "auto", "auto");
        test_mean(formats[i], "none", "auto", "auto");
        test_mean(formats[i], "const:0.5", "auto", "auto");
        if (exact)
            test_mean(formats[i], "aps-tight", "exact", "auto");
        if (i != 3) /* e3m0's sums overflow: its rounding errors are as large as the numbers */
            test_mean(formats[i], "aps", "nearest", t.n_ranks > 1 ? "ring" : "self");
    }
    test_mean("e5m2", "aps-tight", "exact", t.n_ranks % 2 ? "gather" : "group-scatter:2");
    test_mean("fp32", "none", "fp32", "native");
}

/* ---- skipping ---- */

static void test_skip(void)
{
    static const float bad[] = {INFINITY, -INFINITY, NAN};
    struct codec codec;
    struct reducer *r =
        open_reducer(&(struct codec_words){.format = "e4m3", .scale = "aps"}, "auto", 300, &codec);
    t.layers[N_LAYERS - 1].fp32 = true;
    struct reducer *with_fp32 =
        open_reducer(&(struct codec_words){.format = "e4m3", .scale = "aps"}, "auto", 300, &codec);
    t.layers[N_LAYERS - 1].fp32 = false;
    for (int i = 0; i < 3 * N_LAYERS; i++) {
        const int l = i % N_LAYERS, where = i % t.n_ranks;
        make_grads(9, false);
        t.grads[where][l][shape[l].n - 1] = bad[i % 3];
        const struct reducer_step s = run(i % 2 ? r : with_fp32, 9);
        CHECK(s.skipped, "layer %d of rank %d", l, where);
        CHECK(mine_unchanged(), "layer %d of rank %d: gradients changed", l, where);
        CHECK(s.sent_bytes == (t.n_ranks > 1 ? N_LAYERS : 0), "%d bytes", (int)s.sent_bytes);
    }
    make_grads(9, false);
    CHECK(!run(r, 10).skipped && !mine_unchanged(), "and the next step is taken");
    reducer_close(with_fp32);
    reducer_close(r);
}

/* ---- fp32 layers, forced fp32 ---- */

static bool is_fp32_mean(int l)
{
    for (size_t i = 0; i < shape[l].n; i++) {
        float sum = 0;
        for (int r = 0; r < t.n_ranks; r++)
            sum += t.grads[r][l][i];
        sum /= (float)t.n_ranks;
        if (memcmp(&sum, &t.mine[l][i], sizeof sum) != 0)
            return false;
    }
    return true;
}

static void test_fp32(void)
{
    struct codec codec;
    static float first[N_LAYERS][N_MOST];
    uint64_t want = 0;
    t.layers[4].fp32 = t.layers[N_LAYERS - 1].fp32 = t.layers[N_LAYERS - 2].fp32 = true;
    struct reducer *r =
        open_reducer(&(struct codec_words){.format = "e3m0", .scale = "aps"}, "auto", 300, &codec);
    make_grads(20, false);
    struct reducer_step s = run(r, 20);
    memcpy(first, t.mine, sizeof first);
    for (int l = 0; l < N_LAYERS; l++) {
        CHECK(is_fp32_mean(l) == (t.layers[l].fp32 || l == 1), "layer %d", l);
        want += (shape[l].n + 7) / 8 * 8 * (t.layers[l].fp32 ? 32 : 4) / 8;
    }
    CHECK(s.code_bytes == want, "%d bytes, not %d", (int)s.code_bytes, (int)want);
    reducer_force_fp32(r, true);
    s = run(r, 20);
    want = 0;
    for (int l = 0; l < N_LAYERS; l++) {
        CHECK(is_fp32_mean(l), "forced: layer %d", l);
        want += (shape[l].n + 7) / 8 * 32;
    }
    CHECK(s.code_bytes == want, "forced: %d bytes, not %d", (int)s.code_bytes, (int)want);
    reducer_force_fp32(r, false);
    run(r, 20);
    CHECK(memcmp(first, t.mine, sizeof first) == 0, "as before");
    reducer_close(r);
    t.layers[4].fp32 = t.layers[N_LAYERS - 1].fp32 = t.layers[N_LAYERS - 2].fp32 = false;
}

/* ---- buckets ---- */

/* What `direct` sends for n elements in formats of so many bits. */
static uint64_t direct_bytes(size_t n, unsigned in_bits, unsigned out_bits)
{
    const size_t units = n / 8, p = (size_t)t.n_ranks, me = (size_t)t.rank,
                 mine = 8 * (units / p + (me < units % p));
    return (n - mine) * in_bits / 8 + (p - 1) * mine * out_bits / 8;
}

/* The same bits whatever the buckets, and the bytes of the formula. */
static void test_bucket_sizes(const char *format, unsigned bits, unsigned out_bits, const char *sum,
                              const char *round)
{
    static const size_t bucket_bytes[] = {1, 8, 100, 500, 1 << 20};
    static float first[N_LAYERS][N_MOST];
    make_grads(30, false);
    for (int i = 0; i < 5; i++) {
        struct codec codec;
        struct bucket buckets[N_LAYERS];
        struct reducer *r = open_reducer(
            &(struct codec_words){.format = format, .scale = "aps", .sum = sum, .round = round},
            "auto", bucket_bytes[i], &codec);
        const struct fold folds[2] = {codec_fold(&codec), codec_fold(&codec)};
        const int n = bucket_cut(t.layers, N_LAYERS, folds, false, bucket_bytes[i], buckets);
        uint64_t code = 0, fp32 = 0, sent = t.n_ranks > 1 ? N_LAYERS : 0;
        for (int b = 0; b < n; b++)
            sent += t.n_ranks > 1 ? direct_bytes(buckets[b].n, bits, out_bits) : 0;
        for (int l = 0; l < N_LAYERS; l++) {
            code += (shape[l].n + 7) / 8 * bits;
            fp32 += shape[l].n * 4;
        }
        const struct reducer_step s = run(r, 30);
        CHECK(s.code_bytes == code && s.fp32_bytes == fp32 && s.sent_bytes == sent,
              "%s in buckets of %zu: %d %d %d, not %d %d %d", format, bucket_bytes[i],
              (int)s.code_bytes, (int)s.fp32_bytes, (int)s.sent_bytes, (int)code, (int)fp32,
              (int)sent);
        if (i == 0)
            memcpy(first, t.mine, sizeof first);
        CHECK(memcmp(first, t.mine, sizeof first) == 0, "%s %s in buckets of %zu: other bits",
              format, sum, bucket_bytes[i]);
        reducer_close(r);
    }
}

/* An algorithm that looks at the codes it is given: behind every layer, zero codes up to the next
 * multiple of 8. */
static size_t direct_scratch(const struct fold *f, size_t n, int n_ranks, int group)
{
    return algo_direct.scratch_bytes(f, n, n_ranks, group);
}
static int look_and_run(struct comm *c, const struct algo_call *call)
{
    const size_t width = vec_bytes(call->codec->fmt, 1);
    const uint8_t *at = call->codes;
    for (int l = N_LAYERS - 1; l >= 0; l--) {
        const size_t used = width * shape[l].n, taken = width * ((shape[l].n + 7) / 8 * 8);
        for (size_t i = used; i < taken; i++)
            CHECK(at[i] == 0, "byte %zu in the gap behind layer %d", i - used, l);
        at += taken;
    }
    CHECK((size_t)(at - call->codes) == width * call->n, "%zu elements", call->n);
    return algo_direct.run(c, call);
}

static void test_padding(void)
{
    static const struct algo spy = {
        .name = "spy", .rules = 31, .scratch_bytes = direct_scratch, .run = look_and_run};
    struct codec codec;
    struct reducer *r;
    if (codec_parse(&(struct codec_words){.format = "e5m2", .scale = "aps"}, &codec) < 0 ||
        codec_settle(&codec, t.n_ranks, 31, "spy") < 0 ||
        reducer_open(t.c, &codec, &spy, 0, 1 << 20, t.layers, N_LAYERS, &r) < 0)
        exit(1);
    make_grads(40, false);
    for (int i = 0; i < 4; i++) { /* each leaves its codes where the next one has its gaps */
        reducer_force_fp32(r, i % 2 != 0);
        run(r, 40);
    }
    reducer_close(r);
}

/* ---- refusals ---- */

static void test_refusals(void)
{
    struct codec codec, other;
    struct reducer *r = NULL;
    struct reducer_layer empty = {.name = "empty", .n = 0};
    if (codec_parse(&(struct codec_words){0}, &codec) < 0 ||
        codec_settle(&codec, t.n_ranks, 31, "test") < 0 ||
        codec_parse(&(struct codec_words){0}, &other) < 0 ||
        codec_settle(&other, t.n_ranks + 1, 31, "test") < 0)
        exit(1);
    const struct algo *a = &algo_direct;
    err_hold();
    CHECK(reducer_open(t.c, &codec, a, 0, 0, t.layers, N_LAYERS, &r) == -EINVAL && !r,
          "no bytes in a bucket");
    CHECK(reducer_open(t.c, &codec, a, 0, 100, t.layers, 0, &r) == -EINVAL && !r, "no layers");
    CHECK(reducer_open(t.c, &codec, a, 0, 100, &empty, 1, &r) == -EINVAL && !r, "an empty layer");
    CHECK(reducer_open(t.c, &other, a, 0, 100, t.layers, N_LAYERS, &r) == -EINVAL && !r,
          "a codec for other ranks");
    CHECK(reducer_open(t.c, &codec, &algo_group_scatter, t.n_ranks + 1, 100, t.layers, N_LAYERS,
                       &r) == -EINVAL &&
              !r,
          "groups");
    err_release(false);
    reducer_close(NULL);
}

int main(void)
{
    if (comm_open(120, &t.c) < 0)
        return 1;
    t.n_ranks = comm_n_ranks(t.c);
    t.rank = comm_rank(t.c);
    if (t.rank == 0)
        printf("seed %llu\n", (unsigned long long)seed);
    for (int l = 0; l < N_LAYERS; l++) {
        t.layers[l] = (struct reducer_layer){.name = "layer", .n = shape[l].n};
        t.at[l] = t.mine[l];
    }
    test_padding();
    test_means();
    test_skip();
    test_fp32();
    test_bucket_sizes("e4m3", 8, 8, "exact", "nearest");
    test_bucket_sizes("e5m2", 8, 8, "fp32", "stochastic");
    test_bucket_sizes("e3m0", 4, 8, "auto", "stochastic");
    test_bucket_sizes("e6m9", 16, 16, "nearest", "zero");
    test_bucket_sizes("e2m2", 5, 5, "kahan", "nearest");
    test_refusals();
    comm_close(t.c);
    DONE();
}
