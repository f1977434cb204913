/* rtl/shell/control.sv : every request gets the answer that hls/lease.def and host/control make of it, byte for byte:
 * host/control in C, in front of a card of its own, is the oracle. Requests of eight hosts for
 * seven leases, in order, repeated, stale, forged and damaged; silence; what a card has seen of a
 * job. 3 * 10^4 datagrams, with `long` 3 * 10^6. */
#include "card_frames.h"
#include "check.h"
#include "hls/lease.h"
#include "rtl_rand.h"
#include "sim/card_model.h"
#include "sim/responder.h"
#include <string.h>

enum { SEED = 20, FRAME_PORT = 20035, HOSTS = 9, MOST_LOG = 512 };
enum {
#define SHELL_REG(NAME, at, access, what) SHELL_##NAME = at,
#include "hls/shell.def"
};
static uint64_t rnd = SEED;

/* ---- two cards, one behind the hardware, one behind the oracle ---- */

struct side {
    struct card *card;
    uint32_t log[MOST_LOG][2]; /* what was written since the last datagram */
    int n_log;
};
static struct side real, model;
static struct control_jobs jobs; /* of the oracle; peers are leases */
static struct responder *responder;

static int side_write(void *arg, uint32_t at, uint32_t value)
{
    struct side *s = arg;
    if (s->n_log < MOST_LOG) {
        s->log[s->n_log][0] = at;
        s->log[s->n_log++][1] = value;
    }
    return card_write(s->card, at, value) != 0;
}

static int side_read(void *arg, uint32_t at, uint32_t *value)
{
    return card_read(((struct side *)arg)->card, at, value) != 0;
}

static struct control_time side_time(const void *arg)
{
    (void)arg;
    return (struct control_time){0};
}

static const struct control_ops ops = {side_write, side_read, side_time};

static void card_says(void *arg, uint32_t ip, uint16_t port, const uint8_t *bytes, size_t n)
{
    (void)arg, (void)ip, (void)port, (void)bytes, (void)n;
}

static uint8_t answer[LEASE_BYTES];
static size_t answer_n;
static int answers;

static void answered(void *arg, uint32_t ip, uint16_t port, const uint8_t *bytes, size_t n)
{
    (void)arg;
    CHECK(ip == 0x0a000001 && port == 777, "an answer goes to %x:%u", ip, port);
    memcpy(answer, bytes, n);
    answer_n = n;
    answers++;
}

/* ---- the oracle ---- */

static struct {
    bool live;
    uint64_t secret;
    uint32_t sequence;
    int left;
    uint8_t answer[LEASE_BYTES];
    size_t answer_n;
} lease[LEASE_MOST];
static uint32_t malformed, expired;

static int lease_of(uint64_t secret)
{
    for (int i = 0; i < LEASE_MOST; i++)
        if (lease[i].live && lease[i].secret == secret)
            return i;
    return -1;
}

/* As the hardware ends one: no JOB_INDEX is put back. */
static void end_lease(int i)
{
    control_jobs_end(&jobs, i);
    lease[i].live = false;
}

static bool local(uint32_t at, uint32_t *value)
{
    uint32_t live = 0;
    for (int i = 0; i < LEASE_MOST; i++)
        live += lease[i].live;
    switch (at) {
    case SHELL_PORT:
        return *value = FRAME_PORT, true;
    case LEASE_REG_MALFORMED:
        return *value = malformed, true;
    case LEASE_REG_BUSY:
        return *value = 0, true;
    case LEASE_REG_EXPIRED:
        return *value = expired, true;
    case LEASE_REG_LIVE:
        return *value = live | LEASE_MOST << 16, true;
    case LEASE_REG_SILENCE:
        return *value = LEASE_TICKS * LEASE_TICK_MS, true;
    default:
        return false;
    }
}

static void operate(int peer, const struct lease_message *m, struct lease_message *out)
{
    control_jobs_write(&jobs, peer, REG_JOB_INDEX, UINT32_MAX);
    control_jobs_write(&jobs, peer, REG_JOB_COMMIT, 0);
    control_jobs_write(&jobs, peer, REG_RANK_COMMIT, UINT32_MAX);
    for (bool refused = false; out->n < m->n; out->n++) {
        const uint32_t at = m->at[out->n] & ~LEASE_READ;
        const bool read = m->at[out->n] & LEASE_READ;
        uint32_t value = 0;
        if (!refused && read && !local(at, &value))
            refused = control_jobs_read(&jobs, peer, at, &value) != 0;
        else if (!refused && !read)
            refused = control_jobs_write(&jobs, peer, at, m->value[out->n]) != 0;
        out->done = (uint8_t)(out->done + !refused);
        out->at[out->n] = m->at[out->n];
        out->value[out->n] = refused ? 0 : value;
    }
}

/* The answer to a datagram into to; 0: there is none. */
static size_t expect(const uint8_t *bytes, size_t n, uint8_t *to)
{
    struct lease_message m = {0}, out;
    if (!lease_get(&m, bytes, n) || (m.version == LEASE_VERSION &&
                                     (m.kind < LEASE_OPEN || m.kind > LEASE_CLOSE ||
                                      m.done ||
                                      (m.n && m.kind != LEASE_DO)))) {
        malformed++;
        return 0;
    }
    if (m.version != LEASE_VERSION) {
        m.kind = bytes[4];
        m.sequence = lease_word(bytes + 8);
        m.secret = lease_word(bytes + 12) | (uint64_t)lease_word(bytes + 16) << 32;
    }
    out = (struct lease_message){
        .version = LEASE_VERSION, .kind = m.kind, .sequence = m.sequence, .secret = m.secret};
    const bool sequenced = m.kind == LEASE_OPEN || m.kind == LEASE_DO;
    int l = lease_of(m.secret);
    if (m.version != LEASE_VERSION) {
        out.status = LEASE_STATUS_VERSION;
        return lease_put(&out, to);
    }
    if (l >= 0)
        lease[l].left = LEASE_TICKS;
    if (l >= 0 && sequenced && m.sequence == lease[l].sequence) {
        memcpy(to, lease[l].answer, lease[l].answer_n);
        return lease[l].answer_n;
    }
    if (m.kind == LEASE_OPEN && l >= 0)
        out.status = LEASE_STATUS_SEQUENCE;
    else if (m.kind == LEASE_OPEN) {
        for (l = LEASE_MOST - 1; l >= 0 && lease[l].live; l--) {
        }
        out.status = l < 0 ? LEASE_STATUS_FULL : LEASE_STATUS_DONE;
    } else if (l < 0)
        out.status = LEASE_STATUS_UNKNOWN;
    else if (m.kind == LEASE_DO && m.sequence != lease[l].sequence + 1)
        out.status = LEASE_STATUS_SEQUENCE;
    if (out.status == LEASE_STATUS_DONE && m.kind == LEASE_OPEN) {
        lease[l].live = true;
        lease[l].secret = m.secret;
        lease[l].left = LEASE_TICKS;
    }
    if (out.status == LEASE_STATUS_DONE && m.kind == LEASE_DO)
        operate(l, &m, &out);
    if (out.status == LEASE_STATUS_DONE && m.kind == LEASE_CLOSE)
        end_lease(l);
    const size_t bytes_out = lease_put(&out, to);
    if (out.status == LEASE_STATUS_DONE && sequenced) {
        lease[l].sequence = m.sequence;
        memcpy(lease[l].answer, to, bytes_out);
        lease[l].answer_n = bytes_out;
    }
    return bytes_out;
}

/* ---- both ---- */

static void give(const uint8_t *bytes, size_t n)
{
    static uint64_t count;
    uint8_t want[LEASE_BYTES];
    real.n_log = model.n_log = answers = 0;
    const size_t want_n = expect(bytes, n, want);
    CHECK(responder_take(responder, 0x0a000001, 777, bytes, n) == 0, "datagram %llu",
          (unsigned long long)count);
    CHECK(answers == (want_n != 0), "datagram %llu, of %zu bytes: %d answers",
          (unsigned long long)count, n, answers);
    CHECK(!want_n || (answer_n == want_n && !memcmp(answer, want, want_n)),
          "datagram %llu: kind %u, status %u and not %u, %u done and not %u",
          (unsigned long long)count, bytes[4], answer[5], want[5], answer[7], want[7]);
    CHECK(bytes[4] == LEASE_CLOSE || (real.n_log == model.n_log &&
                                      !memcmp(real.log, model.log, sizeof *real.log * (size_t)real.n_log)),
          "datagram %llu: other registers are written", (unsigned long long)count);
    count++;
}

static void pass_tick(void)
{
    answers = 0;
    for (int i = 0; i < LEASE_MOST; i++)
        if (lease[i].live && --lease[i].left == 0) {
            end_lease(i);
            expired++;
        }
    CHECK(responder_tick(responder) == 0 && !answers, "a tick");
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

/* ---- by example ---- */

static void add(struct lease_message *m, uint32_t at, uint32_t value)
{
    m->at[m->n] = at;
    m->value[m->n++] = value;
}

static struct lease_message start_of(uint64_t secret, uint32_t sequence, uint32_t job, uint32_t base)
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
    pass_tick(); /* a's last */
    CHECK(ask((struct lease_message){.kind = LEASE_KEEP, .secret = a})->status ==
              LEASE_STATUS_UNKNOWN,
          "a silent lease lives on");
    CHECK(ask(start_of(b, 77, 1, 16))->value[6] == 0, "a's slots are not free");
    CHECK(ask((struct lease_message){.kind = LEASE_CLOSE, .secret = b})->status == 0 &&
              control_jobs_running(&jobs) == 0,
          "b does not end");
}

/* ---- by chance ---- */

struct host {
    uint64_t secret;
    uint32_t sequence;
    uint8_t last[LEASE_BYTES]; /* what it said last */
    size_t last_n;
};

static struct lease_message random_operations(struct lease_message m)
{
    static const uint16_t often[] = {
        REG_JOB_INDEX,  REG_JOB_RANKS,   REG_JOB_SLOT_BASE, REG_JOB_SLOTS, REG_JOB_COMMIT,
        REG_JOB_COMMIT, REG_RANK_COMMIT, REG_RANK_IP,       REG_SEEN_RANK, REG_SEEN_IP,
        REG_SEEN_PORT,  REG_STATUS,      REG_CTRL,          REG_DROP_IN,   REG_JOB_KEY_LO,
        SHELL_PORT};
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

/* Damages a datagram in one of several ways; with a right CRC in half of them. */
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

/* Rank 0 of some job of key 0x5ec7e7 speaks from elsewhere: the card latches that. */
static void be_seen(void)
{
    uint8_t bytes[CARD_FRAME_BYTES], payload[PKT_BEAT_BYTES] = {0};
    struct pkt_header h = {.key = 0x5ec7e7, .job = (uint16_t)(rtl_rand(&rnd) % 4), .op = PKT_OP_SUM};
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
    host[1].secret = host[0].secret ^ 1ull << 63; /* all bits count */
    host[2].secret = host[0].secret ^ 1;
    for (int i = 0; i < n && check_bad < 10; i++) {
        /* some are silent for a while */
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
        if (what == 13 && h->last_n) /* lost answer, or late twin */
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
    responder_close(responder);
    card_close(real.card);
    card_close(model.card);
    DONE();
}
