/* shell_rtl.c : runs the Verilated nic_core by its streams, AXI-Lite registers and clock. */
#include "base/err.h"
#include "hls/core/beat.h"
#include "sim/rtl/axil_port.h"
#include "sim/rtl/verilated_model.h"
#include "sim/shell.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    /* clocks without a beat after which the card is idle: many times its longest path */
    QUIET = 512,
    FRAME_BEATS = 1 << 10, /* longest, outgoing */
    MAX_FLIT = 2 * BEAT_SIZE,
    RESET_CLOCKS = 8
};

struct rtl {
    struct model *model;
    uint8_t *rst, *rx_last, *rx_valid, *rx_ready, *tx_last, *tx_valid, *tx_ready;
    void *rx_data, *tx_data; /* [flit] */
    void *rx_keep, *tx_keep; /* a bit per byte */
    uint32_t *rx_ip, *tx_ip;
    size_t flit; /* bytes a clock */
    uint16_t *rx_port, *tx_port;
    struct axil_port bus;

    shell_out *out;
    void *arg;
    struct frame_queue *in; /* of run() or step(); else NULL */
    size_t in_at;           /* sent bytes of its first frame */
    uint32_t gap;           /* idle clocks to pass */
    unsigned stall;         /* of 256 clocks */
    uint64_t random;
    uint8_t frame[FRAME_BEATS * BEAT_SIZE];
    size_t frame_bytes;
    /* clocks since reset: now; at this run's first beat, after its last */
    uint64_t now, first, last;
    uint64_t poked; /* last register write */
    struct control_time total;
    uint64_t flits_in;
};

static void offer(struct rtl *s)
{
    const struct queued_frame *f = s->in ? frame_queue_first(s->in) : NULL;
    *s->rx_valid = 0;
    if (s->gap) {
        s->gap--;
        return;
    }
    if (!f || shell_stalls(&s->random, s->stall))
        return;
    uint8_t bytes[MAX_FLIT] = {0}, keep[MAX_FLIT / 8] = {0};
    const size_t left = f->n - s->in_at, n = left < s->flit ? left : s->flit;
    memcpy(bytes, s->in->bytes + f->at + s->in_at, n);
    memset(keep, 0xff, n / 8);
    if (n % 8)
        keep[n / 8] = (uint8_t)((1u << n % 8) - 1);
    const struct beat b[2] = {beat_load(bytes), beat_load(bytes + BEAT_SIZE)};
    memcpy(s->rx_data, b, s->flit);
    memcpy(s->rx_keep, keep, s->flit / 8);
    *s->rx_last = left <= s->flit;
    *s->rx_ip = s->in_at ? 0 : f->ip; /* valid with the first flit */
    *s->rx_port = s->in_at ? 0 : f->port;
    *s->rx_valid = 1;
}

static void moved(struct rtl *s)
{
    if (s->last == s->now + 1)
        /* the other direction has moved a beat in this clock too */
        return;
    if (!s->first)
        s->first = s->now;
    s->total.clocks += s->last && s->now < s->last + QUIET ? s->now + 1 - s->last : 1;
    s->last = s->now + 1;
}

/* Beats that begin among a frame's bytes from `from` up to `to`. */
static uint64_t beats_of(size_t from, size_t to)
{
    return (to + BEAT_SIZE - 1) / BEAT_SIZE - (from + BEAT_SIZE - 1) / BEAT_SIZE;
}

static void took(struct rtl *s)
{
    const struct queued_frame *f = frame_queue_first(s->in);
    const size_t from = s->in_at;
    moved(s);
    s->flits_in++;
    s->in_at += s->flit;
    s->total.beats_in += beats_of(from, s->in_at < f->n ? s->in_at : f->n);
    if (s->in_at < f->n)
        return;
    s->gap = f->gap;
    s->in_at = 0;
    frame_queue_drop(s->in);
}

static void gave(struct rtl *s)
{
    uint8_t bytes[MAX_FLIT], keep[MAX_FLIT / 8];
    struct beat b[2] = {beat_zero(), beat_zero()};
    memcpy(b, s->tx_data, s->flit);
    memcpy(keep, s->tx_keep, s->flit / 8);
    /* a flit is full, or half full if it has two beats */
    const size_t n = keep[s->flit / 8 - 1] ? s->flit : s->flit / 2;
    moved(s);
    s->total.beats_out += beats_of(s->frame_bytes, s->frame_bytes + n);
    if (s->frame_bytes + n <= sizeof s->frame) {
        for (size_t i = 0; i < 2; i++)
            beat_store(b[i], bytes + i * BEAT_SIZE);
        memcpy(s->frame + s->frame_bytes, bytes, n);
        s->frame_bytes += n;
    }
    if (*s->tx_last) {
        s->out(s->arg, *s->tx_ip, *s->tx_port, s->frame, s->frame_bytes);
        s->frame_bytes = 0;
    }
}

/* A transfer happens if valid and ready were set before the edge. */
static void tick(struct rtl *s)
{
    offer(s);
    *s->tx_ready = !shell_stalls(&s->random, s->stall);
    int takes = *s->rx_valid && *s->rx_ready;
    if (*s->tx_valid && *s->tx_ready)
        gave(s);
    model_tick(s->model);
    if (takes)
        took(s);
    s->now++;
}

static void tick_any(void *s)
{
    tick(s);
}

static void settle(void *s)
{
    model_eval(((struct rtl *)s)->model);
}

static void *port(void *model, const char *name)
{
    return model_port(model, name, NULL);
}

static void bind(struct rtl *s)
{
    struct model *m = s->model;
    s->rst = model_port(m, "rst_i", NULL);
    unsigned bits;
    s->rx_data = model_port(m, "rx_data_i", &bits);
    s->flit = bits / 8;
    s->rx_keep = model_port(m, "rx_keep_i", NULL);
    s->rx_last = model_port(m, "rx_last_i", NULL);
    s->rx_ip = model_port(m, "rx_ip_i", NULL);
    s->rx_port = model_port(m, "rx_port_i", NULL);
    s->rx_valid = model_port(m, "rx_valid_i", NULL);
    s->rx_ready = model_port(m, "rx_ready_o", NULL);
    s->tx_data = model_port(m, "tx_data_o", NULL);
    s->tx_keep = model_port(m, "tx_keep_o", NULL);
    s->tx_last = model_port(m, "tx_last_o", NULL);
    s->tx_ip = model_port(m, "tx_ip_o", NULL);
    s->tx_port = model_port(m, "tx_port_o", NULL);
    s->tx_valid = model_port(m, "tx_valid_o", NULL);
    s->tx_ready = model_port(m, "tx_ready_i", NULL);
    axil_bind(&s->bus, port, m);
    s->bus.arg = s;
    s->bus.eval = settle;
    s->bus.tick = tick_any;
}

static void rtl_close(void *shell)
{
    struct rtl *s = shell;
    if (s)
        model_close(s->model);
    free(s);
}

static int rtl_open(const char *wave, shell_out *out, void *arg, void **shell)
{
    static char name[] = "narrowcast-sim";
    char *argv[] = {name, NULL};
    struct stat st;
    /* Verilator removes what has this name, and makes a new file */
    if (wave && !lstat(wave, &st) && !S_ISREG(st.st_mode))
        return ERR(-EINVAL, "cannot write '%s': waves need a regular file, not a link or a device",
                   wave);
    struct rtl *s = calloc(1, sizeof *s);
    if (!s)
        return ERR(-ENOMEM, "cannot make a card: no memory");
    s->model = model_open(1, argv);
    s->out = out;
    s->arg = arg;
    bind(s);
    if (wave && model_wave(s->model, wave)) {
        rtl_close(s);
        return ERR(-EIO, "cannot write '%s': no such folder, or no permission", wave);
    }
    *s->rst = 1;
    for (int i = 0; i < RESET_CLOCKS; i++)
        model_tick(s->model);
    *s->rst = 0;
    s->random = s->now = 1;
    model_tick(s->model);
    *shell = s;
    return 0;
}

static int rtl_write(void *shell, uint32_t at, uint32_t value)
{
    struct rtl *s = shell;
    const int rc = axil_write(&s->bus, at, value);
    s->poked = s->now;
    return rc;
}

static int rtl_read(void *shell, uint32_t at, uint32_t *value)
{
    return axil_read(&((struct rtl *)shell)->bus, at, value);
}

/* since: clock of the last register write, or of the start of run(). */
static int is_quiet(const struct rtl *s, uint64_t since)
{
    const uint64_t last = s->last > since ? s->last : since;
    return !frame_queue_first(s->in) && !s->gap && s->now >= last + QUIET;
}

static struct shell_run rtl_run(void *shell, struct frame_queue *in, uint64_t max_clocks)
{
    struct rtl *s = shell;
    const struct control_time before = s->total;
    const uint64_t start = s->now, flits = s->flits_in;
    s->in = in;
    s->first = 0;
    while (s->now - start < max_clocks && !is_quiet(s, start))
        tick(s);
    struct shell_run r = {s->first ? s->last - s->first : 0, s->total.beats_in - before.beats_in,
                          s->total.beats_out - before.beats_out, !frame_queue_first(in) && !s->gap,
                          s->flits_in - flits};
    *s->rx_valid = 0;
    s->in = NULL;
    return r;
}

static int rtl_step(void *shell, struct frame_queue *in, uint64_t max_clocks)
{
    struct rtl *s = shell;
    s->in = in;
    for (uint64_t i = 0; i < max_clocks && !is_quiet(s, s->poked); i++)
        tick(s);
    return is_quiet(s, s->poked);
}

static struct control_time rtl_time(const void *shell)
{
    return ((const struct rtl *)shell)->total;
}

static uint64_t rtl_ticks(const void *shell)
{
    return ((const struct rtl *)shell)->now;
}

static void rtl_stall(void *shell, unsigned of_256)
{
    ((struct rtl *)shell)->stall = of_256;
}

const struct shell_ops shell_rtl = {
    .control = {.write = rtl_write, .read = rtl_read, .time = rtl_time},
    .open = rtl_open,
    .close = rtl_close,
    .run = rtl_run,
    .step = rtl_step,
    .ticks = rtl_ticks,
    .stall = rtl_stall,
};
