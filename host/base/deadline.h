/* deadline.h : a deadline that a waiter's own absence does not use up: a process that was stopped (SIGSTOP, a paused virtual
 * machine, a debugger) finds as much time left as when it was stopped. Whoever waits asks at least every DEADLINE_GAP_S. */
#pragma once
#include <stdbool.h>

#define DEADLINE_GAP_S 1.0 /* between two looks: longer, and the waiter itself was away */

struct deadline {
    double at, seen; /* by clock_s(): when it passes; the last look */
};

static inline struct deadline deadline_in(double now, double seconds)
{
    return (struct deadline){.at = now + seconds, .seen = now};
}

/* Looks at the clock. Returns how long the waiter was away, 0 if it was not; a deadline moves by as much. */
static inline double deadline_look(struct deadline *d, double now)
{
    const double gap = now - d->seen;
    const double away = gap > DEADLINE_GAP_S ? gap : 0;
    d->at += away;
    d->seen = now;
    return away;
}

static inline bool deadline_passed(struct deadline *d, double now)
{
    deadline_look(d, now);
    return now >= d->at;
}
