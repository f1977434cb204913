/* sim_counters.h : prints all counters of a running simulated card. */
#ifndef SIM_COUNTERS_H
#define SIM_COUNTERS_H
#include <stdbool.h>

/* Reads and prints the counters. where: "HOST:PORT" over TCP, or "eth://HOST:PORT" by datagrams:
 * then without counters of the process around the card, and frames may arrive between two readings.
 * json: one JSON object in one line, else a table. Returns 0, or reports and returns -errno. */
int sim_counters(const char *where, bool json);

#endif
