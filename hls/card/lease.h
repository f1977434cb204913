/* lease.h : converts requests and answers of lease.def to and from bytes. */
#ifndef LEASE_H
#define LEASE_H
#include "hls/card/crc32c.h"
#include <stdbool.h>
#include <stdint.h>

enum {
#define LEASE(NAME, value, what)        LEASE_##NAME = value,
#define LEASE_KIND(NAME, value, what)   LEASE_##NAME = value,
#define LEASE_STATUS(NAME, value, what) LEASE_STATUS_##NAME = value,
#define LEASE_REG(NAME, at, what)       LEASE_REG_##NAME = at,
#include "lease.def"
    LEASE_HEADER = 5, /* words before the operations */
    LEASE_BYTES = 4 * LEASE_WORDS
};
#define LEASE_READ (1u << 31) /* flag in an operation's offset */

struct lease_message {
    uint8_t version, kind, status;
    uint8_t n, done; /* operations; in an answer: operations done */
    uint32_t sequence;
    uint64_t secret;
    uint32_t at[LEASE_OPERATIONS], value[LEASE_OPERATIONS]; /* [n] */
};

static inline void lease_put_word(uint32_t word, uint8_t *bytes)
{
    for (int i = 0; i < 4; i++)
        bytes[i] = (uint8_t)(word >> (8 * i));
}

static inline uint32_t lease_word(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

/* Write m to to[LEASE_BYTES]. Return its length in bytes. */
static inline size_t lease_put(const struct lease_message *m, uint8_t *to)
{
    const uint32_t head[LEASE_HEADER] = {
        (uint32_t)LEASE_MAGIC << 8 | m->version,
        m->kind | (uint32_t)m->status << 8 | (uint32_t)m->n << 16 | (uint32_t)m->done << 24,
        m->sequence, (uint32_t)m->secret, (uint32_t)(m->secret >> 32)};
    size_t bytes = 4 * LEASE_HEADER;
    for (int i = 0; i < LEASE_HEADER; i++)
        lease_put_word(head[i], to + 4 * i);
    for (int i = 0; i < m->n; i++, bytes += 8) {
        lease_put_word(m->at[i], to + bytes);
        lease_put_word(m->value[i], to + bytes + 4);
    }
    lease_put_word(crc32c(to, bytes), to + bytes);
    return bytes + 4;
}

/* Read bytes[n] into m. Return true for a valid datagram of any version. If it is not
 * LEASE_VERSION, only words 0 to 4 are read, and m->n is 0. */
static inline bool lease_get(struct lease_message *m, const uint8_t *bytes, size_t n)
{
    if (n < 4 * (LEASE_HEADER + 1) || n > LEASE_BYTES || n % 4 ||
        lease_word(bytes) >> 8 != LEASE_MAGIC || crc32c(bytes, n) != CRC32C_RESIDUE)
        return false;
    const uint32_t word = lease_word(bytes + 4);
    m->version = bytes[0];
    m->kind = (uint8_t)word;
    m->status = (uint8_t)(word >> 8);
    m->n = m->done = 0;
    m->sequence = lease_word(bytes + 8);
    m->secret = lease_word(bytes + 12) | (uint64_t)lease_word(bytes + 16) << 32;
    if (m->version != LEASE_VERSION)
        return true;
    m->n = (uint8_t)(word >> 16);
    m->done = (uint8_t)(word >> 24);
    if (m->n > LEASE_OPERATIONS || m->done > m->n || n != 4 * (LEASE_HEADER + 1) + 8 * (size_t)m->n)
        return false;
    for (int i = 0; i < m->n; i++) {
        m->at[i] = lease_word(bytes + 4 * LEASE_HEADER + 8 * i);
        m->value[i] = lease_word(bytes + 4 * LEASE_HEADER + 8 * i + 4);
    }
    return true;
}

#endif
