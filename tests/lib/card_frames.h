/* card_frames.h : makes frames for a card and fills its job table, for both models. */
#ifndef CARD_FRAMES_H
#define CARD_FRAMES_H
#include "hls/card/packet.h"
#include "hls/card/regs.h"
#include <stdint.h>
#include <string.h>

/* Fills in magic, len and both CRCs. Returns the length. */
static inline size_t frame_put(struct pkt_header h, const uint8_t *payload, size_t beats,
                               uint8_t *bytes)
{
    const size_t n = beats * PKT_BEAT_BYTES;
    if (n)
        memmove(bytes + PKT_HEADER_BYTES, payload, n);
    h.magic = PKT_MAGIC_VALUE;
    h.len = (uint16_t)(PKT_HEADER_BYTES + n);
    h.payload_crc = crc32c(bytes + PKT_HEADER_BYTES, n);
    pkt_put(h, bytes);
    return PKT_HEADER_BYTES + n;
}

/* 10.0.j.r, port 1000 + r. */
static inline uint32_t frame_ip(unsigned job, unsigned rank)
{
    return 0x0a000000u | job << 8 | rank;
}
static inline uint16_t frame_port(unsigned rank)
{
    return (uint16_t)(1000 + rank);
}

struct frame_job {
    uint32_t index, ranks, base, slots, formats;
    uint64_t key;
};

/* Registers a job through write(arg, offset, value) and enables the card. Results go to the
 * multicast group ip:port; ip 0: to each rank. */
static inline void frame_register_group(struct frame_job job, uint32_t ip, uint16_t port,
                                        void (*write)(void *arg, uint32_t at, uint32_t value),
                                        void *arg)
{
    write(arg, REG_JOB_INDEX, job.index);
    write(arg, REG_JOB_COMMIT, 0);
    write(arg, REG_JOB_RANKS, job.ranks);
    write(arg, REG_JOB_KEY_LO, (uint32_t)job.key);
    write(arg, REG_JOB_KEY_HI, (uint32_t)(job.key >> 32));
    write(arg, REG_JOB_SLOT_BASE, job.base);
    write(arg, REG_JOB_SLOTS, job.slots);
    write(arg, REG_JOB_FORMATS, job.formats);
    if (ip) {
        write(arg, REG_JOB_GROUP_IP, ip);
        write(arg, REG_JOB_GROUP_PORT, port);
    }
    for (unsigned r = 0; r < job.ranks; r++) {
        write(arg, REG_RANK_INDEX, r);
        write(arg, REG_RANK_IP, frame_ip(job.index, r));
        write(arg, REG_RANK_PORT, frame_port(r));
        write(arg, REG_RANK_COMMIT, 1);
    }
    write(arg, REG_JOB_COMMIT, 1);
    write(arg, REG_CTRL, 1);
}

static inline void frame_register(struct frame_job job,
                                  void (*write)(void *arg, uint32_t at, uint32_t value), void *arg)
{
    frame_register_group(job, 0, 0, write, arg);
}

#endif
