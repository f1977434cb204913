/* test_reducer_mean_mpi.c : the mean is within its bound of fp64's, in every format. */
/* RANKS: 1 2 6 LONG: 4 */
#include "codec/codec_minifloat.h"
#include "reducer_fixture.h"

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

/* In fp64 (APS paper, Algorithm 1; aps-tight: codec_minifloat.c). */
static int shift_of(const struct codec *c, double max)
{
    int e, bias = (1 << (codec_sum(c)->in.e - 1)) - 1;
    if (minifloat_of(c)->scale == CODEC_NONE || minifloat_of(c)->scale == CODEC_CONST)
        return minifloat_of(c)->const_shift;
    if (max == 0)
        return 0;
    if (minifloat_of(c)->scale == CODEC_APS) {
        double fraction = frexp(max * t.n_ranks, &e);
        return bias - clamp(fraction == 0.5 ? e - 1 : e);
    }
    const double largest = codec_sum(c)->in.flavour ? 1.75 : 2 - ldexp(1, -codec_sum(c)->in.m);
    for (e = -200; max > ldexp(largest, e);)
        e++;
    return bias + mf_uses_top(codec_sum(c)->in) - clamp(e);
}

static double half_ulp(struct mf_fmt f, double x)
{
    return fabs(x) * ldexp(1, -f.m - 1);
}
static double half_smallest(struct mf_fmt f)
{
    return ldexp(1, 1 - ((1 << (f.e - 1)) - 1) - f.m - 1);
}

/* A rounding moves a value by at most half a unit in the last place, or half the smallest
 * subnormal. Rounded are each addend, each addition in the format (none if sums are exact; fp32's
 * own if they are fp32), the result, and in fp32 decoding and division. */
static double bound(const struct codec *c, int l, size_t i, int f)
{
    const double p = t.n_ranks;
    double addends = 0, error = 0;
    for (int r = 0; r < t.n_ranks; r++) {
        const double g = ldexp((double)t.grads[r][l][i], f);
        error += half_ulp(codec_sum(c)->in, g) + half_smallest(codec_sum(c)->in);
        addends += fabs(g);
    }
    /* no partial sum is larger */
    const double most = (addends + error) * pow(1 + ldexp(1, -codec_sum(c)->in.m - 1), p);
    if (codec_sum(c)->rule == VEC_NEAREST)
        error += (p - 1) * (half_ulp(codec_sum(c)->in, most) + half_smallest(codec_sum(c)->in));
    error += (p + 2) * ldexp(most, -24);
    error += half_ulp(codec_sum(c)->out, most) +
             ldexp(half_smallest(codec_sum(c)->out), codec_sum(c)->out_shift);
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
        &(struct codec_spec){.format = format, .scale = scale, .sum = sum}, algo, 300, &codec);
    const bool scaled = strncmp(scale, "aps", 3) == 0;
    snprintf(what, sizeof what, "%s %s %s %s", format, scale, sum, algo);
    for (uint32_t step = 0; step < 3; step++) {
        make_grads(step, !scaled);
        const struct reducer_step s = run(r, step);
        CHECK(!s.skipped && s.comm_s >= 0 && s.codec_s > 0, "%s", what);
        for (int l = 0; l < N_LAYERS; l++)
            check_layer(&codec, l, what);
        for (size_t i = 0; i < shape[1].n; i++)
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
        if (i != 3) /* sums of e3m0 overflow: errors are as large as the numbers */
            test_mean(formats[i], "aps", "nearest", t.n_ranks > 1 ? "ring" : "self");
    }
    test_mean("e5m2", "aps-tight", "exact", t.n_ranks % 2 ? "gather" : "group-scatter:2");
    test_mean("fp32", "none", "fp32", "native");
}

int main(void)
{
    reducer_fixture_open();
    test_means();
    comm_close(t.c);
    DONE();
}
