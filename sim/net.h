/* net.h : where a card's frames come from and go to: UDP datagrams of a socket (datagrams.c), or of
 * a TAP interface (tap.c); or Ethernet frames of one. */
#ifndef NET_H
#define NET_H
#include "base/text.h"
#include <stddef.h>
#include <stdint.h>

enum {
    NET_FRAME_BYTES = 2176 /* what is longer is cut, which is still longer than any card takes */
};

/* A frame that came; bytes [n], n > 0, are the net's until the call returns. */
typedef void net_take(void *arg, uint32_t ip, uint16_t port, const uint8_t *bytes, size_t n);

struct net_ops {
    /* Some of what has come: take sees all that are frames. Returns how many datagrams that were;
     * 0: there are no more. Does not block. */
    int (*receive)(void *net, net_take *take, void *arg);
    /* Sends a frame sometime; flush: now, as far as it goes without blocking. flush returns 1 when
     * some is left. */
    void (*send)(void *net, uint32_t ip, uint16_t port, const uint8_t *bytes, size_t n);
    int (*flush)(void *net);
    /* Adds counts as lines of text, "name value". */
    void (*report)(const void *net, struct text *to);
    int (*fd)(const void *net); /* to poll */
    void (*close)(void *net);
};

/* UDP on this address; *port 0: any, and it says which. tcp: a socket that then listens on the same
 * port, or NULL: none does. Return 0 or a negative errno with a line. */
int datagrams_open(uint32_t ip, uint16_t *port, int *tcp, void **net);
extern const struct net_ops net_datagrams;

/* A TAP interface of this name, made and brought up, on which the card has these addresses. Needs
 * CAP_NET_ADMIN. Returns 0 or a negative errno with a line. */
int tap_open(const char *name, const uint8_t mac[6], uint32_t ip, uint16_t port, void **net);
extern const struct net_ops net_tap;

/* The same for a card that is an Ethernet's own: frames as they are, with ip and port 0. */
int tap_open_raw(const char *name, void **net);
extern const struct net_ops net_tap_raw;

#endif
