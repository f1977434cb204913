/* sim_counters.h : prints all counters of a running simulated card. */
#ifndef SIM_COUNTERS_H
#define SIM_COUNTERS_H
#include <stdbool.h>

/* Reads and prints the counters. where: "HOST:PORT" (TCP) or "eth://HOST:PORT" (datagrams). Over
 * TCP this includes counters of the process around the card, with datagrams those of its leases.
 * The card's own counters are all read at one clock, the others later. json: print one line of JSON
 * instead of a table. */
int sim_counters(const char *where, bool json);

#endif
