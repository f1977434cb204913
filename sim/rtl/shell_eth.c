/* shell_eth.c : runs the Verilated card with LiteEth. Moves frames by words, at a wire's speed. */
#define MODEL_PREFIX shell_
#include "sim/rtl/shell_eth.h"
#include "base/clock.h"
#include "base/err.h"
#include "hls/card/lease.h"
#include "sim/rtl/axil_port.h"
#include "sim/ether.h"
#include "sim/rtl/verilated_model.h"
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum {
    /* After so many clocks without a word on the wire, the card is idle: more than it needs to
     * store a frame, or to drop a frame to an IP whose MAC it does not know. */
    QUIET = 2048,
    RESET_CLOCKS = 8,
    PREAMBLE = 8,
    CRC = 4,
    RESIDUE = 0x2144df1c, /* CRC32 of data and its CRC */
    GAP = 12,             /* bytes between frames */
    MIN_BYTES = 60,
    BEAT = 64,
    MAX_BYTES = PREAMBLE + ETHER_MAX + CRC
};

/* a direction of the wire */
struct way {
    uint8_t *last, *last_be, *valid, *ready;
    uint32_t *data;
    uint8_t frame[MAX_BYTES + 4];
    /* n: length of `frame` (only rx); at: bytes sent to the card (rx) or received from it (tx) */
    size_t n, at;
    int credit; /* tenths of bytes that may pass */
};

struct eth {
    struct model *model;
    uint8_t *rst, *count, *rx_waits, *tx_waits, *pulse, *busy;
    struct way rx, tx;
    struct axil_port bus;
    shell_out *out;
    void *arg;
    struct frame_queue *in;
    int line;
    unsigned stall;
    uint64_t random;
    uint64_t now, last, poked, hole;
    bool controlled; /* by datagrams */
    /* time of the next pulse, by clock_s() */
    double pulse_s;
    struct control_time total;
    struct shell_eth_counts counts;
};

static const uint8_t preamble[PREAMBLE] = {0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0xd5};

static void moved(struct eth *s)
{
    s->total.clocks += s->last && s->now < s->last + QUIET ? s->now - s->last : 1;
    s->last = s->now;
}

static int begin(struct eth *s)
{
    const struct queued_frame *f = s->in ? frame_queue_first(s->in) : NULL;
    if (!f)
        return 0;
    struct way *w = &s->rx;
    uint8_t *at = w->frame + PREAMBLE;
    const size_t most = ETHER_MAX, short_n = f->n < most ? f->n : most;
    const size_t n = short_n < MIN_BYTES && !(f->port & SHELL_ETH_SHORT) ? MIN_BYTES : short_n;
    memcpy(w->frame, preamble, PREAMBLE);
    memset(at, 0, MIN_BYTES);
    memcpy(at, s->in->bytes + f->at, short_n);
    const uint32_t crc = (uint32_t)crc32(0, at, (uInt)n) ^ ((f->port & SHELL_ETH_BAD_CRC) != 0);
    for (int i = 0; i < CRC; i++)
        at[n + (size_t)i] = (uint8_t)(crc >> 8 * i);
    w->n = PREAMBLE + n + CRC;
    w->at = 0;
    frame_queue_drop(s->in);
    return 1;
}

static int passes(struct eth *s, struct way *w)
{
    if (shell_stalls(&s->random, s->stall))
        return 0;
    if (!s->line)
        return w->credit >= 0 || !++w->credit;
    w->credit += w->credit < 40 ? s->line : 0;
    return w->credit >= 40;
}

static void spend(struct eth *s, struct way *w, int last)
{
    w->credit = s->line ? w->credit - 40 - (last ? 10 * GAP : 0) : last ? -1 : 0;
}

static void offer(struct eth *s)
{
    struct way *w = &s->rx;
    /* an offered word must stay until it is accepted */
    if (*w->valid || !passes(s, w) || (w->at == w->n && !begin(s)))
        return;
    const size_t left = w->n - w->at;
    uint8_t b[4] = {0};
    memcpy(b, w->frame + w->at, left < 4 ? left : 4);
    *w->data = (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
    *w->last = left <= 4;
    *w->last_be = (uint8_t)(left <= 4 ? 1 << (left - 1) : 0);
    *w->valid = 1;
}

static void took(struct eth *s)
{
    struct way *w = &s->rx;
    moved(s);
    *w->valid = 0;
    spend(s, w, *w->last);
    w->at = *w->last ? w->n : w->at + 4;
    if (!*w->last)
        return;
    s->counts.bytes_in += w->n + GAP;
    s->total.beats_in += w->n > ETHER_HEADERS ? (w->n - ETHER_HEADERS) / BEAT : 0;
}

static void gave(struct eth *s)
{
    struct way *w = &s->tx;
    moved(s);
    if (w->at && s->hole > s->counts.hole)
        s->counts.hole = s->hole;
    s->hole = 0;
    for (int i = 0; i < 4; i++)
        if (w->at + (size_t)i < MAX_BYTES)
            w->frame[w->at + (size_t)i] = (uint8_t)(*w->data >> 8 * i);
    const int last = *w->last, be = last ? *w->last_be : 8;
    const size_t n = w->at + (be & 1 ? 1 : be & 2 ? 2 : be & 4 ? 3 : 4);
    spend(s, w, last);
    w->at = last ? 0 : n < MAX_BYTES ? n : MAX_BYTES;
    if (!last)
        return;
    const int good = n <= MAX_BYTES && n >= PREAMBLE + MIN_BYTES + CRC &&
                     !memcmp(w->frame, preamble, PREAMBLE) &&
                     crc32(0, w->frame + PREAMBLE, (uInt)(n - PREAMBLE)) == RESIDUE;
    s->counts.sent++;
    s->counts.bad += !good;
    s->counts.bytes_out += n + GAP;
    s->total.beats_out += n > ETHER_HEADERS ? (n - ETHER_HEADERS) / BEAT : 0;
    if (good)
        s->out(s->arg, 0, 0, w->frame + PREAMBLE, n - PREAMBLE - CRC);
}

/* A transfer happens if valid and ready were set before the edge. */
static void tick(struct eth *s)
{
    s->now++;
    offer(s);
    *s->tx.ready = (uint8_t)passes(s, &s->tx);
    model_eval(s->model);
    const int takes = *s->rx.valid && *s->rx.ready;
    s->counts.wire_waits += *s->rx.valid && !*s->rx.ready;
    s->counts.core_waits += *s->rx_waits;
    s->counts.shell_waits += *s->tx_waits;
    uint64_t *const fates[] = {&s->counts.taken, &s->counts.error, &s->counts.other,
                               &s->counts.malformed, &s->counts.full};
    for (int i = 0; i < 5; i++)
        *fates[i] += *s->count >> i & 1;
    s->hole += *s->tx.ready && !*s->tx.valid;
    if (*s->tx.valid && *s->tx.ready)
        gave(s);
    model_tick(s->model);
    if (takes)
        took(s);
}

static void tick_any(void *s)
{
    tick(s);
}

static void settle(void *s)
{
    model_eval(((struct eth *)s)->model);
}

static void *port(void *model, const char *name)
{
    return model_port(model, name, NULL);
}

static void bind(struct eth *s)
{
    struct model *m = s->model;
    s->rst = port(m, "rst_i");
    s->count = port(m, "count_o");
    s->rx_waits = port(m, "rx_waits_o");
    s->tx_waits = port(m, "tx_waits_o");
    s->pulse = port(m, "tick_i");
    s->busy = port(m, "busy_o");
    s->rx = (struct way){port(m, "rx_last_i"),
                         port(m, "rx_last_be_i"),
                         port(m, "rx_valid_i"),
                         port(m, "rx_ready_o"),
                         port(m, "rx_data_i"),
                         {0},
                         0,
                         0,
                         0};
    s->tx = (struct way){port(m, "tx_last_o"),
                         port(m, "tx_last_be_o"),
                         port(m, "tx_valid_o"),
                         port(m, "tx_ready_i"),
                         port(m, "tx_data_o"),
                         {0},
                         0,
                         0,
                         0};
    axil_bind(&s->bus, port, m);
    s->bus.arg = s;
    s->bus.eval = settle;
    s->bus.tick = tick_any;
}

static void eth_close(void *shell)
{
    struct eth *s = shell;
    if (s)
        model_close(s->model);
    free(s);
}

static void reset(struct eth *s)
{
    *s->rst = 1;
    for (int i = 0; i < RESET_CLOCKS; i++)
        model_tick(s->model);
    *s->rst = 0;
    model_tick(s->model);
}

static int eth_open(const char *wave, shell_out *out, void *arg, void **shell)
{
    static char name[] = "narrowcast-sim";
    char *argv[] = {name, NULL};
    if (wave)
        return ERR(-ENOSYS, "cannot write '%s': the card behind LiteEth records no waves", wave);
    struct eth *s = calloc(1, sizeof *s);
    if (!s)
        return ERR(-ENOMEM, "cannot make a card: no memory");
    s->model = model_open(1, argv);
    s->out = out;
    s->arg = arg;
    bind(s);
    *(uint8_t *)port(s->model, "direct_i") = 1;
    reset(s);
    s->random = s->now = 1;
    s->line = SHELL_ETH_GIGABIT;
    *shell = s;
    return 0;
}

static void eth_address(void *shell, const uint8_t mac[6], uint32_t ip, uint16_t udp_port,
                        uint16_t control_port)
{
    struct eth *s = shell;
    uint64_t number = 0;
    for (int i = 0; i < 6; i++)
        number = number << 8 | mac[i];
    *(uint64_t *)port(s->model, "mac_i") = number;
    *(uint32_t *)port(s->model, "ip_i") = ip;
    *(uint16_t *)port(s->model, "port_i") = udp_port;
    *(uint16_t *)port(s->model, "control_port_i") = control_port;
    *(uint8_t *)port(s->model, "direct_i") = !control_port;
    s->controlled = control_port != 0;
    s->pulse_s = clock_s();
    reset(s);
}

static int eth_write(void *shell, uint32_t at, uint32_t value)
{
    struct eth *s = shell;
    const int rc = axil_write(&s->bus, at, value);
    s->poked = s->now;
    return rc;
}

static int eth_read(void *shell, uint32_t at, uint32_t *value)
{
    return axil_read(&((struct eth *)shell)->bus, at, value);
}

/* since: clock of the last register write or lease tick, or of the start of run(). */
static int is_quiet(const struct eth *s, uint64_t since)
{
    const uint64_t last = s->last > since ? s->last : since;
    return !frame_queue_first(s->in) && s->rx.at == s->rx.n && s->now >= last + QUIET &&
           !(s->controlled && *s->busy);
}

static struct shell_run eth_run(void *shell, struct frame_queue *in, uint64_t max_clocks)
{
    struct eth *s = shell;
    const struct control_time before = s->total;
    const uint64_t start = s->now;
    s->in = in;
    while (s->now - start < max_clocks && !is_quiet(s, start))
        tick(s);
    const struct control_time now = s->total;
    const struct shell_run r = {now.clocks - before.clocks, now.beats_in - before.beats_in,
                                now.beats_out - before.beats_out, is_quiet(s, start), 0};
    s->in = NULL;
    return r;
}

/* Advances the leases by real time, whatever the clock, unless queued frames may include a KEEP. */
static void pulse(struct eth *s)
{
    const double now = clock_s();
    if (!s->controlled || now < s->pulse_s || frame_queue_first(s->in))
        return;
    s->pulse_s = now + 1e-3 * LEASE_TICK_MS;
    *s->pulse = 1;
    tick(s);
    *s->pulse = 0;
    s->poked = s->now;
}

static int eth_step(void *shell, struct frame_queue *in, uint64_t max_clocks)
{
    struct eth *s = shell;
    s->in = in;
    pulse(s);
    for (uint64_t i = 0; i < max_clocks && !is_quiet(s, s->poked); i++)
        tick(s);
    return is_quiet(s, s->poked);
}

static struct control_time eth_time(const void *shell)
{
    return ((const struct eth *)shell)->total;
}

static uint64_t eth_ticks(const void *shell)
{
    return ((const struct eth *)shell)->now;
}

static void eth_stall(void *shell, unsigned of_256)
{
    ((struct eth *)shell)->stall = of_256;
}

static void eth_report(const void *shell, struct text *to)
{
    const struct shell_eth_counts *c = shell_eth_counts(shell);
    const char *const names[] = {"taken", "crc", "other", "malformed", "full", "out", "out_bad"};
    const uint64_t of[] = {c->taken, c->error, c->other, c->malformed, c->full, c->sent, c->bad};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        text_add(to, "eth_%s %llu\n", names[i], (unsigned long long)of[i]);
    text_add(to, "core_waits %llu\nshell_waits %llu\n", (unsigned long long)c->core_waits,
             (unsigned long long)c->shell_waits);
}

const struct shell_eth_counts *shell_eth_counts(const void *shell)
{
    return &((const struct eth *)shell)->counts;
}

void shell_eth_line(void *shell, int bytes_in_10)
{
    struct eth *s = shell;
    s->line = bytes_in_10;
    s->rx.credit = s->tx.credit = 0;
}

const struct shell_ops shell_eth = {
    .control = {.write = eth_write, .read = eth_read, .time = eth_time},
    .open = eth_open,
    .close = eth_close,
    .run = eth_run,
    .step = eth_step,
    .ticks = eth_ticks,
    .stall = eth_stall,
    .address = eth_address,
    .report = eth_report,
};
