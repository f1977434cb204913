/* fake_card.h : imitates a card controlled by datagrams (hls/card/lease.def), in a thread. */
#ifndef FAKE_CARD_H
#define FAKE_CARD_H
#include "check.h"
#include "hls/card/lease.h"
#include "hls/arith/philox.h"
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SEED = 2020, MAX_OPS = 1024, SILENCE_MS = 500, FRAME_PORT = 4321 };

static struct {
    int fd;
    uint16_t port;
    _Atomic int version, status, status_of_keep, lose; /* lose: of 256 messages each way */
    _Atomic bool end, group_failed, says_no_silence, beside_forger;
    _Atomic uint64_t secret, closed;
    uint64_t drawn;
    uint32_t sequence;
    uint8_t last[LEASE_BYTES];
    size_t last_n;
    struct {
        uint32_t at, value;
        bool begins;
    } ops[MAX_OPS];
    _Atomic int n_ops, keeps;
} fake;

static bool chance(int of_256)
{
    return (int)(philox_u32(philox_key(SEED, 0, 0, 0, 0), fake.drawn++) & 255) < of_256;
}

static void operate(const struct lease_message *m, struct lease_message *out)
{
    for (int i = 0; i < m->n && fake.n_ops < MAX_OPS; i++, out->done++) {
        fake.ops[fake.n_ops].at = m->at[i];
        fake.ops[fake.n_ops].value = m->value[i];
        fake.ops[fake.n_ops].begins = i == 0;
        fake.n_ops++;
        out->at[i] = m->at[i];
        out->value[i] = m->at[i] == (LEASE_REG_SILENCE | LEASE_READ)
                            ? (fake.says_no_silence ? 0 : SILENCE_MS)
                        : m->at[i] == (0x1004 | LEASE_READ) ? FRAME_PORT
                        : m->at[i] & LEASE_READ             ? ~m->at[i]
                                                            : 0;
    }
}

static size_t answer_to(const struct lease_message *m, uint8_t *to)
{
    struct lease_message out = *m;
    out.version = (uint8_t)fake.version;
    out.status = (uint8_t)(m->kind == LEASE_KEEP ? fake.status_of_keep : fake.status);
    out.n = 0;
    fake.keeps += m->kind == LEASE_KEEP;
    if (m->kind == LEASE_CLOSE)
        fake.closed = m->secret;
    if (m->kind == LEASE_OPEN && m->secret != fake.secret) {
        fake.secret = m->secret;
        fake.sequence = m->sequence - 1;
    }
    const bool sequenced = m->kind == LEASE_OPEN || m->kind == LEASE_DO;
    if (sequenced && m->sequence == fake.sequence) {
        memcpy(to, fake.last, fake.last_n);
        return fake.last_n;
    }
    CHECK(!sequenced || m->sequence == fake.sequence + 1, "number %u behind %u", m->sequence,
          fake.sequence);
    if (m->kind == LEASE_DO && !out.status) {
        out.n = m->n;
        operate(m, &out);
    }
    const size_t n = lease_put(&out, to);
    if (sequenced) {
        fake.sequence = m->sequence;
        memcpy(fake.last, to, fake.last_n = n);
    }
    return n;
}

/* Sends answers to m as strangers could: with a wrong secret, a wrong sequence number or both,
 * in several versions and with every status. */
static void forge(const struct lease_message *m, const struct sockaddr_in *to)
{
    static const uint8_t versions[] = {LEASE_VERSION, 0, LEASE_VERSION + 1, 255};
    uint8_t bytes[LEASE_BYTES];
    for (int lacks = 1; lacks <= 3; lacks++)
        for (size_t v = 0; v < sizeof versions; v++)
            for (uint8_t status = LEASE_STATUS_DONE; status <= LEASE_STATUS_VERSION; status++) {
                struct lease_message lie = *m;
                lie.version = versions[v];
                lie.status = status;
                lie.secret ^= lacks & 1 ? 1ull << 40 : 0;
                lie.sequence ^= lacks & 2 ? 1u << 20 : 0;
                (void)!sendto(fake.fd, bytes, lease_put(&lie, bytes), 0,
                              (const struct sockaddr *)to, sizeof *to);
            }
}

static void *be_card(void *arg)
{
    (void)arg;
    while (!fake.end) {
        uint8_t bytes[LEASE_BYTES], out[LEASE_BYTES];
        struct sockaddr_in from;
        socklen_t n_from = sizeof from;
        struct lease_message m;
        const ssize_t n =
            recvfrom(fake.fd, bytes, sizeof bytes, 0, (struct sockaddr *)&from, &n_from);
        if (n <= 0 || fake.group_failed || chance(fake.lose) || !lease_get(&m, bytes, (size_t)n))
            continue;
        if (fake.beside_forger && m.kind != LEASE_KEEP) /* a KEEP's number is always 0 */
            forge(&m, &from);
        const size_t out_n = answer_to(&m, out);
        for (int twice = chance(fake.lose); twice >= 0 && !chance(fake.lose); twice--)
            (void)!sendto(fake.fd, out, out_n, 0, (struct sockaddr *)&from, n_from);
    }
    return NULL;
}

static bool card_up(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons(fake.port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const struct timeval soon = {.tv_usec = 20000};
    socklen_t n = sizeof at;
    fake.fd = socket(AF_INET, SOCK_DGRAM, 0);
    fake.version = LEASE_VERSION;
    if (fake.fd < 0 || bind(fake.fd, (struct sockaddr *)&at, n) ||
        getsockname(fake.fd, (struct sockaddr *)&at, &n) ||
        setsockopt(fake.fd, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof soon))
        return false;
    fake.port = ntohs(at.sin_port);
    return true;
}

/* The card starts 0.1 s late. Until then ICMP, which any host could forge, rejects datagrams. */
static void *be_late_card(void *arg)
{
    usleep(100000);
    CHECK(card_up(), "no card at port %u", fake.port);
    return be_card(arg);
}

#endif
