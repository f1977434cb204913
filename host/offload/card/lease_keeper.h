/* lease_keeper.h : a thread that keeps a lease alive while its owner does something else: it says
 * KEEP a few times in the silence that would end it. A process that is stopped for longer than that
 * has lost its lease; nobody else has.
 *
 * That a lease is over is the card's word alone. A card that says nothing may keep it: KEEPs arrive
 * and answers are late or lost. How long a card may be silent is for those to judge who wait for
 * sums (window_time.c). */
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

/* Has the card said that the lease is over? Never blocks. */
bool lease_keeper_lost(const struct lease_keeper *k);

#endif
