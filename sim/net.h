/* net.h : Moves a card's frames: UDP datagrams of a socket (datagrams.c) or TAP interface (tap.c),
 * or raw Ethernet frames. */
#ifndef NET_H
#define NET_H
#include "base/text.h"
#include <stddef.h>
#include <stdint.h>

enum {
    NET_FRAME_BYTES = 2176 /* longer ones are cut; this is still longer than any card takes */
};

/* Takes an incoming frame bytes[n], n > 0, valid during the call. */
typedef void net_take(void *arg, uint32_t ip, uint16_t port, const uint8_t *bytes, size_t n);

struct net_ops {
    /* Passes some of the arrived frames to `take`. Returns the number of datagrams; 0: no
     * more. Does not block. */
    int (*receive)(void *net, net_take *take, void *arg);
    /* Queues a frame; sends queued frames without blocking. flush returns 1 if some are left. */
    void (*send)(void *net, uint32_t ip, uint16_t port, const uint8_t *bytes, size_t n);
    int (*flush)(void *net);
    /* Adds counts as lines "name value". */
    void (*report)(const void *net, struct text *to);
    int (*fd)(const void *net); /* to poll */
    void (*close)(void *net);
};

/* Opens UDP at this address; *port 0: any, returned in *port. tcp: also listen on the same port for
 * TCP; NULL: do not. Returns 0, or a negative errno after reporting. */
int datagrams_open(uint32_t ip, uint16_t *port, int *tcp, void **net);
extern const struct net_ops net_datagrams;

/* Creates a TAP interface where the card has these addresses. Needs CAP_NET_ADMIN. Returns 0, or a
 * negative errno after reporting. */
int tap_open(const char *name, const uint8_t mac[6], uint32_t ip, uint16_t port, void **net);
extern const struct net_ops net_tap;

/* Does the same for a card that handles Ethernet itself: raw frames, with ip and port 0. */
int tap_open_raw(const char *name, void **net);
extern const struct net_ops net_tap_raw;

#endif
