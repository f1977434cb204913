/* progress.h : prints a progress line, rewritten in place on a terminal (also mpirun's), else
 * repeated now and then. */
#ifndef PROGRESS_H
#define PROGRESS_H
#include <stdbool.h>

struct progress {
    bool on;
    int terminal; /* its descriptor, or -1 */
    bool shown;
    double next_s; /* earliest clock_s() of the next line */
};

/* on false (ranks other than 0): print nothing */
void progress_init(struct progress *p, bool on);
void progress_close(struct progress *p); /* legal if zeroed */

/* Return true if a line is due. Call it before computing the line. */
bool progress_due(const struct progress *p);
void progress_say(struct progress *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Format seconds as "45 s", "3 min 20 s" or "2 h 05 min". */
enum { PROGRESS_TIME = 32 };
const char *progress_time(double seconds, char text[PROGRESS_TIME]);

/* Clear the line on a terminal, so that other output starts in column 0. */
void progress_clear(struct progress *p);

#endif
