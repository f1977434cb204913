/* progress.h : one line about work in progress: rewritten in place on a terminal, now and then a
 * new line elsewhere. */
#ifndef PROGRESS_H
#define PROGRESS_H
#include <stdbool.h>
#include <stdio.h>

struct progress {
    FILE *to;
    bool terminal, shown;
    double next_s; /* clock_s() before which nothing is printed */
};

/* on: false makes a progress that prints nothing (ranks other than 0). */
void progress_init(struct progress *p, bool on);

/* Is it time for another line? Ask before working one out. */
bool progress_due(const struct progress *p);
void progress_say(struct progress *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Clears the line on a terminal, so that other output can begin at its start. */
void progress_clear(struct progress *p);

#endif
