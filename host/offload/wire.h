/* wire.h : a path for frames between this rank and one card: datagrams, which may be lost, doubled and overtaken. */
#ifndef WIRE_H
#define WIRE_H
#include <stddef.h>
#include <stdint.h>

struct wire_ops {
    /* Sends bytes [n], the caller's again when it returns. Never blocks. 0; -EAGAIN: no room at the moment; another negative errno:
     * the wire is broken. Silent. */
    int (*send)(void *wire, const uint8_t *bytes, size_t n);

    /* The next datagram that has come: bytes [n] are the wire's until the next call. Never blocks. 1; 0: there is none; a negative
     * errno: the wire is broken. Silent. */
    int (*receive)(void *wire, const uint8_t **bytes, size_t *n);

    /* Where the card's answers are to be sent. */
    void (*address)(const void *wire, uint32_t *ip, uint16_t *port);
    void (*close)(void *wire);
};

struct wire {
    const struct wire_ops *ops;
    void *own;
};

#endif
