/* test_control_rtl.c : rtl/shell/control.sv answers requests of hls/card/lease.def like
 * host/control. Nine hosts want seven leases; 3 * 10^4 requests (`long`: 3 * 10^6), some repeated,
 * stale, forged or damaged. */
#include "base/clock.h"
#include "base/ration.h"
#include "card_frames.h"
#include "control_oracle.h"
#include "rtl_rand.h"
#include "sim/control_port.h"
#include "sim/rtl/responder.h"
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SEED = 20, HOSTS = 9 };
static uint64_t rnd = SEED;

static struct responder *responder;
static uint32_t asker_ip; /* sender of the last datagram */
static uint16_t asker_port;
static uint8_t answer[LEASE_BYTES];
static size_t answer_n;
static int answers;

static void answered(void *arg, uint32_t ip, uint16_t port, const uint8_t *bytes, size_t n)
{
    (void)arg;
    CHECK(ip == asker_ip && port == asker_port, "an answer goes to %x:%u, not %x:%u", ip, port,
          asker_ip, asker_port);
    memcpy(answer, bytes, n);
    answer_n = n;
    answers++;
}

static int commits(const struct side *s)
{
    int n = 0;
    for (int i = 0; i < s->n_log; i++)
        n += s->log[i][0] == REG_JOB_COMMIT;
    return n;
}

static void give(const uint8_t *bytes, size_t n)
{
    static uint64_t count;
    uint8_t want[LEASE_BYTES];
    real.n_log = model.n_log = answers = 0;
    asker_ip = rtl_rand(&rnd);
    asker_port = (uint16_t)rtl_rand(&rnd);
    const size_t want_n = expect(bytes, n, want);
    CHECK(responder_take(responder, asker_ip, asker_port, bytes, n) == 0, "datagram %llu",
          (unsigned long long)count);
    CHECK(answers == (want_n != 0), "datagram %llu, of %zu bytes: %d answers",
          (unsigned long long)count, n, answers);
    CHECK(!answers || answer_n <= n, "datagram %llu, of %zu bytes: an answer of %zu",
          (unsigned long long)count, n, answer_n);
    CHECK(!want_n || (answer_n == want_n && !memcmp(answer, want, want_n)),
          "datagram %llu: kind %u, status %u and not %u, %u done and not %u",
          (unsigned long long)count, bytes[4], answer[5], want[5], answer[7], want[7]);
    CHECK(bytes[4] == LEASE_CLOSE ||
              (real.n_log == model.n_log &&
               !memcmp(real.log, model.log, sizeof *real.log * (size_t)real.n_log)),
          "datagram %llu: other registers are written", (unsigned long long)count);
    CHECK(commits(&real) == commits(&model), "datagram %llu: %d commits and not %d",
          (unsigned long long)count, commits(&real), commits(&model));
    count++;
}

static void pass_tick(void)
{
    real.n_log = model.n_log = answers = 0;
    for (int i = 0; i < LEASE_MAX; i++)
        if (lease[i].live && --lease[i].left == 0) {
            end_lease(i);
            expired++;
        }
    CHECK(responder_tick(responder) == 0 && !answers && commits(&real) == commits(&model),
          "a tick: %d commits and not %d", commits(&real), commits(&model));
}

static size_t put(struct lease_message m, uint8_t *bytes)
{
    m.version = LEASE_VERSION;
    return lease_put(&m, bytes);
}

static const struct lease_message *ask(struct lease_message m)
{
    static struct lease_message out;
    uint8_t bytes[LEASE_BYTES];
    give(bytes, put(m, bytes));
    CHECK(lease_get(&out, answer, answer_n), "no answer");
    return &out;
}

static void add(struct lease_message *m, uint32_t at, uint32_t value)
{
    m->at[m->n] = at;
    m->value[m->n++] = value;
}

static struct lease_message start_of(uint64_t secret, uint32_t sequence, uint32_t job,
                                     uint32_t base)
{
    struct lease_message m = {.kind = LEASE_DO, .secret = secret, .sequence = sequence};
    add(&m, REG_JOB_INDEX, job);
    add(&m, REG_JOB_RANKS, 2);
    add(&m, REG_JOB_KEY_LO, 0x5ec7e7);
    add(&m, REG_JOB_SLOT_BASE, base);
    add(&m, REG_JOB_SLOTS, 8);
    add(&m, REG_JOB_COMMIT, 1);
    add(&m, REG_STATUS | LEASE_READ, 0);
    return m;
}

static void examples(void)
{
    const uint64_t a = 0xa0a1a2a3a4a5a6a7, b = 0xb0b1b2b3b4b5b6b7;
    struct lease_message m = {.kind = LEASE_DO, .secret = a};
    CHECK(ask(m)->status == LEASE_STATUS_UNKNOWN, "no lease, and served");
    CHECK(ask((struct lease_message){.kind = LEASE_OPEN, .secret = a, .sequence = 7})->status == 0,
          "no lease to be had");
    CHECK(ask((struct lease_message){.kind = LEASE_OPEN, .secret = b, .sequence = 70})->status == 0,
          "no second lease to be had");
    m = start_of(a, 8, 1, 16);
    const struct lease_message *out = ask(m);
    CHECK(out->done == 7 && out->value[6] == 0 && out->value[2] == 0, "a's job does not start");
    CHECK(ask(m)->done == 7 && real.n_log == 0, "a repeated request acts twice");
    m.n = 0;
    CHECK(ask(m)->status == LEASE_STATUS_SEQUENCE, "a short request has a long one's answer");
    CHECK(ask(start_of(b, 71, 1, 64))->done == 5, "b starts a's job");
    CHECK(ask(start_of(b, 72, 0, 16))->value[6] == REG_STATUS_REFUSED, "b takes a's slots");
    m = (struct lease_message){.kind = LEASE_DO, .secret = b, .sequence = 73};
    add(&m, REG_JOB_INDEX, 1);
    add(&m, REG_RANK_COMMIT, 1);
    CHECK(ask(m)->done == 1, "b moves a's ranks");
    m.at[1] = REG_JOB_COMMIT, m.value[1] = 0, m.sequence = 74;
    CHECK(ask(m)->done == 1, "b stops a's job");
    CHECK(ask(start_of(b, 75, 0, 0))->value[6] == 0, "b's job does not start");
    m = (struct lease_message){.kind = LEASE_DO, .secret = b, .sequence = 76};
    for (uint32_t at = REG_JOB_RANKS; at <= REG_RANK_COMMIT; at += 4)
        add(&m, at | LEASE_READ, 0);
    out = ask(m);
    for (int i = 0; i < out->n; i++)
        CHECK(out->value[i] == 0, "register %x reads %x", m.at[i], out->value[i]);
    for (int i = 0; i < LEASE_TICKS - 1; i++)
        pass_tick();
    CHECK(ask((struct lease_message){.kind = LEASE_KEEP, .secret = b})->status == 0, "b is over");
    pass_tick();
    CHECK(ask((struct lease_message){.kind = LEASE_KEEP, .secret = a})->status ==
              LEASE_STATUS_UNKNOWN,
          "a silent lease lives on");
    CHECK(ask(start_of(b, 77, 1, 16))->value[6] == 0, "a's slots are not free");
    CHECK(ask((struct lease_message){.kind = LEASE_CLOSE, .secret = b})->status == 0 &&
              control_jobs_running(&jobs) == 0,
          "b does not end");
}

struct host {
    uint64_t secret;
    uint32_t sequence;
    uint8_t last[LEASE_BYTES];
    size_t last_n;
};

static struct lease_message random_operations(struct lease_message m)
{
    static const uint16_t often[] = {
        REG_JOB_INDEX,  REG_JOB_RANKS,  REG_JOB_SLOT_BASE, REG_JOB_SLOTS,
        REG_JOB_COMMIT, REG_JOB_COMMIT, REG_RANK_COMMIT,   REG_RANK_IP,
        REG_SEEN_RANK,  REG_SEEN_IP,    REG_SEEN_PORT,     REG_STATUS,
        REG_CTRL,       REG_DROP_IN,    REG_JOB_KEY_LO,    SHELL_PORT};
    const bool whole = rtl_rand(&rnd) % 2;
    if (whole) {
        m = start_of(m.secret, m.sequence, rtl_rand(&rnd) % 5, rtl_rand(&rnd) % 16 * 8);
        m.value[4] = 1 + rtl_rand(&rnd) % 64;
        m.value[5] = rtl_rand(&rnd) % 4;
    }
    const uint32_t n = whole ? 10 : rtl_rand(&rnd) % (LEASE_OPERATIONS + 1);
    while (m.n < n) {
        const uint32_t pick = rtl_rand(&rnd) % 20;
        uint32_t at = often[rtl_rand(&rnd) % (sizeof often / sizeof *often)];
        if (pick == 0)
            at = rtl_rand(&rnd) & 0x0fff;
        if (pick == 1)
            at = LEASE_REG_MALFORMED + 4 * (rtl_rand(&rnd) % 6);
        if (pick == 2)
            at = rtl_rand(&rnd) & 0x7fffffff;
        if (pick > 2 && pick < 8)
            at = 4 * (rtl_rand(&rnd) % 32);
        add(&m, at | (rtl_rand(&rnd) % 3 ? 0 : LEASE_READ), rtl_rand(&rnd) % 9);
    }
    return m;
}

static size_t damage(uint8_t *bytes, size_t n)
{
    switch (rtl_rand(&rnd) % 5) {
    case 0:
        bytes[rtl_rand(&rnd) % n] ^= (uint8_t)(1u << rtl_rand(&rnd) % 8);
        return n;
    case 1:
        return 1 + rtl_rand(&rnd) % n;
    case 2:
        memset(bytes + n, 0x5a, LEASE_BYTES + 64 - n);
        return n + 1 + rtl_rand(&rnd) % (LEASE_BYTES + 64 - n);
    default:
        bytes[rtl_rand(&rnd) % 8] ^= (uint8_t)(1u << rtl_rand(&rnd) % 8);
        lease_put_word(crc32c(bytes, n - 4), bytes + n - 4);
        return n;
    }
}

/* The card latches a wrong source of rank 0. */
static void be_seen(void)
{
    uint8_t bytes[CARD_FRAME_BYTES], payload[PKT_BEAT_BYTES] = {0};
    struct pkt_header h = {
        .key = 0x5ec7e7, .job = (uint16_t)(rtl_rand(&rnd) % 4), .op = PKT_OP_SUM};
    const size_t n = frame_put(h, payload, 1, bytes);
    const uint32_t ip = rtl_rand(&rnd);
    card_frame(real.card, ip, 99, bytes, n);
    card_frame(model.card, ip, 99, bytes, n);
}

static void by_chance(int n)
{
    struct host host[HOSTS];
    for (int i = 0; i < HOSTS; i++)
        host[i] = (struct host){.secret = (uint64_t)rtl_rand(&rnd) << 32 | rtl_rand(&rnd)};
    host[1].secret = host[0].secret ^ 1ull << 63; /* every bit of a secret counts */
    host[2].secret = host[0].secret ^ 1;
    for (int i = 0; i < n && check_bad < 10; i++) {
        struct host *h = &host[(rtl_rand(&rnd) % 4 + (uint32_t)i / 100) % HOSTS];
        uint8_t bytes[LEASE_BYTES + 64];
        struct lease_message m = {.secret = h->secret, .sequence = h->sequence + 1};
        const uint32_t what = rtl_rand(&rnd) % 64;
        if (what == 0 || (what < 12 && lease_of(h->secret) < 0))
            m.kind = LEASE_OPEN;
        else if (what == 1)
            m.kind = LEASE_CLOSE;
        else if (what < 4)
            m.kind = LEASE_KEEP;
        else
            m = (m.kind = LEASE_DO, random_operations(m));
        m.kind = m.n ? LEASE_DO : m.kind ? m.kind : LEASE_DO;
        if (what == 12)
            m.sequence += rtl_rand(&rnd) % 5 - 2;
        size_t bytes_n = put(m, bytes);
        if (what == 13 && h->last_n)
            memcpy(bytes, h->last, bytes_n = h->last_n);
        if (what > 59)
            bytes_n = damage(bytes, bytes_n);
        else if (what != 12 && what != 13)
            memcpy(h->last, bytes, h->last_n = bytes_n);
        give(bytes, bytes_n);
        const int l = lease_of(h->secret);
        if (l >= 0)
            h->sequence = lease[l].sequence;
        if (rtl_rand(&rnd) % 8 == 0)
            pass_tick();
        if (rtl_rand(&rnd) % 4 == 0)
            be_seen();
    }
}

static uint64_t slow_reads;

static int slow_read(void *arg, uint32_t at, uint32_t *value)
{
    const double until = clock_s() + RATION_SLICE_S;
    while (clock_s() < until)
        ;
    slow_reads++;
    return side_read(arg, at, value);
}

static void turns_of_port(void)
{
    enum { ASKED = 20 };
    const struct control_ops slow = {side_write, slow_read, side_time};
    struct lease_message m = {.kind = LEASE_OPEN, .secret = 77, .sequence = 1};
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct control_port *control;
    uint8_t bytes[LEASE_BYTES];
    uint16_t port = 0;
    int n_answers = 0;
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (control_port_open(&slow, &real, INADDR_LOOPBACK, &port, FRAME_PORT,
                          (struct netfault_rates){0}, SEED, &control)) {
        CHECK(false, "no port");
        return;
    }
    to.sin_port = htons(port);
    CHECK(connect(fd, (struct sockaddr *)&to, sizeof to) == 0, "cannot connect");
    for (int i = 0; i <= ASKED; i++, m.sequence++) {
        CHECK(send(fd, bytes, put(m, bytes), 0) > 0, "cannot send");
        m.kind = LEASE_DO;
        m.n = 1;
        m.at[0] = REG_ID | LEASE_READ;
    }
    slow_reads = 0;
    for (const double until = clock_s() + 20; n_answers <= ASKED && clock_s() < until;) {
        const uint64_t before = slow_reads;
        CHECK(control_port_serve(control, (uint64_t)(clock_s() * 1e9)) == 0, "the card fails");
        CHECK(slow_reads - before <= 1, "%llu requests in a turn",
              (unsigned long long)(slow_reads - before));
        while (recv(fd, bytes, sizeof bytes, 0) > 0)
            n_answers++;
    }
    CHECK(n_answers == ASKED + 1 && slow_reads == ASKED, "%d answers, %llu reads", n_answers,
          (unsigned long long)slow_reads);
    control_port_close(control);
    close(fd);
}

int main(int argc, char **argv)
{
    const bool is_long = argc > 1 && !strcmp(argv[1], "long");
    printf("seed %d\n", SEED);
    real.card = card_open(card_says, NULL);
    model.card = card_open(card_says, NULL);
    CHECK(real.card && model.card && control_jobs_init(&jobs, &ops, &model, true) == 0 &&
              responder_open(&ops, &real, FRAME_PORT, answered, NULL, &responder) == 0,
          "no card");
    if (check_bad)
        return 1;
    examples();
    by_chance(is_long ? 3000000 : 30000);
    printf("%u malformed, %u leases expired, %d jobs run\n", malformed, expired,
           control_jobs_running(&jobs));
    CHECK(malformed > 100 && expired > 5, "too little happens");
    turns_of_port();
    responder_close(responder);
    card_close(real.card);
    card_close(model.card);
    DONE();
}
