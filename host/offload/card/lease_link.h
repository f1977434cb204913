/* lease_link.h : Sends requests of hls/card/lease.def to a card over UDP, again until
 * each is answered. */
#ifndef LEASE_LINK_H
#define LEASE_LINK_H
#include "hls/card/lease.h"
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

struct lease_link {
    int fd;            /* connected, not blocking; owned */
    uint64_t secret;   /* of the lease */
    uint32_t sequence; /* of the last request with a sequence */
};

/* Opens a socket to that card and draws a random secret. Sends nothing. Returns 0 or a negative
 * errno. Prints nothing, like all of these. */
int lease_link_open(struct lease_link *l, const struct sockaddr_in *to);
void lease_link_close(struct lease_link *l); /* sends nothing; legal when zeroed with fd -1 */

/* Fills in version, secret and (OPEN, DO) sequence of *m and sends it until it is answered by
 * *answer. until: a time of clock_s(). Returns 0, whatever the answer's status, or -EPROTO if the
 * card speaks another version: answer->version. Without an answer until then it returns -ETIMEDOUT
 * or an errno of the socket such as -ECONNREFUSED (nothing listens there). Such an errno does not
 * end the wait: it can be forged. */
int lease_link_ask(struct lease_link *l, struct lease_message *m, struct lease_message *answer,
                   double until);

/* ---- a thread that keeps a lease alive while its owner is busy ---- */

/* It sends KEEP several times within the silence that would end the lease. A process stopped for
 * longer loses it.
 *
 * Only the card's answer says that a lease is over. A silent card may keep it: KEEPs arrive,
 * answers are late or lost. The code that waits for sums limits the silence (window_time.c). */

struct lease_keeper;

/* silence_s: the silence that ends the lease. Returns 0 or a negative errno; prints nothing. */
int lease_keeper_start(const struct sockaddr_in *card, uint64_t secret, double silence_s,
                       struct lease_keeper **keeper);
void lease_keeper_stop(struct lease_keeper *k); /* waits for the thread; NULL is legal */

/* True if the card has said that the lease is over. Never blocks. */
bool lease_keeper_lost(const struct lease_keeper *k);

#endif
