/* test_nc_large_mpi.c : the mean of gradients near fp32's largest number must be finite for
 * every algorithm, format, scale, sum, codec, op and type. */
/* RANKS: 1 3 4 */
#include <narrowcast.h>
#include "check.h"
#include <float.h>
#include <math.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { N = 100, N_FP32 = 10, LARGEST = 128 };
static float x[N + N_FP32], weights[N];
static double x64[N + N_FP32];
static int n_ranks, n_opened;

static void quiet(void *arg, int level, const char *line)
{
    (void)arg, (void)level, (void)line;
}

static float large(int e)
{
    return e < LARGEST ? ldexpf(1.5f, e) : FLT_MAX;
}

static int reduce(struct nc *nc, int fp64, float value)
{
    void *const list32[] = {x, x + N}, *const list64[] = {x64, x64 + N};
    for (int i = 0; i < N + N_FP32; i++) {
        x[i] = i % 2 ? -value : value;
        x64[i] = (double)x[i];
    }
    const int rc = nc_allreduce(nc, fp64 ? list64 : list32, NULL);
    for (int i = 0; fp64 && i < N + N_FP32; i++)
        x[i] = (float)x64[i];
    return rc;
}

static void say(char text[200], const struct nc_options *o)
{
    snprintf(text, 200, "%s %s %s %s %s %s %s %s", o->codec, o->algo, o->format, o->scale, o->sum,
             o->out_format, o->op, o->type);
}

/* Only these options can round FLT_MAX up to 2^128; others saturate below. */
static int may_round_up(const struct nc_options *o)
{
    return o->scale && (!strncmp(o->scale, "const", 5) || !strcmp(o->scale, "quantile"));
}

/* m: the format's mantissa bits; -1: only finite numbers are guaranteed. */
static void check_values(struct nc *nc, const struct nc_options *o, int m)
{
    const int sums = !strcmp(o->op, "sum"), fp64 = !strcmp(o->type, "fp64");
    /* each value is rounded to the format's bits or fewer */
    const double room = pow(1 + ldexp(1, -m - 1), n_ranks + 2);
    char what[200];
    say(what, o);
    for (int e = 121; e <= LARGEST - may_round_up(o); e++) {
        const double each = (double)large(e), want = each * (sums ? n_ranks : 1);
        if (want * (sums ? room : 1) > (double)FLT_MAX)
            return; /* the sum need not fit */
        CHECK(reduce(nc, fp64, large(e)) == 0, "%s: %g is skipped", what, each);
        for (int i = 0; i < N + N_FP32; i++) {
            const double got = (double)(i % 2 ? -x[i] : x[i]);
            CHECK(isfinite(got) && got > 0, "%s, %d ranks: element %d of %g becomes %g", what,
                  n_ranks, i, each, got);
            if (m >= 0 && each * n_ranks < 0x1p126)
                CHECK(got <= want * room && got >= want / room, "%s, %d ranks: %g becomes %g", what,
                      n_ranks, want, got);
        }
    }
}

static void check(struct nc_options o, int m)
{
    const struct nc_layer layers[] = {{.name = "narrow", .n = N, .weights = weights},
                                      {.name = "fp32", .n = N_FP32, .fp32 = 1}};
    struct nc *nc = NULL;
    o.log = quiet;
    if (nc_open(&o, layers, 2, &nc) < 0)
        return;
    n_opened++;
    check_values(nc, &o, m);
    nc_close(nc);
}

static struct nc_options options(const char *algo)
{
    struct nc_options o = nc_options_default();
    o.algo = algo;
    o.quantise = "all";
    o.codec = "minifloat", o.format = "e4m3", o.scale = "aps-tight", o.sum = "auto";
    o.out_format = "auto", o.op = "mean", o.type = "fp32";
    return o;
}

/* m of formats in which every scale keeps the leading bits of equal gradients */
static const struct {
    const char *format;
    int m;
} formats[] = {{"e5m2", 2},  {"e4m3", 3}, {"e4m3fn", 3}, {"e3m0", 0}, {"e6m9", 9},
               {"fp16", 10}, {"bf16", 7}, {"fp32", 22},  {"e8m3", 3}, {"e7m4", 4}};
static const char *const scales[] = {"aps-tight", "aps", "none", "const:0x1p-104", "quantile"};
static const char *const sums[] = {"auto", "nearest"};
static const char *const outs[] = {"auto", "fp32"};
static const char *const ops[] = {"mean", "sum"};

enum { N_FORMATS = sizeof formats / sizeof *formats, WAYS = 5 * 2 * 2 * 2 };

/* Unscaled, only finiteness is checked: nothing so large fits e < 8. */
static void check_minifloat(const char *algo)
{
    for (int f = 0; f < N_FORMATS; f++)
        for (int w = 0; w < WAYS; w++) {
            struct nc_options o = options(algo);
            o.format = formats[f].format;
            o.scale = scales[w % 5], o.sum = sums[w / 5 % 2];
            o.out_format = outs[w / 10 % 2], o.op = ops[w / 20];
            const int scaled = !strncmp(o.scale, "aps", 3);
            check(o, scaled ? formats[f].m : -1);
        }
}

static void check_others(const char *algo)
{
    static const char *const codecs[] = {"qsgd:4", "qsgd:8,norm=2", "onebit:64", "ternary",
                                         "relgrad"};
    for (int i = 0; i < 2 * 5; i++) {
        struct nc_options o = options(algo);
        o.codec = codecs[i % 5], o.op = ops[i / 5];
        o.format = o.scale = o.sum = o.out_format = NULL;
        check(o, -1);
    }
    struct nc_options o = options(algo);
    o.type = "fp64";
    check(o, 3);
    o.op = "sum";
    check(o, 3);
}

static void check_halves(const char *type, uint16_t largest, const char *scale)
{
    const struct nc_layer layer = {.name = "halves", .n = N};
    struct nc_options o = options(NULL);
    uint16_t codes[N];
    void *const list[] = {codes};
    struct nc *nc = NULL;
    o.type = type, o.scale = scale, o.log = quiet;
    CHECK(nc_open(&o, &layer, 1, &nc) == 0, "%s", nc_last_error(NULL));
    for (int i = 0; i < N; i++)
        codes[i] = (uint16_t)(largest | i % 2 << 15);
    CHECK(nc_allreduce(nc, list, NULL) == 0, "%s is skipped", type);
    for (int i = 0; i < N; i++)
        CHECK((codes[i] & 0x7fff) <= largest && codes[i] >> 15 == i % 2, "%s %s: %04x", type, scale,
              codes[i]);
    nc_close(nc);
}

int main(void)
{
    /* communicators that open with minifloats and with others; elsewhere the options are refused */
    static const struct {
        const char *algo;
        int n_minifloat, n_others, least_ranks, most_ranks, ranks_factor;
    } algos[] = {{"direct", 300, 10, 1, 4, 1},        {"ring", 280, 0, 1, 4, 1},
                 {"group-master:2", 280, 0, 2, 4, 2}, {"group-scatter:2", 300, 4, 2, 4, 2},
                 {"gather", 300, 10, 1, 4, 1},        {"gather-sum", 300, 10, 1, 4, 1},
                 {"native", 98, 1, 1, 4, 1},          {"self", 300, 10, 1, 1, 1}};
    MPI_Init(NULL, NULL);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    for (int i = 0; i < N; i++)
        weights[i] = (float)(i % 7) / 8;
    for (size_t a = 0; a < sizeof algos / sizeof *algos; a++) {
        const bool runs = n_ranks >= algos[a].least_ranks && n_ranks <= algos[a].most_ranks &&
                          n_ranks % algos[a].ranks_factor == 0;
        n_opened = 0;
        check_minifloat(algos[a].algo);
        CHECK(n_opened == (runs ? algos[a].n_minifloat : 0), "%s: %d minifloats", algos[a].algo,
              n_opened);
        n_opened = 0;
        check_others(algos[a].algo);
        CHECK(n_opened == (runs ? algos[a].n_others : 0), "%s: %d others", algos[a].algo, n_opened);
    }
    static const char *const halves_scales[] = {"aps-tight", "aps", "quantile"};
    for (int s = 0; s < 3; s++) {
        check_halves("fp16", 0x7bff, halves_scales[s]);
        check_halves("bf16", 0x7f7f, halves_scales[s]);
    }
    MPI_Finalize();
    DONE();
}
