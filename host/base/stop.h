/* stop.h : SIGINT, SIGTERM and SIGUSR1 as a wish to stop at the next good moment; a second one ends
 * the process at once.
 *
 * SIGUSR1 is the one that mpirun hands on to all ranks; of the others it makes an end of its own,
 * within seconds or less. */
#ifndef STOP_H
#define STOP_H
#include <stdbool.h>

enum { STOP_SIGNALS = 3 };
extern const struct stop_signal {
    int number;
    const char *name;
} stop_signals[STOP_SIGNALS];

/* From now on the first signal waits to be asked about. One that is ignored stays so: a shell does that for
 * what runs behind it. */
void stop_watch(void);

/* Has stop_signals[i] come? */
bool stop_asked(int i);

/* For a server: a descriptor to poll, readable when SIGINT or SIGTERM has come, which do nothing else
 * from now on. Returns it, or a negative errno with a line. */
int stop_fd(void);

#endif
