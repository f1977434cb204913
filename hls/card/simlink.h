/* simlink.h : control of a card that a process owns, over a stream socket; narrowcast-sim is the
 * card's end. A message is a header of 40 bytes, then `bytes` more (the body).
 *
 *     kind       to the card                          answer: DONE unless another is given
 *     HELLO                                           a: SIMLINK_VERSION, once, before all else;
 *                                                     status SIMLINK_FULL: too many connections,
 *                                                     this socket is closed
 *     WRITE      a: register's offset  b: value       status 1: no such register, or not yours
 *     READ       a: register's offset                 b: value
 *     BATCH      body: operations of 8 bytes: u32     a: operations done, before the first that
 *                offset, bit 31: read (else write);   was refused (then status 1); body: a u32
 *                u32 value. No operation of another   each: value read, or 0
 *                connection comes in between
 *     ADDRESS                                         a: IPv4  b: port that frames are sent to;
 *                                                     0: none
 *     TIME                                            a: clocks in which the card was busy
 *                                                     b: beats in  c: beats out, all since it
 *                                                     was started
 *     WIRE                                            body: text, counts made outside the card, one
 *                                                     per line, as "datagrams_in 4711"
 *     FRAME      a: source IPv4  b: port              none; it waits for RUN
 *                c: idle clocks after it
 *     RUN        a: most clocks                       FRAMEs as they leave (a, b: target), then
 *                                                     DONE, status 0: all is quiet, 1: too many
 *                                                     clocks; a: clocks from the first to the
 *                                                     last beat that moved (0: no clock in this
 *                                                     model)  b: beats in  c: beats out
 *     BUS_WRITE  a: address on the card's control bus status 1: no device at this address
 *                b: value                             (hls/card/kernels.def: kernels' registers)
 *     BUS_READ   a: address                           b: value; status as above
 *     MEM_WRITE  a: address in card memory; body      status 1: not all of it is memory
 *     MEM_READ   a: address  b: bytes, at most        body; status as above, then no body
 *                SIMLINK_MOST
 *     QUIT                                            the socket is closed
 *
 * The card answers nothing while FRAMEs are sent, and the program sends nothing while RUN runs, so
 * neither side ever waits for the other's buffer.
 *
 * Several connections may control one card that listens on a network. A job belongs to the
 * connection that committed it (rules: hls/card/sharing.def) and is stopped when that connection
 * ends. A connection without a job is closed after 10 s without a request.
 *
 * Only the program that started a card may use BUS_ and MEM_, the accesses over PCIe, and, if the
 * card does not listen, FRAME and RUN. */
#ifndef SIMLINK_H
#define SIMLINK_H
#include <stdint.h>

/* MOST: the most `bytes`; BATCH_MOST: operations of a BATCH, during
 * which no other connection is served */
enum {
    SIMLINK_VERSION = 3,
    SIMLINK_FULL = 1,
    SIMLINK_BYTES = 40,
    SIMLINK_MOST = 1 << 16,
    SIMLINK_BATCH_MOST = 512
};
enum simlink_kind {
    SIMLINK_HELLO = 1,
    SIMLINK_WRITE,
    SIMLINK_READ,
    SIMLINK_FRAME,
    SIMLINK_RUN,
    SIMLINK_QUIT,
    SIMLINK_DONE,
    SIMLINK_BATCH,
    SIMLINK_ADDRESS,
    SIMLINK_TIME,
    SIMLINK_WIRE,
    SIMLINK_BUS_WRITE,
    SIMLINK_BUS_READ,
    SIMLINK_MEM_WRITE,
    SIMLINK_MEM_READ
};

struct simlink {
    uint32_t kind, status, bytes, zero;
    uint64_t a, b, c;
};

/* The header on the wire: little endian, in the order of the struct. */
static inline void simlink_put(struct simlink m, uint8_t *bytes)
{
    const uint32_t small[4] = {m.kind, m.status, m.bytes, m.zero};
    const uint64_t large[3] = {m.a, m.b, m.c};
    for (int i = 0; i < 16; i++)
        bytes[i] = (uint8_t)(small[i / 4] >> (i % 4 * 8));
    for (int i = 0; i < 24; i++)
        bytes[16 + i] = (uint8_t)(large[i / 8] >> (i % 8 * 8));
}

static inline struct simlink simlink_get(const uint8_t *bytes)
{
    uint32_t small[4] = {0, 0, 0, 0};
    uint64_t large[3] = {0, 0, 0};
    for (int i = 0; i < 16; i++)
        small[i / 4] |= (uint32_t)bytes[i] << (i % 4 * 8);
    for (int i = 0; i < 24; i++)
        large[i / 8] |= (uint64_t)bytes[16 + i] << (i % 8 * 8);
    struct simlink m = {small[0], small[1], small[2], small[3], large[0], large[1], large[2]};
    return m;
}

#endif
