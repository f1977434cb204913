/* wire.h : a path for frames between this rank and one card: datagrams, which may be lost, doubled
 * and overtaken. */
#ifndef WIRE_H
#define WIRE_H
#include <stddef.h>
#include <stdint.h>

struct wire_ops {
    /* Sends bytes [n], the caller's again when it returns, at flush at the latest. Never blocks. 0;
     * -EAGAIN: no room at the moment; -EMSGSIZE: longer than most() says by now, lost; another
     * negative errno: the wire is broken. Silent. flush as send; what it leaves goes with the next
     * one. */
    int (*send)(void *wire, const uint8_t *bytes, size_t n);
    int (*flush)(void *wire);

    /* The next datagram that has come: bytes [n] are the wire's until the next call. Never blocks.
     * 1; 0: there is none; a negative errno: the wire is broken. Silent. */
    int (*receive)(void *wire, const uint8_t **bytes, size_t *n);

    /* Bytes of the longest datagram that goes to the card in one piece, as far as this host knows
     * now. */
    size_t (*most)(const void *wire);

    /* Where the card's answers are to be sent. */
    void (*address)(const void *wire, uint32_t *ip, uint16_t *port);
    void (*close)(void *wire);
};

struct wire {
    const struct wire_ops *ops;
    void *own;
};

enum { WIRE_WHY_BYTES = 448 };

struct wire_options {
    /* NULL or "socket": UDP sockets of the system; else a provider of libfabric: udp, verbs, efa */
    const char *provider;
    /* IPv4 address or interface to bind to; NULL: that by which the card is reached */
    const char *local;
    uint32_t card_ip; /* of the card's frames: 127.0.0.1 is 0x7f000001 */
    uint16_t card_port;
    /* of the longest frame that the card takes; the way may take less: most() */
    size_t frame_bytes;
};

/* Binds to an address of this host, never to all of them. Returns 0, or a negative errno with why:
 * -ENOENT, -ELIBACC, -ELIBBAD: the provider is one of libfabric, whose library is not there, does not
 * load, or is of another build; -EINVAL: local is no address or interface of this host; -ENODATA: no
 * such provider, or not for such datagrams. */
int wire_open(const struct wire_options *o, struct wire *out, char why[WIRE_WHY_BYTES]);

/* An ear: datagrams that the card sends to a group, which this host joins at the interface of `local`; port: the group's. It cannot
 * send. A group is heard by sockets alone, whatever the provider. Returns 0, or a negative errno with why. */
int wire_join(const struct wire_options *o, uint32_t group, uint16_t port, struct wire *out,
              char why[WIRE_WHY_BYTES]);

/* Is there such a provider? 0, or a negative errno with why. NULL is legal. */
int wire_check(const char *provider, char why[WIRE_WHY_BYTES]);

/* ---- the wires of libnarrowcast_fabric.so, which is loaded at the first call for one: it
 * is looked for where NARROWCAST_FABRIC=PATH says, else beside the program, else by the loader's path ---- */

/* wire_open() and wire_check() for a provider of libfabric. */
int wire_plugin_open(const struct wire_options *o, struct wire *out, char why[WIRE_WHY_BYTES]);
int wire_plugin_check(const char *provider, char why[WIRE_WHY_BYTES]);

/* Where the library is, or "none: " and why; not loaded where it lies beside the program. text [n]. */
void wire_plugin_about(char *text, size_t n);

#endif
