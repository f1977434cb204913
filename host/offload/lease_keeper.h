/* lease_keeper.h : a thread that keeps a lease alive while its owner does something else: it says
 * KEEP a few times in the silence that would end it. A process that is stopped for longer than that
 * has lost its lease; nobody else has. */
#ifndef LEASE_KEEPER_H
#define LEASE_KEEPER_H
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

struct lease_keeper;

/* Of a lease that is open; silence_s: what ends it. Returns 0 or a negative errno, silent. */
int lease_keeper_start(const struct sockaddr_in *card, uint64_t secret, double silence_s,
                       struct lease_keeper **keeper);
void lease_keeper_stop(struct lease_keeper *k); /* waits for the thread; NULL is legal */

/* Has the card said that the lease is over, or said nothing for so long that it is? Never blocks. */
bool lease_keeper_lost(const struct lease_keeper *k);

#endif
