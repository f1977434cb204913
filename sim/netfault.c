/* netfault.c : simulates a bad network in one direction. */
#include "sim/netfault.h"
#include "hls/arith/philox.h"
#include <stdlib.h>
#include <string.h>

enum { MAX_BEHIND = 8 };

void netfault_init(struct netfault *f, struct netfault_rates rates, uint64_t seed, uint32_t way)
{
    memset(f, 0, sizeof *f);
    f->rates = rates;
    f->on = rates.drop > 0 || rates.dup > 0 || rates.reorder > 0 || rates.delay_ns;
    f->key = philox_key(seed, way, 0, 0, 0);
}

void netfault_fini(struct netfault *f)
{
    frame_queue_free(&f->waiting);
    for (int i = 0; i < f->n_held; i++)
        free(f->held[i].bytes);
    f->n_held = 0;
}

static uint32_t draw(struct netfault *f)
{
    return philox_u32(f->key, f->drawn++);
}

static uint32_t happens(struct netfault *f, double probability)
{
    return draw(f) < probability * 4294967296.0;
}

static void pass(struct netfault *f, struct queued_frame frame, const uint8_t *bytes,
                 uint64_t now_ns)
{
    const size_t n = frame_queue_waiting(&f->waiting);
    if (n == NETFAULT_WAITING || frame_queue_put(&f->waiting, frame, bytes)) {
        f->full++;
        return;
    }
    f->due[(f->first + n) % NETFAULT_WAITING] = now_ns + f->rates.delay_ns;
}

static void release(struct netfault *f, int i, uint64_t now_ns)
{
    pass(f, f->held[i].f, f->held[i].bytes, now_ns);
    free(f->held[i].bytes);
    f->n_held--;
    memmove(&f->held[i], &f->held[i + 1], (size_t)(f->n_held - i) * sizeof *f->held);
}

static void hold(struct netfault *f, struct queued_frame frame, const uint8_t *bytes,
                 uint32_t behind, uint64_t now_ns)
{
    uint8_t *copy = f->n_held < NETFAULT_HELD ? malloc(frame.n) : NULL;
    if (!copy) {
        pass(f, frame, bytes, now_ns);
        return;
    }
    memcpy(copy, bytes, frame.n);
    f->reordered++;
    f->held[f->n_held].f = frame;
    f->held[f->n_held].bytes = copy;
    f->held[f->n_held].behind = behind;
    f->held[f->n_held++].until_ns = now_ns + NETFAULT_HOLD_NS;
}

void netfault_put(struct netfault *f, uint32_t ip, uint16_t port, const uint8_t *bytes, size_t n,
                  uint64_t now_ns)
{
    const struct queued_frame frame = {.ip = ip, .port = port, .n = n};
    /* every frame draws the same number of random numbers */
    const uint32_t lost = happens(f, f->rates.drop), twice = happens(f, f->rates.dup);
    const uint32_t late[2] = {happens(f, f->rates.reorder), happens(f, f->rates.reorder)};
    const uint32_t behind = draw(f);
    const int already = f->n_held;
    f->seen++;
    f->dropped += lost;
    f->repeated += !lost && twice;
    for (uint32_t copy = 0; copy < (lost ? 0 : 1 + twice); copy++)
        if (late[copy])
            hold(f, frame, bytes, 1 + (behind >> 16 * copy & 0xffff) % MAX_BEHIND, now_ns);
        else
            pass(f, frame, bytes, now_ns);
    for (int i = already - 1; i >= 0; i--)
        f->held[i].behind--;
    for (int i = 0; i < f->n_held;)
        if (!f->held[i].behind)
            release(f, i, now_ns);
        else
            i++;
}

/* Returns the next frame that may leave, or NULL. *bytes are valid until the next call for f. */
static const struct queued_frame *next(struct netfault *f, uint64_t now_ns, const uint8_t **bytes)
{
    for (int i = 0; i < f->n_held;)
        if (f->held[i].until_ns <= now_ns)
            release(f, i, now_ns);
        else
            i++;
    const struct queued_frame *frame = frame_queue_first(&f->waiting);
    if (!frame || f->due[f->first % NETFAULT_WAITING] > now_ns)
        return NULL;
    *bytes = f->waiting.bytes + frame->at;
    f->first++;
    frame_queue_drop(&f->waiting);
    return frame; /* in place until the next put */
}

void netfault_drain(struct netfault *f, uint64_t now_ns, net_take *take, void *arg)
{
    const struct queued_frame *frame;
    const uint8_t *bytes;
    while ((frame = next(f, now_ns, &bytes)))
        take(arg, frame->ip, frame->port, bytes, frame->n);
}

uint64_t netfault_due(const struct netfault *f)
{
    uint64_t due =
        frame_queue_first(&f->waiting) ? f->due[f->first % NETFAULT_WAITING] : UINT64_MAX;
    for (int i = 0; i < f->n_held; i++)
        due = f->held[i].until_ns < due ? f->held[i].until_ns : due;
    return due;
}
