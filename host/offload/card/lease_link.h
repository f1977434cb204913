/* lease_link.h : Sends requests of hls/card/lease.def to a card over UDP, and repeats each
 * until it is answered. No function prints. */
#ifndef LEASE_LINK_H
#define LEASE_LINK_H
#include "hls/card/lease.h"
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

struct lease_link {
    int fd;            /* connected, not blocking; owned */
    uint64_t secret;   /* of the lease */
    uint32_t sequence; /* of the last request that had one */
};

/* Opens a socket connected to the card at `to` and draws a random secret. Sends
 * nothing. Returns 0 or a negative errno. */
int lease_link_open(struct lease_link *l, const struct sockaddr_in *to);
void lease_link_close(struct lease_link *l); /* sends nothing; legal when zeroed with fd -1 */

/* Fills in version, secret and sequence (only for OPEN and DO) of *m. Sends it repeatedly until
 * the answer *answer comes or the time of clock_s() is `until`. Returns 0 after an answer,
 * whatever its status, or -EPROTO if the card has another version (answer->version). Without an
 * answer it returns -ETIMEDOUT or an errno of the socket such as -ECONNREFUSED (no process
 * listens there). Such an errno does not end the wait, because it can be forged. */
int lease_link_ask(struct lease_link *l, struct lease_message *m, struct lease_message *answer,
                   double until);

/* ---- a thread that keeps a lease alive while its owner is busy ---- */

/* The thread sends KEEP several times within the silence that would end the lease. A process that
 * is stopped for longer loses the lease.
 *
 * A lease counts as lost only if the card says so. If the card is silent, it may still have the
 * lease: the KEEPs may have arrived, and the answers may be late or lost. The code that waits
 * for sums limits the card's silence (window_time.c). */

struct lease_keeper;

/* Starts the thread. silence_s: the silence that ends the lease. Returns 0 or a negative errno. */
int lease_keeper_start(const struct sockaddr_in *card, uint64_t secret, double silence_s,
                       struct lease_keeper **keeper);
void lease_keeper_stop(struct lease_keeper *k); /* waits for the thread; NULL is legal */

/* True if the card has said that the lease is over. Never blocks. */
bool lease_keeper_lost(const struct lease_keeper *k);

#endif
