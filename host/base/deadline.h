/* deadline.h : declares a deadline that pauses while the waiting process itself is stopped, by
 * SIGSTOP, with its virtual machine or in a debugger.
 *
 * Waiting code must check at least every DEADLINE_GAP_S. */
#ifndef DEADLINE_H
#define DEADLINE_H
#include <stdbool.h>

#define DEADLINE_GAP_S 1.0 /* a longer time between checks: the process was stopped */

struct deadline {
    double at, seen; /* expiry and last check, by clock_s() */
};

/* now: clock_s(), here and below */
static inline struct deadline deadline_in(double now, double seconds)
{
    return (struct deadline){.at = now + seconds, .seen = now};
}

/* Extends the deadline by the time in which the process was stopped, then tests it. */
static inline bool deadline_passed(struct deadline *d, double now)
{
    const double gap = now - d->seen;
    d->at += gap > DEADLINE_GAP_S ? gap : 0;
    d->seen = now;
    return now >= d->at;
}

#endif
