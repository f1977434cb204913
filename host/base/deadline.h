/* deadline.h : a deadline that pauses while the waiting process itself is stopped.
 *
 * A process that is resumed after SIGSTOP, a paused virtual machine or a debugger has as much time
 * left as before. Waiting code must check at least every DEADLINE_GAP_S. */
#ifndef DEADLINE_H
#define DEADLINE_H
#include <stdbool.h>

#define DEADLINE_GAP_S 1.0 /* if two checks are further apart, the process was stopped */

struct deadline {
    double at, seen; /* expiry and last check, by clock_s() */
};

/* Start a deadline `seconds` after now. now is clock_s(), here and below. */
static inline struct deadline deadline_in(double now, double seconds)
{
    return (struct deadline){.at = now + seconds, .seen = now};
}

/* Return true if the deadline has passed. First extends the deadline by the time in which the
 * process was stopped. */
static inline bool deadline_passed(struct deadline *d, double now)
{
    const double gap = now - d->seen;
    d->at += gap > DEADLINE_GAP_S ? gap : 0;
    d->seen = now;
    return now >= d->at;
}

#endif
