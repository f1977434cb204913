/* ration.h : limits work on request to a share of a loop's time, so that the loop keeps its pace.
 *
 *     if (!ration_rests(&r, now))
 *         ration_begin(&r, now), until ration_is_spent(): one piece of work, ration_end(&r, now)
 *
 * Work ends with the piece that uses up the slice, then rests RATION_REST times as long as it took.
 * It uses at most a third of the time, unless a piece takes longer than RATION_LONGEST_S. Times are
 * clock_s() seconds. */
#ifndef RATION_H
#define RATION_H
#include <stdbool.h>

#define RATION_SLICE_S 200e-6
#define RATION_REST    2
/* longest counted time of a piece; beyond it, the process or the machine was stopped */
#define RATION_LONGEST_S 1.0

struct ration {
    double began, rest_until; /* rest_until is 0 while not resting */
};

/* Return true while the work rests. After the rest, set rest_until to 0. */
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

static inline double ration_took(double from, double to)
{
    return to - from < RATION_LONGEST_S ? to - from : RATION_LONGEST_S;
}

static inline void ration_end(struct ration *r, double now)
{
    r->rest_until = now + RATION_REST * ration_took(r->began, now);
}

#endif
