/* codec_noise.c : tests that stochastic rounding is unbiased and has the variance of its grid.
 *
 * A number v is rounded at random to one of the grid values around it, so that the mean is v:
 *
 *     low ----- v ------------- high       E (Q(v) - v)^2 = (v - low) * (high - v) */
#include "base/buf.h"
#include "codec/codec_minifloat.h"
#include "codec_pass.h"
#include <math.h>

/* Bias is tested per element only with at least NOISE_MOVES roundings expected each way: other
 * means are far from normal. */
enum { NOISE_MOVES = 100 };

/* Grid values near v: origin + k * step. */
struct noise_grid {
    double origin, step;
};

static double noise_scale(const struct codec_row *r, const float *x, size_t n)
{
    double max = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        max = fmax(max, fabs((double)x[i]));
        squares += (double)x[i] * (double)x[i];
    }
    return r->norm2 ? sqrt(squares) : max;
}

static struct noise_grid noise_grid_of(const struct codec_row *r, const struct codec *c, int shift,
                                       double scale, double v)
{
    if (r->draws == DRAWS_FLOAT) {
        const struct mf_fmt fmt = minifloat_of(c)->sum.in;
        const int e = v != 0 ? ilogb(v) + shift : INT_MIN, least = 1 - mf_bias(fmt);
        return (struct noise_grid){0, ldexp(1, (e > least ? e : least) - fmt.m - shift)};
    }
    if (r->draws == DRAWS_EVEN)
        return (struct noise_grid){-scale, 2 * scale / ((1 << r->bits) - 1)};
    return (struct noise_grid){0, scale / ((1 << (r->bits - 1)) - 1)};
}

/* Returns the variance of rounding v; *moves: P(up) * P(down). */
static double noise_of(struct noise_grid g, double v, double *moves)
{
    const double at = g.step > 0 ? (v - g.origin) / g.step : 0, rest = at - floor(at);
    *moves = rest * (1 - rest);
    return *moves * g.step * g.step;
}

/* [n] each: v, clipped where ternary clips; predicted variance; moves. */
struct noise_expected {
    double *v, *variance, *moves;
};

static void noise_expect(const struct codec_row *r, const struct codec_pass *p,
                         const struct noise_expected *to)
{
    for (int l = 0, i = 0; l < p->n; l++) {
        const struct vec_span *s = &p->spans[l];
        const float *from = s->x;
        const double clip =
            r->draws == DRAWS_LAYER ? (double)p->layers[l].own_max : (double)INFINITY;
        double scale = clip;
        for (size_t k = 0; k < s->n; k++, i++) {
            if (r->draws != DRAWS_LAYER && k % r->bucket == 0)
                scale = noise_scale(r, from + k, s->n - k < r->bucket ? s->n - k : r->bucket);
            const double x = (double)from[k];
            to->v[i] = copysign(fmin(fabs(x), clip), x);
            to->variance[i] = noise_of(noise_grid_of(r, p->codec, s->shift, scale, to->v[i]),
                                       to->v[i], &to->moves[i]);
        }
    }
}

static struct codec_noise noise_judge(const struct noise_expected *e, const double *sums,
                                      double squares, size_t n, int draws)
{
    struct codec_noise noise = {.worst = 0};
    double variance = 0, surplus = 0;
    for (size_t i = 0; i < n; i++) {
        const double off = sums[i] / draws - e->v[i];
        variance += e->variance[i];
        surplus += e->v[i] < 0 ? -off : off;
        if (e->moves[i] * draws < NOISE_MOVES)
            continue;
        noise.n_moving++;
        noise.worst = fmax(noise.worst, fabs(off) / sqrt(e->variance[i] / draws));
    }
    noise.all = surplus / sqrt(variance / draws);
    noise.ratio = squares / draws / variance;
    return noise;
}

int codec_noise(const struct codec_row *r, struct codec_pass *p, const float *out, size_t n,
                int draws, struct codec_noise *noise)
{
    double *all = buf_alloc(4 * n * sizeof *all), *sums = all, squares = 0;
    if (!all)
        return -ENOMEM;
    const struct noise_expected e = {all + n, all + 2 * n, all + 3 * n};
    codec_pass_measure(p);
    noise_expect(r, p, &e);
    for (int k = 0; k < draws; k++) {
        codec_pass_keys(p, (uint64_t)k);
        codec_pass_encode(p);
        codec_pass_sum(p, (uint64_t)k);
        codec_pass_decode(p);
        for (size_t i = 0; i < n; i++) {
            const double off = (double)out[i] - e.v[i];
            sums[i] += (double)out[i];
            squares += off * off;
        }
    }
    *noise = noise_judge(&e, sums, squares, n, draws);
    free(all);
    return 0;
}
