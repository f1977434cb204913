/* test_level.c : checks the levels of hls/arith/level.h through the buckets of vec_levels.h:
 * no bias, the formula's variance, no change at levels. */
#include "check.h"
#include "vec/list/vec_levels.h"
#include "vec_inputs.h"
#include <math.h>

enum { N = 64, N_DRAWS = 100000, FEW_DRAWS = 20000 };
static const uint64_t seed = 20171;
static const struct vec_levels *levels;

enum kind { LOG_NORMAL, ZEROS, ONE, SUBNORMAL, TINY, LARGE, LARGEST, N_KINDS };
static const char *const names[] = {"log-normal", "zeros", "one",    "subnormal",
                                    "tiny",       "large", "largest"};

static double normal(uint64_t i)
{
    const double u = (philox_u32(seed, 2 * i) + 0.5) * 0x1p-32, v = philox_u32(seed, 2 * i + 1);
    return sqrt(-2 * log(u)) * cos(v * 0x1p-32 * 2 * 3.14159265358979);
}

static void fill(enum kind kind, float x[N])
{
    static const double sizes[] = {[LOG_NORMAL] = 1e-3,
                                   [SUBNORMAL] = 0x1p-143,
                                   [TINY] = 0x1.7p-120,
                                   [LARGE] = 0x1.3p100,
                                   [LARGEST] = 0x1.fffffep127};
    double most = 0, v[N];
    for (uint64_t i = 0; i < N; i++) {
        v[i] = exp(1.5 * normal(2 * i)) * (normal(2 * i + 1) < 0 ? -1 : 1);
        most = fmax(most, fabs(v[i]));
    }
    for (int i = 0; i < N; i++)
        x[i] = kind == ZEROS || (kind == ONE && i != 5) ? 0
               : kind == ONE                            ? -0x1.234566p-7f
                                                        : (float)(v[i] / most * sizes[kind]);
}

/* Returns at most fp32's largest number. */
static double scale_of(const struct levels_rule *r, const float x[N])
{
    double most = 0, squares = 0;
    for (int i = 0; i < N; i++)
        most = fmax(most, fabs((double)x[i]));
    for (int i = 0; i < N && most > 0; i++)
        squares += x[i] / most * (x[i] / most);
    return r->norm2 ? fmin(sqrt(squares) * most, 0x1.fffffep127) : most;
}

/* *step receives the distance of levels. */
static double chance(const struct levels_rule *r, double scale, double v, double *step)
{
    const double codes = ldexp(1, (int)r->scheme.bits - !r->scheme.even) - 1;
    *step = r->scheme.even ? 2 * scale / codes : scale / codes;
    const double at = *step == 0 ? 0 : r->scheme.even ? (v + scale) / *step : fabs(v) / *step;
    return at - floor(at);
}

static const char *rule_name(const struct levels_rule *r)
{
    static char text[64];
    snprintf(text, sizeof text, "%u bits, %s, norm %s", r->scheme.bits,
             r->scheme.even ? "even" : "sign", r->norm2 ? "2" : "max");
    return text;
}

struct moments {
    uint32_t n;
    double sum[N], squares[N];
    int moved[N];
};

static void draw(const struct levels_rule *r, const float x[N], uint32_t n, struct moments *m)
{
    uint8_t codes[N * 2 + sizeof(float)];
    float got[N], first[N];
    memset(m, 0, sizeof *m);
    m->n = n;
    for (uint32_t t = 0; t < n; t++) {
        levels->encode(r, x, N, 0, philox_key(seed, t, 1, 2, 3), codes);
        levels->decode(r, codes, N, 1, got);
        if (t == 0)
            memcpy(first, got, sizeof got);
        for (int i = 0; i < N; i++) {
            const double off = (double)got[i] - (double)x[i];
            m->sum[i] += off;
            m->squares[i] += off * off;
            m->moved[i] += got[i] != first[i];
        }
    }
}

/* Bounds: five sigma, four steps for rare events, and fp32's roundings of quotient, product and
 * value; scheme `even` also rounds the distance from the lowest value. */
static void check_moments(const struct levels_rule *r, enum kind kind, const float x[N],
                          const struct moments *m)
{
    const double scale = scale_of(r, x);
    double want = 0, got = 0;
    for (int i = 0; i < N; i++) {
        double step;
        const double p = chance(r, scale, (double)x[i], &step),
                     variance = step * step * p * (1 - p);
        const double slack = (r->scheme.even ? scale : fabs((double)x[i])) * 0x1p-21 + 0x1p-150,
                     bound = 5 * sqrt(variance / m->n) + 4 * step / m->n + slack;
        CHECK(fabs(m->sum[i] / m->n) <= bound, "%s, %s, element %d of %g: mean off by %g, may %g",
              rule_name(r), names[kind], i, (double)x[i], m->sum[i] / m->n, bound);
        want += variance;
        got += m->squares[i] / m->n;
    }
    if (kind == LOG_NORMAL)
        CHECK(got > 0.98 * want && got < 1.02 * want, "%s: variance %g, the formula has %g",
              rule_name(r), got, want);
}

/* A decoded value is encoded to itself with any random number if the scale stays. */
static void check_still(const struct levels_rule *r, const float x[N])
{
    static struct moments m;
    uint8_t codes[N * 2 + sizeof(float)];
    float values[N];
    struct levels_rule max = *r;
    max.norm2 = false; /* the decoded values have another 2-norm */
    levels->encode(&max, x, N, 0, seed, codes);
    levels->decode(&max, codes, N, 1, values);
    draw(&max, values, FEW_DRAWS, &m);
    for (int i = 0; i < N; i++)
        CHECK(m.moved[i] == 0 && m.sum[i] == 0, "%s, value %g moved %d times", rule_name(&max),
              (double)values[i], m.moved[i]);
}

static void check_rule(const struct levels_rule *r)
{
    static struct moments m;
    for (enum kind kind = 0; kind < N_KINDS; kind++) {
        float x[N];
        fill(kind, x);
        draw(r, x, kind == LOG_NORMAL ? N_DRAWS : FEW_DRAWS, &m);
        check_moments(r, kind, x, &m);
        for (int i = 0; i < N && kind == ZEROS; i++)
            CHECK(m.squares[i] == 0, "%s: a zero became another number", rule_name(r));
        if (kind == ONE && !r->norm2)
            CHECK(m.moved[5] == 0 && m.sum[5] == 0, "%s: the only number moved", rule_name(r));
        if (kind == LOG_NORMAL || kind == LARGEST)
            check_still(r, x);
    }
}

static void check_sqrt(void)
{
    for (uint64_t i = 0; i < 1000000; i++) {
        const float x =
            ldexpf(1 + (float)(philox_u32(seed, i) >> 9) * 0x1p-23f, (int)(i % 206) - 80);
        const double want = sqrt((double)x), got = (double)level_sqrt(x);
        CHECK(fabs(got - want) <= want * 0x1p-23, "sqrt %a: %a, want %a", (double)x, got, want);
    }
    CHECK(level_sqrt(4) == 2 && level_sqrt(1) == 1 && level_sqrt(0x1p-80f) == 0x1p-40f, "squares");
}

static void check_add(void)
{
    CHECK(level_add(LEVEL_FLT_MAX, LEVEL_FLT_MAX) == LEVEL_FLT_MAX, "a sum is not finite");
    CHECK(level_add(-LEVEL_FLT_MAX, -0x1p104f) == -LEVEL_FLT_MAX, "a sum is not finite");
    CHECK(level_add(1, 0x1p-24f) == 1 && level_add(-3, 1) == -2, "a sum");
}

int main(void)
{
    levels = vec_best()->levels;
    printf("seed %llu\n", (unsigned long long)seed);
    check_sqrt();
    check_add();
    for (uint32_t bits = 1; bits <= 16; bits *= 2)
        for (uint32_t even = bits == 1; even < 2; even++)
            for (int norm2 = 0; norm2 < 2; norm2++) {
                const struct levels_rule r = {.scheme = {bits, even}, .bucket = N, .norm2 = norm2};
                check_rule(&r);
            }
    DONE();
}
