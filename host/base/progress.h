/* progress.h : one line about work in progress: rewritten in place on a terminal, mpirun's included, now
 * and then a new line elsewhere. */
#ifndef PROGRESS_H
#define PROGRESS_H
#include <stdbool.h>

struct progress {
    bool on;
    int terminal; /* a descriptor of it; -1: there is none */
    bool shown;
    double next_s; /* clock_s() before which nothing is printed */
};

/* on: false makes a progress that prints nothing (ranks other than 0). progress_close() when it ends. */
void progress_init(struct progress *p, bool on);
void progress_close(struct progress *p); /* legal when zeroed */

/* Is it time for another line? Ask before working one out. */
bool progress_due(const struct progress *p);
void progress_say(struct progress *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Seconds as "45 s", "3 min 20 s" or "2 h 05 min". */
enum { PROGRESS_TIME = 32 };
const char *progress_time(double seconds, char text[PROGRESS_TIME]);

/* Clears the line on a terminal, so that other output can begin at its start. */
void progress_clear(struct progress *p);

#endif
