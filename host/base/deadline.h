/* deadline.h : a deadline that a waiter's own absence does not use up: a process that was stopped
 * (SIGSTOP, a paused virtual machine, a debugger) finds as much time left as when it was stopped.
 * Whoever waits asks at least every DEADLINE_GAP_S. */
#ifndef DEADLINE_H
#define DEADLINE_H
#include <stdbool.h>

#define DEADLINE_GAP_S 1.0 /* between two looks: longer, and the waiter itself was away */

struct deadline {
    double at, seen; /* by clock_s(): when it passes; the last look */
};

/* Of so many seconds from now; now is clock_s(), here and below. */
static inline struct deadline deadline_in(double now, double seconds)
{
    return (struct deadline){.at = now + seconds, .seen = now};
}

/* A look at the clock: has it passed? First it moves by as long as the waiter was away. */
static inline bool deadline_passed(struct deadline *d, double now)
{
    const double gap = now - d->seen;
    d->at += gap > DEADLINE_GAP_S ? gap : 0;
    d->seen = now;
    return now >= d->at;
}

#endif
