/* sim_counters.h : asks a simulated card that runs for all it has counted, and prints it. */
#ifndef SIM_COUNTERS_H
#define SIM_COUNTERS_H
#include <stdbool.h>

/* where: "HOST:PORT", over TCP, or "eth://HOST:PORT", by datagrams: then without what the process around
 * the card counts, and frames may come between two counters. json: one JSON object a line, else a table. Returns 0 or a negative errno
 * with a line. */
int sim_counters(const char *where, bool json);

#endif
