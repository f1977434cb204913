/* stop.h : turns SIGINT, SIGTERM and SIGUSR1 into a request to stop at the next good moment.
 *
 * A second signal ends the process at once. mpirun forwards SIGUSR1 to all ranks; on SIGINT and
 * SIGTERM it ends the job itself, within seconds. */
#ifndef STOP_H
#define STOP_H
#include <stdbool.h>

enum { STOP_SIGNALS = 3 };
extern const struct stop_signal {
    int number;
    const char *name;
} stop_signals[STOP_SIGNALS];

/* Catch these signals from now on, unless ignored, as in a shell's background jobs. */
void stop_watch(void);

/* Return whether stop_signals[i] has arrived. */
bool stop_asked(int i);

/* For servers: return a descriptor that becomes readable after SIGINT or SIGTERM, which have no
 * other effect from now on. Reports a negative errno. */
int stop_fd(void);

#endif
