/* lease_link.h : sends requests of hls/card/lease.def to a card over UDP, repeating each until it
 * is answered. No function prints. */
#ifndef LEASE_LINK_H
#define LEASE_LINK_H
#include "hls/card/lease.h"
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

struct lease_link {
    int fd;            /* connected, nonblocking; owned */
    uint64_t secret;   /* of the lease */
    uint32_t sequence; /* of the last request with one */
};

/* Opens a socket connected to the card and draws a random secret; sends nothing. Returns 0 or a
 * negative errno. */
int lease_link_open(struct lease_link *l, const struct sockaddr_in *to);
void lease_link_close(struct lease_link *l); /* sends nothing; legal if fd is -1 */

/* Fills in version, secret and sequence (only for OPEN and DO) of *m and sends it repeatedly until
 * *answer comes or clock_s() is `until`. Returns 0 after an answer, whatever its status, or -EPROTO
 * if the card has another version (answer->version). Else -ETIMEDOUT or an errno of the socket such
 * as -ECONNREFUSED, which does not end the wait, because it can be forged. */
int lease_link_ask(struct lease_link *l, struct lease_message *m, struct lease_message *answer,
                   double until);

/* A thread that keeps a lease alive while its owner is busy. It sends several KEEPs in every
 * silence_s, the silence that would end the lease. A process stopped for longer loses the lease.
 *
 * A lease is lost only if the card says so: a silent card may still have it. The code that waits
 * for sums limits the silence (window_time.c). */

struct lease_keeper;

/* silence_s: the silence that ends the lease. Returns 0 or a negative errno. */
int lease_keeper_start(const struct sockaddr_in *card, uint64_t secret, double silence_s,
                       struct lease_keeper **keeper);
void lease_keeper_stop(struct lease_keeper *k); /* waits for the thread; NULL is legal */

/* True if the card has ended the lease. Never blocks. */
bool lease_keeper_lost(const struct lease_keeper *k);

#endif
