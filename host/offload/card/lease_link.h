/* lease_link.h : requests of hls/card/lease.def to a card, and their answers, over a UDP socket that
 * loses some: each is said until it is answered. */
#ifndef LEASE_LINK_H
#define LEASE_LINK_H
#include "hls/card/lease.h"
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

struct lease_link {
    int fd;            /* connected, not blocking; owned */
    uint64_t secret;   /* of the lease */
    uint32_t sequence; /* of the last request that was sequenced */
};

/* A socket to that card, with a secret at random; nothing is said. Returns 0 or a negative errno, silent
 * like all of these. */
int lease_link_open(struct lease_link *l, const struct sockaddr_in *to);
void lease_link_close(struct lease_link *l); /* says nothing; legal when zeroed with fd -1 */

/* Says *m, whose version, secret and (OPEN, DO) sequence are filled in, until it is answered:
 * *answer. until: a time of clock_s(). Returns 0, whatever the answer's status; -EPROTO if the card
 * speaks the version answer->version. Without an answer until then: -ETIMEDOUT, or an errno of the
 * socket such as -ECONNREFUSED (nothing listens there), which ends nothing earlier: it can be forged. */
int lease_link_ask(struct lease_link *l, struct lease_message *m, struct lease_message *answer,
                   double until);

/* ---- a thread that keeps a lease alive while its owner does something else: it says
 * KEEP a few times in the silence that would end it. A process that is stopped for longer than that
 * has lost its lease; nobody else has.
 * 
 * That a lease is over is the card's word alone. A card that says nothing may keep it: KEEPs arrive
 * and answers are late or lost. How long a card may be silent is for those to judge who wait for
 * sums (window_time.c) ---- */

struct lease_keeper;

/* Of a lease that is open; silence_s: what ends it. Returns 0 or a negative errno, silent. */
int lease_keeper_start(const struct sockaddr_in *card, uint64_t secret, double silence_s,
                       struct lease_keeper **keeper);
void lease_keeper_stop(struct lease_keeper *k); /* waits for the thread; NULL is legal */

/* Has the card said that the lease is over? Never blocks. */
bool lease_keeper_lost(const struct lease_keeper *k);

#endif
