/* wire.h : carries frames between this rank and one card as datagrams, which may be lost, repeated
 * and reordered. */
#ifndef WIRE_H
#define WIRE_H
#include <stddef.h>
#include <stdint.h>

struct wire_ops {
    /* Queues bytes[n], which the caller may reuse on return. They leave on flush() at the latest.
     * Never blocks or prints. Returns 0, -EAGAIN (no room now), -EMSGSIZE (longer than most():
     * this datagram, which was not queued, or queued ones, which are lost) or another negative
     * errno (the wire is broken). flush() returns the same; datagrams that it could not send leave
     * with the next flush(). */
    int (*send)(void *wire, const uint8_t *bytes, size_t n);
    int (*flush)(void *wire);

    /* Returns 1 and the next datagram, valid until the next call; 0 if there is none; or a negative
     * errno if the wire is broken. Never blocks or prints. */
    int (*receive)(void *wire, const uint8_t **bytes, size_t *n);

    /* Returns the bytes of the longest datagram now known to reach the card unfragmented. */
    size_t (*most)(const void *wire);

    void (*close)(void *wire);
};

struct wire {
    const struct wire_ops *ops;
    void *own;
    uint32_t ip; /* address for the card's answers */
    uint16_t port;
};

enum { WIRE_WHY_BYTES = 448 };

struct wire_options {
    /* NULL or "socket": the system's UDP sockets. "xdp": AF_XDP. Else a libfabric provider: udp,
     * verbs or efa. */
    const char *provider;
    /* IPv4 address or interface to bind to. NULL: the address from which the card is reached. */
    const char *local;
    /* the card's address for frames: 127.0.0.1 is 0x7f000001 */
    uint32_t card_ip;
    uint16_t card_port;
    /* longest frame that the card accepts; the path may carry less: most() */
    size_t frame_bytes;
};

/* Opens a wire bound to one address of this host. Returns 0, or a negative errno with the reason in
 * why (so do all functions with `why`): -ENOENT, -ELIBACC or -ELIBBAD (the provider's library
 * is missing, does not load, or belongs to another build), -EINVAL (o->local is no address or
 * interface here), or -ENODATA (the provider is missing or cannot carry plain UDP; xdp: not
 * through this interface). xdp blocks until the next hop's address is known, up to 0.5 s. */
int wire_open(const struct wire_options *o, struct wire *out, char why[WIRE_WHY_BYTES]);

/* Returns 0 if the provider exists. NULL is legal. */
int wire_check(const char *provider, char why[WIRE_WHY_BYTES]);

/* libnarrowcast_fabric.so and libnarrowcast_xdp.so: the first call that needs one loads it from
 * NARROWCAST_FABRIC=PATH or NARROWCAST_XDP=PATH, the program's folder, or the loader's path. */

/* Describes the provider's library in text[n]: "by PATH" or "none: REASON". Loads the library to
 * check it, unless it lies in the program's folder. */
void wire_plugin_about(const char *provider, char *text, size_t n);

#endif
