/* ratio_body.h : multiples of a quantile as loops that compilers make vectors of; the file that
 * includes this is compiled for an instruction set. */
#ifndef RATIO_BODY_H
#define RATIO_BODY_H
#include "vec/fp_mode.h"
#include "vec/vec_ratio.h"

/* Calls of their own, in IEEE mode. */
static __attribute__((noinline)) void ratio_send_all(const float *x, const float *w, size_t n,
                                                     float eps, struct relative_scale s,
                                                     float share, float *restrict out)
{
    if (w)
        for (size_t i = 0; i < n; i++)
            out[i] = relative_sent(x[i] / relative_to(w[i], eps), s, share);
    else
        for (size_t i = 0; i < n; i++)
            out[i] = relative_sent(x[i], s, share);
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
    ratio_send_all(x, w, n, eps, s, share, out);
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
