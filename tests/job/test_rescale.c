/* test_rescale.c : compares --rescale on virtual ranks with a slow reference: a layer's exponent
 * follows from K times its largest gradient, the exponent of the groups' sums from P/K times the
 * largest sum. */
#include "algo_formulas.h"
#include "base/err.h"
#include "check.h"
#include "comm/comm_inside.h"
#include "comm/virtual/comm_virtual.h"
#include "hls/arith/philox.h"
#include "job/job.h"
#include "mf_slow.h"

enum { MAX_RANKS = 64, N_LAYERS = 6, N = 300 + 1 + 77 + 41 + 64 + 8 };
static const uint64_t seed = 20261123;
/* Only the last layer travels in fp32. */
static const struct reducer_layer layers[N_LAYERS] = {
    {.name = "a", .n = 300}, {.name = "b", .n = 1},  {.name = "c", .n = 77},
    {.name = "d", .n = 41},  {.name = "e", .n = 64}, {.name = "f", .n = 8, .fp32 = true}};
static const double sizes[N_LAYERS] = {1, 1e-3, 3e4, 1e-30, 0, 1};

static float grads[MAX_RANKS][N];
static long double codes[MAX_RANKS][N]; /* of codes, then of sums of groups */

/* Gradients span 12 binades. */
static void make_grads(int n_ranks)
{
    for (int r = 0; r < n_ranks; r++)
        for (size_t l = 0, at = 0; l < N_LAYERS; at += layers[l++].n)
            for (size_t i = at; i < at + layers[l].n; i++) {
                const uint32_t own = philox_u32(seed + 1 + (uint64_t)r, i),
                               common = philox_u32(seed, i);
                const double x = ((double)(own & 0xffff) - 32768) / 32768,
                             y = ((double)(common & 0xffff) - 32768) / 32768;
                grads[r][i] = (float)(sizes[l] * (x + y / 2) / (1 << (common >> 16) % 12));
            }
}

struct trial {
    struct job_spec spec;
    float mean[N];
    int rc;
};

static int run_job(struct comm *c, void *ctx)
{
    struct trial *t = ctx;
    struct job job = {.comm = NULL};
    struct reducer_step report;
    float own[N], *at[N_LAYERS], *next = own;
    memcpy(own, grads[c->rank], sizeof own);
    for (int l = 0; l < N_LAYERS; next += layers[l++].n)
        at[l] = next;
    int rc = job_settle(c, &t->spec, &job);
    if (rc == 0)
        rc = job_open(&job, layers, N_LAYERS);
    if (rc == 0)
        rc = reducer_run(job.reducer, 0, at, &report);
    if (rc == 0)
        rc = comm_check_equal(c, own, sizeof own, "the mean");
    if (c->rank == 0)
        memcpy(t->mean, own, sizeof own);
    job_close(&job);
    return rc;
}

static bool run(int n_ranks, struct trial *t)
{
    struct comm_virtual *v;
    if (comm_virtual_open(n_ranks, NULL, &v) < 0)
        exit(1);
    const int rc = comm_virtual_run(v, run_job, t);
    CHECK(rc == 0, "%s of %d: %d", t->spec.algo, n_ranks, rc);
    comm_virtual_close(v);
    return rc == 0;
}

struct slow_job {
    struct slow in, acc, out;
    int n_ranks, group;
    bool ring;      /* group-master's order, else group-scatter's */
    bool one_scale; /* aps without --rescale */
};

static int exponent_up(long double x)
{
    int e;
    return frexpl(x, &e) == 0.5L ? e - 1 : e;
}

static long double slow_sum(struct slow *acc, const long double *value, int n, int first)
{
    long double sum = 0;
    for (int i = 0; i < n; i++)
        sum = slow_dec(acc->f,
                       slow_enc(acc, sum + value[(first + i) % n], MF_NEAREST, MF_SATURATE, 0));
    return sum;
}

static int first_of(const struct slow_job *s, size_t pos, size_t n, int parts)
{
    int j = 0;
    while (s->ring && j + 1 < parts && part_at(n, parts, j + 1) <= pos)
        j++;
    return s->ring ? j + 1 : 0;
}

/* [at, at + n) of all gradients; it starts at element `pos` of a bucket of n_bucket. */
static void slow_layer(struct slow_job *s, size_t at, size_t n, size_t pos, size_t n_bucket,
                       float *mean)
{
    const int n_groups = s->n_ranks / s->group, bias = mf_bias(s->in.f);
    long double most = 0, column[MAX_RANKS];
    for (int r = 0; r < s->n_ranks; r++)
        for (size_t i = at; i < at + n; i++)
            most = fmaxl(most, fabsl((long double)grads[r][i]));
    memset(mean, 0, n * sizeof *mean);
    if (most == 0)
        return;
    int f = bias - exponent_up(most * (s->one_scale ? s->n_ranks : s->group)), again = 0;
    most = 0;
    for (size_t i = 0; i < n; i++) {
        const int first = first_of(s, pos + i, n_bucket, s->group);
        for (int g = 0; g < n_groups; g++) {
            for (int k = 0; k < s->group; k++)
                column[k] =
                    slow_dec(s->in.f, slow_enc(&s->in, ldexpl(grads[g * s->group + k][at + i], f),
                                               MF_NEAREST, MF_SATURATE, 0));
            codes[g][i] = slow_sum(&s->acc, column, s->group, first);
            most = fmaxl(most, fabsl(codes[g][i]));
        }
    }
    if (!s->one_scale && most > 0)
        again = bias - exponent_up(most * n_groups);
    for (size_t i = 0; i < n; i++) {
        for (int g = 0; g < n_groups; g++)
            column[g] = slow_dec(s->acc.f, slow_enc(&s->acc, ldexpl(codes[g][i], again), MF_NEAREST,
                                                    MF_SATURATE, 0));
        const long double sum =
            slow_sum(&s->acc, column, n_groups, first_of(s, pos + i, n_bucket, n_groups));
        const uint32_t code = slow_enc(&s->out, sum, MF_NEAREST, MF_SATURATE, 0);
        mean[i] = (float)ldexpl(slow_dec(s->out.f, code), -f - again) / (float)s->n_ranks + 0.0f;
    }
}

static size_t padded(size_t n)
{
    return (n + 7) / 8 * 8;
}

static void slow_means(struct slow_job *s, bool one_bucket, float *mean)
{
    size_t all = 0, at = N, pos = 0;
    for (int l = 0; l < N_LAYERS - 1; l++)
        all += padded(layers[l].n);
    for (int l = N_LAYERS - 1; l >= 0; l--) {
        const size_t n = layers[l].n;
        at -= n;
        if (layers[l].fp32)
            continue;
        slow_layer(s, at, n, one_bucket ? pos : 0, one_bucket ? all : padded(n), mean + at);
        pos += padded(n);
    }
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Median of |mean - mean in fp64| / |mean in fp64| in the first layer. */
static double median_error(const float *mean, int n_ranks)
{
    static double errors[300];
    const size_t n = layers[0].n;
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (int r = 0; r < n_ranks; r++)
            sum += grads[r][i];
        errors[i] = fabs(mean[i] - sum / n_ranks) / fabs(sum / n_ranks);
    }
    qsort(errors, n, sizeof *errors, by_size);
    return errors[n / 2];
}

static struct mf_fmt format_of(const char *word)
{
    struct mf_fmt f = {0};
    if (codec_format_parse("test", word, &f) < 0)
        exit(1);
    return f;
}

/* acc NULL: the addends' format. Returns median_error(). */
static double compare(int n_ranks, const char *name, int group, const char *in, const char *acc,
                      const char *out, bool rescale, bool one_bucket)
{
    char algo[32];
    snprintf(algo, sizeof algo, "%s:%d", name, group);
    static struct trial t;
    static float want[N];
    t = (struct trial){.spec = {.codec = {.format = in,
                                          .scale = "aps",
                                          .sum = "nearest",
                                          .acc_format = acc,
                                          .out_format = out,
                                          .rescale = rescale},
                                .algo = algo,
                                .bucket_bytes = one_bucket ? 1 << 20 : 1}};
    struct slow_job s = {.in = slow_open(format_of(in)),
                         .acc = slow_open(format_of(acc ? acc : in)),
                         .out = slow_open(format_of(out)),
                         .n_ranks = n_ranks,
                         .group = group,
                         .ring = strcmp(name, "group-master") == 0,
                         .one_scale = !rescale};
    if (run(n_ranks, &t)) {
        slow_means(&s, one_bucket, want);
        for (size_t i = 0; i < N - 8; i++)
            CHECK(t.mean[i] == want[i], "%s of %d, %s in %s, %s: element %zu is %a, want %a", algo,
                  n_ranks, in, acc ? acc : in, rescale ? "rescaled" : "one scale", i, t.mean[i],
                  want[i]);
    }
    slow_close(&s.in), slow_close(&s.acc), slow_close(&s.out);
    return median_error(t.mean, n_ranks);
}

static void compare_all(int n_ranks)
{
    static const char *const formats[][3] = {
        {"e4m3", NULL, "e4m3"}, {"e5m2", "e5m10", "e5m2"}, {"e3m2", NULL, "fp16"}};
    make_grads(n_ranks);
    for (int k = 2; k < n_ranks; k++)
        for (int f = 0; f < 3 && n_ranks % k == 0; f++)
            for (int scatter = 0; scatter < 2; scatter++)
                (void)compare(n_ranks, scatter ? "group-scatter" : "group-master", k, formats[f][0],
                              formats[f][1], formats[f][2], true, (k + f) % 3 != 0);
}

/* Two headrooms, log2 K and log2 P/K binades, come nearer to the fp64 mean than one of log2 P,
 * unless one of them is most of it. */
static void check_gain(int n_ranks)
{
    make_grads(n_ranks);
    for (int k = 8; k <= 16; k *= 2)
        for (int scatter = 0; scatter < 2; scatter++) {
            const char *name = scatter ? "group-scatter" : "group-master";
            const double once = compare(n_ranks, name, k, "e4m3", NULL, "e4m3", false, true),
                         twice = compare(n_ranks, name, k, "e4m3", NULL, "e4m3", true, true);
            printf("%s:%d of %d, e4m3: median error %.4f with one scale, %.4f rescaled\n", name, k,
                   n_ranks, once, twice);
            CHECK(twice < once, "%s:%d of %d: %g rescaled, %g with one scale", name, k, n_ranks,
                  twice, once);
        }
}

int main(void)
{
    printf("seed %llu\n", (unsigned long long)seed);
    compare_all(4);
    compare_all(6);
    compare_all(12);
    compare_all(64);
    check_gain(64);
    DONE();
}
