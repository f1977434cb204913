/* net.h : moves a card's frames: UDP datagrams (datagrams.c), a TAP interface's datagrams or raw
 * Ethernet frames (tap.c). */
#ifndef NET_H
#define NET_H
#include "base/text.h"
#include <stddef.h>
#include <stdint.h>

enum {
    NET_FRAME_BYTES = 2176 /* more than a card accepts; longer frames are cut */
};

/* Accepts an incoming frame bytes[n], n > 0, valid during the call. */
typedef void net_take(void *arg, uint32_t ip, uint16_t port, const uint8_t *bytes, size_t n);

struct net_ops {
    /* Passes some arrived frames to `take` without blocking. Returns the number of datagrams, 0 for
     * no more. */
    int (*receive)(void *net, net_take *take, void *arg);
    /* send() queues a frame. flush() sends without blocking and returns 1 if frames are left. */
    void (*send)(void *net, uint32_t ip, uint16_t port, const uint8_t *bytes, size_t n);
    int (*flush)(void *net);
    /* Adds the network's counts as lines "name value". */
    void (*report)(const void *net, struct text *to);
    int (*fd)(const void *net); /* to poll */
    void (*close)(void *net);
};

/* Opens UDP at this address. *port 0: chooses a port and returns it. tcp: also listens for TCP on
 * that port; NULL: not. Returns 0, or a negative errno after reporting. */
int datagrams_open(uint32_t ip, uint16_t *port, int *tcp, void **net);
extern const struct net_ops net_datagrams;

/* Creates a TAP interface where the card has these addresses. Needs CAP_NET_ADMIN. Returns 0, or a
 * negative errno after reporting. */
int tap_open(const char *name, const uint8_t mac[6], uint32_t ip, uint16_t port, void **net);
extern const struct net_ops net_tap;

/* The same for a card that handles Ethernet itself: raw frames, with ip and port 0. */
int tap_open_raw(const char *name, void **net);
extern const struct net_ops net_tap_raw;

#endif
