/* gemm_low.c : multiplies matrices with a narrow accumulator on the CPU, in double. Products of two
 * floats are exact there, and are rounded by integer operations on their bits. Rounding sums to 53
 * bits first does not change the result, because 53 >= 2 * 24 + 2 (S. A. Figueroa, When is double
 * rounding innocuous?, 1995). Subnormal results are rounded by adding and subtracting 1.5 * 2^52
 * times the smallest subnormal. Loops run along rows of b to vectorise. */
#include "nn/cpu/gemm_low.h"
#include "base/bits.h"
#include "base/err.h"
#include "codec/codec.h"
#include "nn/cpu/cpu_ops.h"
#include "vec/fp_mode.h"
#include <string.h>

enum { ROWS = 16, COLUMNS = 64, DEPTH = 64, WORD_BYTES = 32 };

int gemm_low_parse(const char *word, struct gemm_rule *out)
{
    static const char kahan[] = "+kahan";
    const size_t n = strlen(word), tail = sizeof kahan - 1;
    struct gemm_rule rule = {.overflow = MF_SATURATE};
    char name[WORD_BYTES];
    if (strcmp(word, "fp32") == 0)
        return 0;
    rule.kahan = n > tail && strcmp(word + n - tail, kahan) == 0;
    const size_t used = rule.kahan ? n - tail : n;
    if (used >= sizeof name)
        return ERR(
            -EINVAL,
            "unknown --gemm \"%s\": need fp32, or a format with or without +kahan: e5m10+kahan",
            word);
    memcpy(name, word, used);
    name[used] = 0;
    TRY(codec_format_parse_nan("--gemm", name, &rule.fmt));
    *out = rule;
    return 1;
}

/* Magnitudes are a double's bits without the sign. */
struct rounding {
    /* half: half of the last kept bit's unit, minus one; keep: mask of kept bits; odd: 1 for m = 0,
     * where ties go to the larger magnitude */
    uint64_t half, keep, odd;
    unsigned drop;       /* mantissa bits dropped from a double */
    double magic;        /* 1.5 * 2^52 subnormal units */
    int64_t small, max;  /* magnitudes of the smallest normal and the largest finite number */
    int64_t beyond, nan; /* magnitudes of an overflow's result and of nan */
};

static const uint64_t SIGN = 1ull << 63, INF = 0x7ffull << 52, QUIET = 0x7ff8ull << 48;

static int64_t value_bits(struct mf_fmt f, uint32_t code)
{
    return (int64_t)double_bits((double)float_of(mf_dec(f, code, 0)));
}

/* code: inf or nan, or what they become (hls/arith/mf.h) */
static int64_t special(struct mf_fmt f, uint32_t code)
{
    return code < mf_special(f)        ? value_bits(f, code)
           : code > mf_last_not_nan(f) ? (int64_t)QUIET
                                       : (int64_t)INF;
}

static struct rounding rounding_of(const struct gemm_rule *rule)
{
    const struct mf_fmt f = rule->fmt;
    const unsigned drop = 52u - f.m;
    const int lowest = 1 - mf_bias(f);
    return (struct rounding){
        .half = (1ull << (drop - 1)) - 1,
        .keep = ~((1ull << drop) - 1),
        .odd = f.m == 0,
        .drop = drop,
        .magic = double_of((uint64_t)(1023 + 52 + lowest - f.m) << 52 | 1ull << 51),
        .small = (int64_t)(1023 + lowest) << 52,
        .max = value_bits(f, mf_max(f)),
        .beyond = rule->overflow == MF_SATURATE ? value_bits(f, mf_max(f)) : special(f, mf_inf(f)),
        .nan = special(f, mf_nan(f)),
    };
}

static inline double round_to(const struct rounding *k, double x)
{
    const uint64_t bits = double_bits(x), mag = bits & ~SIGN, even = (mag >> k->drop & 1) | k->odd;
    const int64_t normal = (int64_t)((mag + k->half + even) & k->keep);
    const int64_t tiny = (int64_t)double_bits((double_of(mag) + k->magic) - k->magic);
    int64_t r = (int64_t)mag < k->small ? tiny : normal;
    r = r > k->max ? k->beyond : r;
    r |= (int64_t)(bits & SIGN);
    return double_of((uint64_t)((int64_t)mag > (int64_t)INF ? k->nan : r));
}

/* Return x + y "rounded to odd": the last bit is set if anything was lost, so rounding it to 24
 * bits or fewer gives the rounded exact sum (S. Boldo and G. Melquiond, 2008; D. E. Knuth's error
 * of a sum). */
static double odd_sum(double x, double y)
{
    const double s = x + y, back = s - x, lost = (x - (s - back)) + (y - back);
    const uint64_t bits = double_bits(s);
    if ((bits & INF) == INF || lost == 0 || (bits & 1) != 0)
        return s;
    return double_of((lost > 0) == (s > 0) ? bits + 1 : bits - 1);
}

static float as_float(double x)
{
    return (double_bits(x) & ~SIGN) <= INF ? (float)x : float_of(0x7fffffff);
}

CPU_HOT static void step_plain(const struct rounding *rounding, int n, double a,
                               const float *restrict b, double *restrict s)
{
    const struct rounding k = *rounding;
    for (int j = 0; j < n; j++)
        s[j] = round_to(&k, s[j] + round_to(&k, a * (double)b[j]));
}

CPU_HOT static void step_kahan(const struct rounding *rounding, int n, double a,
                               const float *restrict b, double *restrict s, double *restrict c)
{
    const struct rounding k = *rounding;
    for (int j = 0; j < n; j++) {
        const double y = round_to(&k, round_to(&k, a * (double)b[j]) - c[j]),
                     t = round_to(&k, s[j] + y);
        c[j] = round_to(&k, round_to(&k, t - s[j]) - y);
        s[j] = t;
    }
}

struct operands {
    bool ta, tb;
    int k, lda, ldb;
    const float *a, *b;
};

static void take_panel(const struct operands *o, int p, int deep, int j, int n, float *panel)
{
    for (int q = 0; q < deep; q++)
        for (int i = 0; i < n; i++)
            panel[q * COLUMNS + i] = o->tb ? o->b[(ptrdiff_t)(j + i) * o->ldb + p + q]
                                           : o->b[(ptrdiff_t)(p + q) * o->ldb + j + i];
}

static void block(const struct rounding *k, bool kahan, const struct operands *o, int i, int m,
                  int j, int n, bool add, float *c, int ldc)
{
    float panel[DEPTH * COLUMNS];
    double sums[ROWS][COLUMNS] = {{0}}, too_much[ROWS][COLUMNS] = {{0}};
    for (int p = 0, deep; p < o->k; p += deep) {
        deep = o->k - p < DEPTH ? o->k - p : DEPTH;
        take_panel(o, p, deep, j, n, panel);
        for (int row = 0; row < m; row++)
            for (int q = 0; q < deep; q++) {
                const ptrdiff_t at = o->ta ? (ptrdiff_t)(p + q) * o->lda + i + row
                                           : (ptrdiff_t)(i + row) * o->lda + p + q;
                const double a = (double)o->a[at];
                if (kahan)
                    step_kahan(k, n, a, panel + q * COLUMNS, sums[row], too_much[row]);
                else
                    step_plain(k, n, a, panel + q * COLUMNS, sums[row]);
            }
    }
    for (int row = 0; row < m; row++)
        for (int col = 0; col < n; col++) {
            float *to = c + (ptrdiff_t)(i + row) * ldc + j + col;
            const double s = sums[row][col];
            *to = as_float(add ? round_to(k, odd_sum((double)*to, s)) : s);
        }
}

void gemm_low(const struct gemm_rule *rule, bool ta, bool tb, int m, int n, int k, const float *a,
              int lda, const float *b, int ldb, bool add, float *c, int ldc)
{
    const struct rounding rounding = rounding_of(rule);
    const struct operands o = {.ta = ta, .tb = tb, .k = k, .lda = lda, .ldb = ldb, .a = a, .b = b};
    const uint64_t mode = fp_mode_ieee();
    for (int j = 0; j < n; j += COLUMNS)
        for (int i = 0; i < m; i += ROWS)
            block(&rounding, rule->kahan, &o, i, m - i < ROWS ? m - i : ROWS, j,
                  n - j < COLUMNS ? n - j : COLUMNS, add, c, ldc);
    fp_mode_back(mode);
}
