/* ration.h : a share of a loop's time for work that anybody may ask for, so that the rest of the loop's
 * work goes on at its pace.
 *
 *     if (!ration_rests(&r, now))
 *         ration_begin(&r, now), until ration_is_spent(): one piece of work, ration_end(&r, now)
 *
 * Work ends with the piece that spends the slice, and then rests for RATION_REST times as long as it took:
 * it takes a third of the time at most if no piece takes longer than RATION_LONGEST_S. Times are of
 * clock_s(). */
#ifndef RATION_H
#define RATION_H
#include <stdbool.h>

#define RATION_SLICE_S 200e-6
#define RATION_REST    2
/* More is not counted of one piece: the process was stopped meanwhile, or the machine was. */
#define RATION_LONGEST_S 1.0

struct ration {
    double began, rest_until; /* rest_until 0: it does not rest */
};

/* A rest that is over is forgotten. */
static inline bool ration_rests(struct ration *r, double now)
{
    if (now >= r->rest_until)
        r->rest_until = 0;
    return r->rest_until > 0;
}

static inline void ration_begin(struct ration *r, double now)
{
    r->began = now;
}

static inline bool ration_is_spent(const struct ration *r, double now)
{
    return now - r->began >= RATION_SLICE_S;
}

/* Return the time from one moment to another as far as it counts. */
static inline double ration_took(double from, double to)
{
    return to - from < RATION_LONGEST_S ? to - from : RATION_LONGEST_S;
}

static inline void ration_end(struct ration *r, double now)
{
    r->rest_until = now + RATION_REST * ration_took(r->began, now);
}

#endif
