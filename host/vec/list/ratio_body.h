/* ratio_body.h : scales vectors by a quantile and weights in loops that compilers vectorise. */
#ifndef RATIO_BODY_H
#define RATIO_BODY_H
#include "vec/fp_mode.h"
#include "vec/list/vec_ratio.h"

/* This file's noinline functions run in IEEE mode (fp_mode.h). */
static __attribute__((noinline)) void ratio_of(const float *x, const float *w, size_t n, float eps,
                                               float *restrict out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = x[i] / relative_to(w[i], eps);
}

/* out = relative_sent(d), also in place. share: 1 to 2^31. For a power of two, multiplies by 1 /
 * share: faster, same bits. */
static __attribute__((noinline)) void ratio_scale(const float *d, size_t n, struct relative_scale s,
                                                  float share, float *out)
{
    const uint32_t whole = (uint32_t)share;
    const float part = 1 / share;
    if ((float)whole == share && (whole & (whole - 1)) == 0)
        for (size_t i = 0; i < n; i++)
            out[i] = d[i] * s.up * part;
    else
        for (size_t i = 0; i < n; i++)
            out[i] = relative_sent(d[i], s, share);
}

static __attribute__((noinline)) void ratio_back_all(const float *w, size_t n, float eps,
                                                     struct relative_scale s, float *restrict x)
{
    if (w)
        for (size_t i = 0; i < n; i++)
            x[i] = x[i] * s.down * relative_to(w[i], eps);
    else
        for (size_t i = 0; i < n; i++)
            x[i] *= s.down;
}

static void ratio_send(const float *x, const float *w, size_t n, float eps, struct relative_scale s,
                       float share, float *out)
{
    const uint64_t was = fp_mode_ieee();
    if (w)
        ratio_of(x, w, n, eps, out);
    ratio_scale(w ? out : x, n, s, share, out);
    fp_mode_back(was);
}

static void ratio_back(const float *w, size_t n, float eps, struct relative_scale s, float *x)
{
    const uint64_t was = fp_mode_ieee();
    ratio_back_all(w, n, eps, s, x);
    fp_mode_back(was);
}

#define RATIO_OPS                              \
    {                                          \
        .send = ratio_send, .back = ratio_back \
    }

#endif
