/* wire.h : Carries frames between this rank and one card as datagrams, which may be lost,
 * repeated and reordered. */
#ifndef WIRE_H
#define WIRE_H
#include <stddef.h>
#include <stdint.h>

struct wire_ops {
    /* Queues bytes[n] for sending. The caller may reuse them on return; they leave on flush() at
     * the latest. Never blocks, prints nothing. Returns 0, -EAGAIN (no room at the moment),
     * -EMSGSIZE (longer than most() by now: lost) or another negative errno (the wire is broken).
     * flush() returns the same; what it could not send leaves with the next one. */
    int (*send)(void *wire, const uint8_t *bytes, size_t n);
    int (*flush)(void *wire);

    /* Returns 1 and the next datagram, valid until the next call; 0 if there is none; a negative
     * errno if the wire is broken. Never blocks, prints nothing. */
    int (*receive)(void *wire, const uint8_t **bytes, size_t *n);

    /* Returns the bytes of the longest datagram that reaches the card unfragmented, as far as
     * this host knows now. */
    size_t (*most)(const void *wire);

    /* Returns the address to which the card must send its answers. */
    void (*address)(const void *wire, uint32_t *ip, uint16_t *port);
    void (*close)(void *wire);
};

struct wire {
    const struct wire_ops *ops;
    void *own;
};

enum { WIRE_WHY_BYTES = 448 };

struct wire_options {
    /* NULL or "socket": UDP sockets of the system. Otherwise a provider of libfabric:
     * udp, verbs, efa. */
    const char *provider;
    /* IPv4 address or interface to bind to. NULL: the address by which the card is reached. */
    const char *local;
    /* The card's address for frames: 127.0.0.1 is 0x7f000001. */
    uint32_t card_ip;
    uint16_t card_port;
    /* Bytes of the longest frame that the card takes. The path may take less: most(). */
    size_t frame_bytes;
};

/* Opens a wire, bound to one address of this host. Returns 0, or a negative errno with why:
 * -ENOENT, -ELIBACC, -ELIBBAD (libfabric's library is missing, does not load, or is of another
 * build), -EINVAL (o->local is no address or interface of this host), -ENODATA (no such provider,
 * or none for such datagrams). */
int wire_open(const struct wire_options *o, struct wire *out, char why[WIRE_WHY_BYTES]);

/* Opens a multicast receiver for what the card sends to group:port, joined at the interface
 * of o->local. It cannot send, and is a socket whatever the provider. Returns 0, or a
 * negative errno with why. */
int wire_join(const struct wire_options *o, uint32_t group, uint16_t port, struct wire *out,
              char why[WIRE_WHY_BYTES]);

/* Returns 0 if this provider exists, else a negative errno with why. NULL is legal. */
int wire_check(const char *provider, char why[WIRE_WHY_BYTES]);

/* ---- wires of libnarrowcast_fabric.so ---- */

/* The library is loaded at the first call that needs it. It is searched at NARROWCAST_FABRIC=PATH,
 * else beside the program, else in the loader's path. */

/* wire_open() and wire_check() for a provider of libfabric. */
int wire_plugin_open(const struct wire_options *o, struct wire *out, char why[WIRE_WHY_BYTES]);
int wire_plugin_check(const char *provider, char why[WIRE_WHY_BYTES]);

/* Writes where the library is, or "none: " and why, into text[n]. Does not load a library that is
 * beside the program. */
void wire_plugin_about(char *text, size_t n);

#endif
