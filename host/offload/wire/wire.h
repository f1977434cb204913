/* wire.h : Carries frames between this rank and one card as datagrams, which may be lost,
 * repeated and reordered. */
#ifndef WIRE_H
#define WIRE_H
#include <stddef.h>
#include <stdint.h>

struct wire_ops {
    /* Queues bytes[n] for sending. The caller may reuse them on return. They leave on flush()
     * at the latest. Never blocks or prints. Returns 0, -EAGAIN (no room at the moment),
     * -EMSGSIZE (a queued datagram is longer than most() and is lost) or another negative
     * errno (the wire is broken). flush() returns the same values; datagrams that it could
     * not send leave with the next flush(). */
    int (*send)(void *wire, const uint8_t *bytes, size_t n);
    int (*flush)(void *wire);

    /* Returns 1 and the next datagram, which is valid until the next call. Returns 0 if no
     * datagram has come, or a negative errno if the wire is broken. Never blocks or prints. */
    int (*receive)(void *wire, const uint8_t **bytes, size_t *n);

    /* Returns the length in bytes of the longest datagram that reaches the card
     * unfragmented, as far as this host knows now. */
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
    /* NULL or "socket" selects UDP sockets of the system. Any other name is a
     * libfabric provider: udp, verbs or efa. */
    const char *provider;
    /* IPv4 address or interface to bind to. If NULL, the address from which the card is reached. */
    const char *local;
    /* The card's address for frames: 127.0.0.1 is 0x7f000001. */
    uint32_t card_ip;
    uint16_t card_port;
    /* Bytes of the longest frame that the card accepts. The path may carry less: see most(). */
    size_t frame_bytes;
};

/* Opens a wire that is bound to one address of this host. Returns 0, or a negative errno with
 * the reason in why: -ENOENT, -ELIBACC or -ELIBBAD (the library for libfabric is missing, does
 * not load, or belongs to another build), -EINVAL (o->local is not an address or interface of
 * this host), or -ENODATA (there is no such provider, or it has no such datagrams). */
int wire_open(const struct wire_options *o, struct wire *out, char why[WIRE_WHY_BYTES]);

/* Opens a multicast receiver for datagrams that the card sends to group:port. It joins the group
 * at the interface of o->local and cannot send. It is a socket for all providers. Returns 0, or
 * a negative errno with the reason in why. */
int wire_join(const struct wire_options *o, uint32_t group, uint16_t port, struct wire *out,
              char why[WIRE_WHY_BYTES]);

/* Returns 0 if this provider exists, else a negative errno with the
 * reason in why. NULL is legal. */
int wire_check(const char *provider, char why[WIRE_WHY_BYTES]);

/* ---- wires of libnarrowcast_fabric.so ---- */

/* The library is loaded by the first call that needs it. It is searched for at
 * NARROWCAST_FABRIC=PATH, then in the program's folder, then in the loader's path. */

/* Implement wire_open() and wire_check() for a provider of libfabric. */
int wire_plugin_open(const struct wire_options *o, struct wire *out, char why[WIRE_WHY_BYTES]);
int wire_plugin_check(const char *provider, char why[WIRE_WHY_BYTES]);

/* Writes the path of the library into text[n], or "none: " and the reason why it is missing.
 * Does not load a library that is in the program's folder. */
void wire_plugin_about(char *text, size_t n);

#endif
