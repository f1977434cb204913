/* simlink.h : control, over a stream socket, of a card that a process such as narrowcast-sim owns.
 * A message is a header of 40 bytes (struct simlink), then a body of `bytes` bytes.
 *
 *     kind       to the card                          answer: DONE, unless another is given
 *     HELLO                                           a: SIMLINK_VERSION. Sent once, before all
 *                                                     other messages. status SIMLINK_FULL: too many
 *                                                     connections; this socket is closed
 *     WRITE      a: register's offset  b: value       status 1: no such register, or not yours
 *     READ       a: register's offset                 b: value; status as for WRITE
 *     BATCH      body: operations of 8 bytes: u32     a: number of operations done, all before the
 *                offset, with bit 31 set for a        first that was refused (then status is 1)
 *                read; u32 value. No other            body: per operation done a u32: value read,
 *                connection is served in between      or 0
 *     ADDRESS                                         a: IPv4 address  b: port that frames are sent
 *                                                     to; 0: none
 *     TIME                                            a: clocks in which the card was busy
 *                                                     b: beats in  c: beats out. All since the
 *                                                     card was started
 *     WIRE                                            body: text: counts made outside the card, one
 *                                                     per line, such as "datagrams_in 4711"
 *     FRAME      a: source IPv4  b: port              none; the frame waits for RUN
 *                c: idle clocks after it
 *                body: the frame
 *     RUN        a: largest number of clocks          the FRAMEs that leave (a, b: destination),
 *                                                     then DONE. status 0: the card is idle, 1: the
 *                                                     clocks were used up. a: clocks from the first
 *                                                     to the last beat that moved (0: this model
 *                                                     has no clock)  b: beats in  c: beats out
 *     BUS_WRITE  a: address on the card's control bus status 1: no device at this address
 *                b: value                             (kernels.def: kernels' registers)
 *     BUS_READ   a: address                           b: value; status as for BUS_WRITE
 *     MEM_WRITE  a: address in card memory            status 1: not all of these addresses are
 *                body: bytes to be written            memory
 *     MEM_READ   a: address  b: number of bytes,      body: the bytes; none if status is 1, as for
 *                at most SIMLINK_MAX                 MEM_WRITE
 *     QUIT                                            none: the socket is closed
 *
 * The card sends nothing while a program sends FRAMEs, the program nothing during a RUN, so full
 * socket buffers never block both.
 *
 * Several connections may control a card that listens on a network. A job belongs to the
 * connection that committed it (rules: sharing.def) and is stopped when that closes. A connection
 * without a job is closed after 10 s without a request.
 *
 * Only the program that started the card may send BUS_ and MEM_ messages (access over PCIe). It may
 * also send FRAME and RUN, unless the card listens on a network. */
#ifndef SIMLINK_H
#define SIMLINK_H
#include <stdint.h>

enum {
#define SIMLINK_CONST(NAME, value, what) SIMLINK_##NAME = value,
#include "hls/card/simlink.def"
};
enum simlink_kind {
#define SIMLINK_KIND(NAME, value) SIMLINK_##NAME = value,
#include "hls/card/simlink.def"
};

struct simlink {
    uint32_t kind, status, bytes, zero;
    uint64_t a, b, c;
};

/* Write m to bytes[SIMLINK_BYTES]: little endian, in the order of the struct. */
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
