/* test_fpga_eth.c : tests control of a card by datagrams, from the host's side. Lost requests are
 * repeated but done once, long batches are cut only where allowed, forged answers are ignored.
 *
 *     test_fpga_eth                    the card is a thread of this program
 *     test_fpga_eth HOST:PORT          prints the control counters of a card on the network
 *     test_fpga_eth HOST:PORT SECONDS  attacks it with garbage and well-formed requests to job 0 of
 *                                      another host; fails if any of them has an effect */
#include "base/clock.h"
#include "base/err.h"
#include "base/inet.h"
#include "check.h"
#include "hls/card/lease.h"
#include <netinet/in.h>
#include "hls/card/card.h"
#include "hls/card/packet.h"
#include "hls/arith/philox.h"
#include "hls/card/regs.h"
#include "offload/card/fpga.h"
#include "offload/card/lease_link.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- a card controlled by datagrams (hls/card/lease.def), in a thread ---- */

enum { SEED = 2020, MAX_OPS = 1024, SILENCE_MS = 500, FRAME_PORT = 4321 };

static struct {
    int fd, held;
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
    CHECK(!sequenced || m->sequence == fake.sequence + 1, "number %u after %u", m->sequence,
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

static struct sockaddr_in loopback(uint16_t port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

/* Returns a socket bound to the card's port, or to any while that is 0. */
static int bound(void)
{
    const struct sockaddr_in at = loopback(fake.port);
    const int fd = socket(AF_INET, SOCK_DGRAM, 0), one = 1;
    CHECK(fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) == 0 &&
              bind(fd, (const struct sockaddr *)&at, sizeof at) == 0,
          "port %u", fake.port);
    return fd;
}

/* Takes a port from other programs. As the socket is connected to another port, datagrams to the
 * card are rejected until the card starts. */
static void hold_port(void)
{
    const struct sockaddr_in unused = loopback(1);
    struct sockaddr_in at;
    socklen_t n = sizeof at;
    fake.held = bound();
    CHECK(connect(fake.held, (const struct sockaddr *)&unused, sizeof unused) == 0 &&
              getsockname(fake.held, (struct sockaddr *)&at, &n) == 0,
          "no port for a card");
    fake.port = ntohs(at.sin_port);
}

static void card_up(void)
{
    const struct timeval soon = {.tv_usec = 20000};
    fake.fd = bound();
    CHECK(setsockopt(fake.fd, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof soon) == 0, "no card");
}

/* The card starts 0.1 s late. Until then ICMP, which any host could forge, rejects datagrams. */
static void *be_late_card(void *arg)
{
    usleep(100000);
    card_up();
    return be_card(arg);
}

static void strangers(const char *where)
{
    struct fpga card;
    struct fpga_op op = {.at = REG_STATUS, .read = true};
    size_t done = 0;
    fake.beside_forger = true;
    if (fpga_open(&card, where, NULL, 5)) {
        CHECK(false, "%s", card.why);
        return;
    }
    CHECK(card.ops->batch(&card, &op, 1, &done, 5) == 0 && done == 1 &&
              op.value == ~(REG_STATUS | LEASE_READ),
          "%zu done, reads %x: %s", done, op.value, card.why);
    fpga_close(&card);
    CHECK(fake.closed == fake.secret, "the answer to CLOSE was not waited for");
    fake.beside_forger = false;
}

static void open_fails(int want, const char *why, const char *where)
{
    struct fpga card;
    const int rc = fpga_open(&card, where, NULL, 0.3);
    CHECK(rc == want && strstr(card.why, why), "%d: %s", rc, card.why);
    if (!rc)
        fpga_close(&card);
}

static void failures(const char *where)
{
    fake.group_failed = true;
    open_fails(-ETIMEDOUT, "does not answer", where);
    fake.group_failed = false;
    fake.version = 9;
    open_fails(-EPROTO, "has another version: 9 instead of 1", where);
    fake.version = LEASE_VERSION;
    fake.status = LEASE_STATUS_FULL;
    open_fails(-EUSERS, "already has as many control connections", where);
    fake.status = LEASE_STATUS_DONE;
    fake.says_no_silence = true;
    open_fails(-EPROTO, "does not report the duration of a lease", where);
    for (const double until = clock_s() + 2; fake.closed != fake.secret && clock_s() < until;)
        usleep(1000);
    CHECK(fake.closed == fake.secret, "a lease of no use was not given back");
    fake.says_no_silence = false;
    open_fails(-ECONNREFUSED, "cannot reach card", "eth://127.0.0.1:1");
    static const char *const no_names[] = {
        "eth://127.0.0.1",        "eth://127.0.0.1:",      "eth://:4712",
        "eth://127.0.0.1:0",      "eth://127.0.0.1:65536", "eth://127.0.0.1: 4712",
        "eth://127.0.0.1:+4712",  "eth://127.0.0.1:4712x", "eth://[::1]:4712",
        "eth://127.0.0.1\n:4712", "eth://127.0.0.1 :4712", "udp://127.0.0.1: 4712"};
    for (size_t i = 0; i < sizeof no_names / sizeof *no_names; i++)
        open_fails(-EINVAL, "no kind of card has the name", no_names[i]);
}

/* Each request selects the job and ends after a complete rank. */
static void long_batch(const char *where)
{
    struct fpga card;
    struct fpga_op ops[1 + 4 * PKT_MAX_RANKS + 1];
    size_t n = 0, done = 0;
    uint32_t ip;
    uint16_t port;
    CHECK(fpga_open(&card, where, NULL, 5) == 0, "%s", card.why);
    fake.lose = 100;
    ops[n++] = (struct fpga_op){.at = REG_JOB_INDEX, .value = 3};
    for (uint32_t r = 0; r < PKT_MAX_RANKS; r++) {
        ops[n++] = (struct fpga_op){.at = REG_RANK_INDEX, .value = r};
        ops[n++] = (struct fpga_op){.at = REG_RANK_IP, .value = r * r};
        ops[n++] = (struct fpga_op){.at = REG_RANK_PORT, .value = r + 7};
        ops[n++] = (struct fpga_op){.at = REG_RANK_COMMIT, .value = 1};
    }
    ops[n++] = (struct fpga_op){.at = REG_STATUS, .read = true};
    fake.n_ops = 0;
    CHECK(card.ops->batch(&card, ops, n, &done, 20) == 0 && done == n, "%zu of %zu: %s", done, n,
          card.why);
    CHECK(ops[n - 1].value == ~(REG_STATUS | LEASE_READ), "reads %x", ops[n - 1].value);
    size_t at = 0;
    for (int i = 0; i < fake.n_ops; i++) {
        const bool again = fake.ops[i].begins && i;
        if (fake.ops[i].begins)
            CHECK(fake.ops[i].at == REG_JOB_INDEX && fake.ops[i].value == 3 &&
                      (i == 0 || fake.ops[i - 1].at == REG_RANK_COMMIT),
                  "operation %d begins a request with %x", i, fake.ops[i].at);
        if (again)
            continue;
        CHECK(at < n && (fake.ops[i].at & ~LEASE_READ) == ops[at].at &&
                  (ops[at].read || fake.ops[i].value == ops[at].value),
              "operation %d is not number %zu", i, at);
        at++;
    }
    CHECK(at == n, "%zu of %zu are done", at, n);
    CHECK(card.ops->address(&card, &ip, &port, 5) == 0 && ip == INADDR_LOOPBACK &&
              port == FRAME_PORT,
          "frames to %x:%u", ip, port);
    for (uint32_t r = 0; r < 29; r++)
        ops[r] = (struct fpga_op){.at = REG_STATUS, .read = true};
    CHECK(card.ops->batch(&card, ops, 29, &done, 5) == -EINVAL, "a batch that cannot be cut");
    fake.lose = 0;
    fpga_close(&card);
}

/* The card's silence does not end the lease. */
static void kept(const char *where)
{
    struct fpga card;
    struct fpga_op op = {.at = REG_STATUS, .read = true};
    size_t done;
    CHECK(fpga_open(&card, where, NULL, 5) == 0, "%s", card.why);
    const int before = fake.keeps;
    double until = clock_s() + 10;
    while (fake.keeps < before + 3 && clock_s() < until)
        usleep(10000);
    CHECK(fake.keeps >= before + 3 && card.ops->alive(&card), "%d keeps", fake.keeps - before);
    fake.group_failed = true;
    usleep(2 * SILENCE_MS * 1000);
    CHECK(card.ops->alive(&card), "a lease whose card is silent is over: %s", card.why);
    fake.group_failed = false;
    fake.status = fake.status_of_keep = LEASE_STATUS_UNKNOWN;
    until = clock_s() + 10;
    while (card.ops->alive(&card) && clock_s() < until)
        usleep(10000);
    CHECK(!card.ops->alive(&card) &&
              strstr(card.why, "has received nothing from this program for 0.5 s"),
          "a lease that is over: %s", card.why);
    CHECK(card.ops->batch(&card, &op, 1, &done, 5) == -EPIPE && strstr(card.why, "is over"), "%s",
          card.why);
    fpga_close(&card);
    fake.status = fake.status_of_keep = 0;
}

static int reach(const char *where, struct lease_link *l, struct lease_message *answer)
{
    struct sockaddr_in to = {.sin_family = AF_INET};
    struct lease_message m = {.kind = LEASE_OPEN};
    uint32_t ip;
    uint16_t port;
    TRY(inet_parse(where, &ip, &port));
    to.sin_addr.s_addr = htonl(ip);
    to.sin_port = htons(port);
    int rc = lease_link_open(l, &to);
    if (!rc)
        rc = lease_link_ask(l, &m, answer, clock_s() + 5);
    return rc ? rc : answer->status;
}

static int show(const char *where)
{
    struct lease_link l;
    struct lease_message answer,
        m = {.kind = LEASE_DO,
             .n = 4,
             .at = {LEASE_REG_LIVE | LEASE_READ, LEASE_REG_EXPIRED | LEASE_READ,
                    LEASE_REG_MALFORMED | LEASE_READ, LEASE_REG_BUSY | LEASE_READ}};
    CHECK(reach(where, &l, &answer) == 0 && lease_link_ask(&l, &m, &answer, clock_s() + 5) == 0,
          "no card");
    printf("live %u expired %u malformed %u busy %u\n", (answer.value[0] & 0xffff) - 1,
           answer.value[1], answer.value[2], answer.value[3]);
    m = (struct lease_message){.kind = LEASE_CLOSE};
    (void)lease_link_ask(&l, &m, &answer, clock_s() + 5);
    lease_link_close(&l);
    DONE();
}

/* The next attempt at job 0, with a lease of its own. */
static struct lease_message theft(uint64_t key, uint64_t i)
{
    static const uint32_t aims[] = {REG_RANK_COMMIT, REG_JOB_COMMIT, REG_JOB_COMMIT, REG_DROP_IN};
    const uint32_t r = philox_u32(key, i), aim = r % 4;
    struct lease_message m = {.kind = LEASE_DO, .n = 4};
    m.at[0] = REG_JOB_INDEX;
    m.at[1] = REG_RANK_IP;
    m.value[1] = INADDR_LOOPBACK;
    m.at[2] = REG_JOB_SLOTS;
    m.value[2] = CARD_SLOTS;
    m.at[3] = aims[aim];
    m.value[3] = aim == 1;
    return m;
}

static int attack(const char *where, double seconds)
{
    const uint64_t key = philox_key(SEED, 1, 0, 0, 0);
    const double until = clock_s() + seconds;
    struct lease_link l;
    struct lease_message answer;
    uint64_t i = 0, tried = 0;
    printf("seed %d\n", SEED);
    CHECK(reach(where, &l, &answer) == 0, "no card");
    for (; clock_s() < until && check_bad < 10; tried++) {
        struct lease_message m = theft(key, i++);
        CHECK(lease_link_ask(&l, &m, &answer, clock_s() + 5) == 0 &&
                  answer.status == LEASE_STATUS_DONE && answer.done == 3,
              "request %llu: status %u, %u done of %x", (unsigned long long)i, answer.status,
              answer.done, m.at[3]);
        for (int k = 0; k < 20; k++) {
            uint8_t bytes[2 * LEASE_BYTES] = {0};
            m = theft(key, i++); /* with a correct CRC and an unknown secret; then damaged */
            m.version = LEASE_VERSION;
            m.secret = philox_u32(key, i++);
            m.kind = (uint8_t)(philox_u32(key, i++) % 6);
            m.sequence = l.sequence + 1;
            if (m.kind == LEASE_OPEN) /* random secrets would take all free leases */
                m.secret = l.secret;
            size_t n = lease_put(&m, bytes);
            if (k & 1)
                bytes[philox_u32(key, i) % n] ^= (uint8_t)(1u << (philox_u32(key, i) >> 29));
            if (k % 4 == 3)
                n = 1 + philox_u32(key, i++) % sizeof bytes;
            (void)!send(l.fd, bytes, n, 0);
        }
    }
    printf("%llu thefts and 20 times as much garbage\n", (unsigned long long)tried);
    struct lease_message m = {.kind = LEASE_CLOSE};
    (void)lease_link_ask(&l, &m, &answer, clock_s() + 5);
    lease_link_close(&l);
    CHECK(tried > 10, "too few");
    DONE();
}

int main(int argc, char **argv)
{
    pthread_t thread;
    char where[64];
    if (argc > 1 && strchr(argv[1], ':'))
        return argc > 2 ? attack(argv[1], atof(argv[2])) : show(argv[1]);
    printf("seed %d\n", SEED);
    fake.version = LEASE_VERSION;
    hold_port();
    snprintf(where, sizeof where, "eth://127.0.0.1:%u", fake.port);
    CHECK(pthread_create(&thread, NULL, be_late_card, NULL) == 0, "no card");
    if (check_bad)
        return 1;
    strangers(where);
    failures(where);
    long_batch(where);
    kept(where);
    fake.end = true;
    pthread_join(thread, NULL);
    close(fake.fd);
    close(fake.held);
    DONE();
}
