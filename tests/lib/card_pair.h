/* card_pair.h : gives the same frames to the Verilated card and the C model and compares the
 * answers. */
#ifndef CARD_PAIR_H
#define CARD_PAIR_H
#include "base/clock.h"
#include "card_frames.h"
#include "check.h"
#include "hls/core/beat.h"
#include "hls/arith/philox.h"
#include "sim/shell.h"
#include <stdlib.h>

enum { PAIR_MAX = 1 << 15 };

struct side {
    const struct shell_ops *ops;
    void *shell;
    struct frame_queue in;
    int n_out;
    struct {
        uint64_t hash;
        struct pkt_header h;
    } out[PAIR_MAX];
};
static struct side rtl, c;
static uint64_t pair_seed, pair_drawn;

static inline uint32_t draw(uint32_t below)
{
    return philox_u32(pair_seed, pair_drawn++) % below;
}

static void take(void *arg, uint32_t ip, uint16_t port, const uint8_t *bytes, size_t n)
{
    struct side *s = arg;
    if (s->n_out == PAIR_MAX) {
        CHECK(0, "more than %d frames", PAIR_MAX);
        return;
    }
    uint64_t hash = (0xcbf29ce484222325u ^ ip ^ (uint64_t)port << 40) * 0x100000001b3u;
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    s->out[s->n_out].hash = hash;
    s->out[s->n_out++].h = pkt_get(bytes);
}

static int by_hash(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static inline int pair_open(uint64_t seed)
{
    printf("seed %llu\n", (unsigned long long)seed);
    pair_seed = seed;
    rtl.ops = &shell_rtl;
#ifdef PAIR_NARROW
    c.ops = &shell_narrow;
#else
    c.ops = &shell_c;
#endif
    return !rtl.ops->open(NULL, take, &rtl, &rtl.shell) && !c.ops->open(NULL, take, &c, &c.shell);
}

static inline void pair_close(void)
{
    rtl.ops->close(rtl.shell);
    c.ops->close(c.shell);
    frame_queue_free(&rtl.in);
    frame_queue_free(&c.in);
}

static inline void write_both(void *arg, uint32_t at, uint32_t value)
{
    (void)arg;
    CHECK(rtl.ops->control.write(rtl.shell, at, value) == c.ops->control.write(c.shell, at, value),
          "writing register %x", at);
}

static inline uint32_t read_both(uint32_t at)
{
    uint32_t a = 1, b = 2;
    int rc_a = rtl.ops->control.read(rtl.shell, at, &a),
        rc_b = c.ops->control.read(c.shell, at, &b);
    CHECK(rc_a == rc_b && a == b, "register %x: %x (%d) in RTL, %x (%d) in C", at, a, rc_a, b,
          rc_b);
    return b;
}

static inline void settle(void)
{
    uint32_t busy = 1;
    for (int i = 0; busy & 1; i++) {
        rtl.ops->control.read(rtl.shell, REG_STATUS, &busy);
        if (i == 1000) {
            CHECK(0, "a job does not stop");
            return;
        }
    }
}

/* ip 0: without a multicast group. */
static inline void pair_register_group(struct frame_job job, uint32_t ip, uint16_t port)
{
    write_both(NULL, REG_JOB_INDEX, job.index);
    write_both(NULL, REG_JOB_COMMIT, 0);
    settle();
    frame_register_group(job, ip, port, write_both, NULL);
    settle();
    read_both(REG_STATUS);
}

static inline void pair_register(struct frame_job job)
{
    pair_register_group(job, 0, 0);
}

static inline void counters_of(struct side *s, uint64_t value[REG_COUNTERS])
{
    s->ops->control.write(s->shell, REG_CTRL, 3);
    for (uint32_t i = 0; i < REG_COUNTERS; i++) {
        uint32_t low = 0, high = 0;
        s->ops->control.write(s->shell, REG_COUNTER_INDEX, i);
        s->ops->control.read(s->shell, REG_COUNTER_LO, &low);
        s->ops->control.read(s->shell, REG_COUNTER_HI, &high);
        value[i] = low | (uint64_t)high << 32;
    }
}

static inline uint64_t counter_of(struct side *s, uint32_t index)
{
    uint64_t value[REG_COUNTERS];
    counters_of(s, value);
    return value[index];
}

static inline void same_counters(void)
{
    write_both(NULL, REG_CTRL, 3);
    for (uint32_t i = 0; i < REG_COUNTERS; i++) {
        write_both(NULL, REG_COUNTER_INDEX, i);
        read_both(REG_COUNTER_LO);
        read_both(REG_COUNTER_HI);
    }
    read_both(REG_SEEN_RANK);
    read_both(REG_SEEN_IP);
    read_both(REG_SEEN_PORT);
}

static inline uint32_t payload_beats(struct pkt_header h)
{
    uint32_t in = beat_format(h.in_fmt).width, out = beat_format(h.out_fmt).width;
    return h.op == PKT_OP_MAX || in >= out ? h.beats : h.beats * in / out;
}

static inline void queue_both(struct queued_frame f, const uint8_t *bytes)
{
    if (frame_queue_put(&rtl.in, f, bytes) || frame_queue_put(&c.in, f, bytes))
        exit(1);
}

static struct {
    uint64_t clocks;
    double seconds;
} pair_rtl; /* totals of pair_run() */

static inline struct shell_run pair_run(void)
{
    rtl.n_out = c.n_out = 0;
    const double start_s = clock_s();
    const uint64_t before = rtl.ops->ticks(rtl.shell);
    struct shell_run a = rtl.ops->run(rtl.shell, &rtl.in, 1 << 26);
    pair_rtl.seconds += clock_s() - start_s;
    pair_rtl.clocks += rtl.ops->ticks(rtl.shell) - before;
    struct shell_run b = c.ops->run(c.shell, &c.in, 1 << 26);
    CHECK(a.quiet && b.quiet && a.beats_in == b.beats_in, "the card does not come to rest");
    return a;
}

/* Their order may differ: an answer may overtake a result. */
static inline void same_frames(void)
{
    qsort(rtl.out, (size_t)rtl.n_out, sizeof *rtl.out, by_hash);
    qsort(c.out, (size_t)c.n_out, sizeof *c.out, by_hash);
    CHECK(rtl.n_out == c.n_out, "%d frames out of RTL, %d of C", rtl.n_out, c.n_out);
    for (int i = 0; i < rtl.n_out && i < c.n_out; i++)
        if (rtl.out[i].hash != c.out[i].hash) {
            struct pkt_header x = rtl.out[i].h, y = c.out[i].h;
            CHECK(0,
                  "frames differ: op %u slot %u chunk %u rank %u status %u in RTL; op %u slot %u "
                  "chunk %u rank %u "
                  "status %u in C",
                  x.op, x.slot, x.chunk, x.rank, x.status, y.op, y.slot, y.chunk, y.rank, y.status);
            return;
        }
}

#endif
