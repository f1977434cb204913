/* sim_client.h : minimal controller and ranks for a card on a network. */
#ifndef SIM_CLIENT_H
#define SIM_CLIENT_H
#include "base/bits.h"
#include "base/clock.h"
#include "base/inet.h"
#include "card_frames.h"
#include "check.h"
#include "hls/arith/mf.h"
#include "hls/card/simlink.h"
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { CLIENT_RANKS = 3, CLIENT_MAX = 2176 };

static inline struct sockaddr_in client_at(uint32_t ip, uint16_t port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
    at.sin_addr.s_addr = htonl(ip);
    return at;
}

struct client {
    int fd;
    uint8_t body[SIMLINK_MAX];
};

static inline int client_ask(struct client *c, struct simlink m, const uint8_t *body,
                             struct simlink *answer)
{
    uint8_t header[SIMLINK_BYTES];
    simlink_put(m, header);
    if (sock_send(c->fd, header, sizeof header) || (m.bytes && sock_send(c->fd, body, m.bytes)) ||
        sock_recv(c->fd, header, sizeof header))
        return -1;
    *answer = simlink_get(header);
    return answer->bytes > SIMLINK_MAX || sock_recv(c->fd, c->body, answer->bytes) ? -1 : 0;
}

static inline int client_hello(struct client *c, int fd)
{
    uint8_t header[SIMLINK_BYTES];
    const struct timeval limit = {.tv_sec = 10};
    c->fd = fd;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (sock_recv(fd, header, sizeof header))
        return -1;
    return simlink_get(header).kind == SIMLINK_HELLO && simlink_get(header).a == SIMLINK_VERSION
               ? 0
               : -1;
}

static inline int client_open(struct client *c, uint32_t ip, uint16_t port)
{
    const struct sockaddr_in at = client_at(ip, port);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return connect(fd, (const struct sockaddr *)&at, sizeof at) ? -1 : client_hello(c, fd);
}

static inline int64_t client_read(struct client *c, uint32_t at)
{
    struct simlink answer;
    return client_ask(c, (struct simlink){.kind = SIMLINK_READ, .a = at}, NULL, &answer) ||
                   answer.status
               ? -1
               : (int64_t)answer.b;
}

static inline int client_write(struct client *c, uint32_t at, uint32_t value)
{
    struct simlink answer;
    return client_ask(c, (struct simlink){.kind = SIMLINK_WRITE, .a = at, .b = value}, NULL,
                      &answer)
               ? -1
               : (int)answer.status;
}

static inline int64_t client_counter(struct client *c, uint32_t index)
{
    client_write(c, REG_CTRL, 2);
    client_write(c, REG_COUNTER_INDEX, index);
    return client_read(c, REG_COUNTER_LO);
}

static inline int64_t client_wire(struct client *c, const char *name)
{
    struct simlink answer;
    if (client_ask(c, (struct simlink){.kind = SIMLINK_WIRE}, NULL, &answer))
        return -1;
    c->body[answer.bytes < SIMLINK_MAX ? answer.bytes : SIMLINK_MAX - 1] = 0;
    const char *at = strstr((const char *)c->body, name);
    return at && at[strlen(name)] == ' ' ? strtoll(at + strlen(name), NULL, 10) : -1;
}

struct client_job {
    uint32_t index, base, slots, chunk; /* chunk: the next one of all slots */
    uint64_t key;
    int udp[CLIENT_RANKS];
    uint64_t resent;
};

struct client_ops {
    uint32_t n;
    uint8_t bytes[8 * 64];
};

static inline void client_op(struct client_ops *o, uint32_t at, uint32_t value)
{
    pkt_put_uint(o->bytes + 8 * o->n, at, 4);
    pkt_put_uint(o->bytes + 8 * o->n++ + 4, value, 4);
}

/* Registers the job with one batch. Returns the card's STATUS, or -1. */
static inline int client_register(struct client *c, struct client_job *j)
{
    struct simlink where, done;
    struct client_ops o = {0};
    if (client_ask(c, (struct simlink){.kind = SIMLINK_ADDRESS}, NULL, &where))
        return -1;
    client_op(&o, REG_JOB_INDEX, j->index);
    client_op(&o, REG_JOB_RANKS, CLIENT_RANKS);
    client_op(&o, REG_JOB_KEY_LO, (uint32_t)j->key);
    client_op(&o, REG_JOB_KEY_HI, (uint32_t)(j->key >> 32));
    client_op(&o, REG_JOB_SLOT_BASE, j->base);
    client_op(&o, REG_JOB_SLOTS, j->slots);
    client_op(&o, REG_JOB_FORMATS, 0);
    for (uint32_t r = 0; r < CLIENT_RANKS; r++) {
        const struct sockaddr_in to = client_at((uint32_t)where.a, (uint16_t)where.b);
        struct sockaddr_in me;
        socklen_t n = sizeof me;
        j->udp[r] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        if (connect(j->udp[r], (const struct sockaddr *)&to, sizeof to) ||
            getsockname(j->udp[r], (struct sockaddr *)&me, &n))
            return -1;
        client_op(&o, REG_RANK_INDEX, r);
        client_op(&o, REG_RANK_IP, ntohl(me.sin_addr.s_addr));
        client_op(&o, REG_RANK_PORT, ntohs(me.sin_port));
        client_op(&o, REG_RANK_COMMIT, 1);
    }
    client_op(&o, REG_JOB_COMMIT, 1);
    client_op(&o, REG_STATUS | 1u << 31, 0);
    if (client_ask(c, (struct simlink){.kind = SIMLINK_BATCH, .bytes = 8 * o.n}, o.bytes, &done))
        return -1;
    return done.status || done.a != o.n ? -1 : (int)pkt_get_uint(c->body + 4 * (o.n - 1), 4);
}

static inline void client_close_ranks(struct client_job *j)
{
    for (int r = 0; r < CLIENT_RANKS; r++)
        close(j->udp[r]);
}

static inline uint8_t client_code(uint32_t rank, uint32_t slot, uint32_t chunk, size_t i)
{
    static const uint8_t codes[4] = {0x00, 0x38, 0x40, 0x30};
    return codes[(rank * 7 + slot + chunk * 3 + (uint32_t)i) % 4];
}

static inline void client_send(struct client_job *j, uint32_t rank, uint32_t slot, uint32_t beats)
{
    uint8_t frame[CLIENT_MAX];
    struct pkt_header h;
    memset(&h, 0, sizeof h);
    h.rank = (uint16_t)rank;
    h.key = j->key;
    h.job = (uint16_t)j->index;
    h.slot = (uint16_t)(j->base + slot);
    h.chunk = j->chunk;
    h.op = PKT_OP_SUM;
    h.beats = (uint8_t)beats;
    h.in_fmt = h.out_fmt = 0x43;
    for (size_t i = 0; i < 64 * (size_t)beats; i++)
        frame[PKT_HEADER_BYTES + i] = client_code(rank, slot, j->chunk, i);
    const size_t n = frame_put(h, frame + PKT_HEADER_BYTES, beats, frame);
    (void)!send(j->udp[rank], frame, n, 0);
}

/* Returns the result's slot in the job, or -1 if it belongs to another chunk. */
static inline int client_check(const struct client_job *j, uint32_t rank, const uint8_t *bytes,
                               size_t n, uint32_t beats)
{
    static const float values[256] = {[0x38] = 1, [0x40] = 2, [0x30] = 0.5f};
    const struct pkt_header h = n >= PKT_HEADER_BYTES ? pkt_get(bytes) : (struct pkt_header){0};
    if (h.op != PKT_OP_RESULT || h.chunk != j->chunk)
        return -1;
    CHECK(pkt_good(bytes) && h.rank == rank && h.key == j->key &&
              n == PKT_HEADER_BYTES + 64 * (size_t)beats,
          "a result of %zu bytes", n);
    for (size_t i = 0; i < n - PKT_HEADER_BYTES; i++) {
        float sum = 0;
        for (uint32_t r = 0; r < CLIENT_RANKS; r++)
            sum += values[client_code(r, h.slot - j->base, h.chunk, i)];
        const uint32_t want =
            mf_enc((struct mf_fmt){4, 3, 0}, bits_of(sum), 0, MF_NEAREST, MF_INF, 0);
        CHECK(bytes[PKT_HEADER_BYTES + i] == want, "element %zu is %02x, not %02x", i,
              bytes[PKT_HEADER_BYTES + i], want);
    }
    return h.slot - (int)j->base;
}

/* Repeats one chunk of every slot until all ranks have all results. Returns 0, or -1 on a
 * timeout. */
static inline int client_chunk(struct client_job *j, uint32_t beats, double again_s)
{
    uint64_t got[CLIENT_RANKS] = {0}, all = ((uint64_t)1 << j->slots) - 1;
    const double start = clock_s();
    double next = start;
    for (;;) {
        int left = 0;
        for (uint32_t r = 0; r < CLIENT_RANKS; r++)
            left += got[r] != all;
        if (!left)
            break;
        if (clock_s() > start + 20)
            return -1;
        if (clock_s() >= next) {
            for (uint32_t s = 0; s < j->slots; s++)
                for (uint32_t r = 0; r < CLIENT_RANKS; r++)
                    if (!(got[r] >> s & 1)) {
                        client_send(j, r, s, beats);
                        j->resent += next > start;
                    }
            next = clock_s() + again_s;
        }
        struct pollfd p[CLIENT_RANKS];
        for (int r = 0; r < CLIENT_RANKS; r++)
            p[r] = (struct pollfd){.fd = j->udp[r], .events = POLLIN};
        poll(p, CLIENT_RANKS, 5);
        for (uint32_t r = 0; r < CLIENT_RANKS; r++) {
            uint8_t bytes[CLIENT_MAX];
            ssize_t n;
            while ((n = recv(j->udp[r], bytes, sizeof bytes, MSG_DONTWAIT)) > 0) {
                const int slot = client_check(j, r, bytes, (size_t)n, beats);
                if (slot >= 0)
                    got[r] |= (uint64_t)1 << slot;
            }
        }
    }
    j->chunk++;
    return 0;
}

#endif
