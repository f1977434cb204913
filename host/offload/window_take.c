/* window_take.c : what comes from a card, or from anybody else: only answers to what this rank has
 * under way are taken.
 *
 *     no whole frame: damaged    not this job's key, rank, slots: foreign    answers nothing that
 *                                is open: stale
 *
 * A result is taken when it repeats what its slot's frame says of job, slot, chunk, formats, tag
 * and count, and once. */
#include "offload/frame.h"
#include "offload/window_inside.h"
#include <string.h>

enum { MOST_TAKEN = 256 }; /* datagrams of a card in a turn */

static uint64_t field(const uint8_t *bytes, int at, int n)
{
    return pkt_get_uint(bytes + at, n);
}

/* Is it about what s has under way? */
static bool is_open(const struct window_slot *s, const uint8_t *bytes)
{
    return s->out && s->n_frame &&
           !memcmp(bytes + PKT_CHUNK_AT, s->frame + PKT_CHUNK_AT, PKT_CHUNK_BYTES);
}

/* From the first to the last byte of the header that a result must repeat, op apart. */
static bool repeats(const struct window_slot *s, const uint8_t *bytes)
{
    const uint32_t known = PKT_STATUS_PINF | PKT_STATUS_NINF | PKT_STATUS_OVERFLOW;
    return !memcmp(bytes + PKT_FLAGS_AT, s->frame + PKT_FLAGS_AT, PKT_STATUS_AT - PKT_FLAGS_AT) &&
           !memcmp(bytes + PKT_COUNT_AT, s->frame + PKT_COUNT_AT,
                   PKT_PAYLOAD_CRC_AT - PKT_COUNT_AT) &&
           !(field(bytes, PKT_STATUS_AT, 4) & ~(uint64_t)known) && !field(bytes, PKT_ECHO_AT, 8);
}

/* The packet of the work that s has under way. */
static uint64_t packet_of(const struct window *w, const struct window_slot *s)
{
    return s->m * (uint64_t)w->n_ends + (uint64_t)(s->end - w->ends) - w->base;
}

static void take_result(struct window *w, struct window_slot *s, const uint8_t *bytes, size_t n,
                        double now)
{
    const uint8_t *payload = bytes + PKT_HEADER_BYTES;
    if (!is_open(s, bytes)) {
        w->count.stale++;
        return;
    }
    if (n != PKT_HEADER_BYTES + s->n_result || !repeats(s, bytes)) {
        w->foreign++;
        return;
    }
    size_t at, elements = window_range(&w->work, packet_of(w, s), &at);
    if (w->work.kind == WINDOW_MAX) {
        memcpy(w->work.x + at, payload, elements);
    } else {
        const uint32_t width = w->config.fit.out_width;
        memcpy(w->work.sum.result + at * width / 8, payload, (elements * width + 7) / 8);
    }
    s->out = false;
    s->end->n_out--;
    window_time_answered(w, s, now);
    window_make_ready(w, s, s->m + s->end->card.job.slots);
}

static void take_nak(struct window *w, struct window_slot *s, const uint8_t *bytes)
{
    if (is_open(s, bytes) && !memcmp(bytes + PKT_TAG_AT, s->frame + PKT_TAG_AT, PKT_TAG_BYTES))
        window_lose(w, s->end, "refused a packet: %s",
                    frame_nak_reason((uint32_t)field(bytes, PKT_STATUS_AT, 4)));
    else
        w->count.stale++;
}

static void take_pong(struct window *w, struct window_slot *s, const uint8_t *bytes, size_t n,
                      double now)
{
    const struct pkt_header h = pkt_get(bytes);
    const struct window_slot *starting = &s->end->slots[s->end->card.job.slots];
    if (w->work.kind == WINDOW_PING)
        s = &s->end->slots[s->end->card.job.slots];
    if (!s->out || !s->echo || h.echo < s->first_echo || h.echo > s->echo) {
        w->count.stale++;
        return;
    }
    if (s == starting)
        window_take_first_pong(w, s, &h, n, now);
    else
        window_time_pong(w, s, &h, now);
}

void window_take(struct window *w, struct window_end *end, const uint8_t *bytes, size_t n,
                 double now)
{
    const struct fpga_job *job = &end->card.job;
    w->count.received_bytes += n;
    if (!frame_whole(bytes, n)) {
        w->damaged++;
        return;
    }
    const uint64_t slot = field(bytes, PKT_SLOT_AT, PKT_SLOT_BYTES) - job->slot_base;
    if (field(bytes, PKT_KEY_AT, PKT_KEY_BYTES) != job->key ||
        field(bytes, PKT_JOB_AT, PKT_JOB_BYTES) != job->index ||
        field(bytes, PKT_RANK_AT, PKT_RANK_BYTES) != (uint64_t)w->config.rank ||
        slot >= job->slots) {
        w->foreign++;
        return;
    }
    window_time_heard(end);
    struct window_slot *s = &end->slots[slot];
    switch (bytes[PKT_OP_AT]) {
    case PKT_OP_RESULT:
        take_result(w, s, bytes, n, now);
        break;
    case PKT_OP_NAK:
        take_nak(w, s, bytes);
        break;
    case PKT_OP_PONG:
        take_pong(w, s, bytes, n, now);
        break;
    default:
        w->foreign++;
    }
}

bool window_receive(struct window *w, double now, bool *drained)
{
    bool moved = false;
    *drained = true;
    for (int i = 0; i < w->n_ends && w->state == WINDOW_BUSY; i++) {
        struct window_end *end = &w->ends[i];
        int rc = 1;
        for (int k = 0; k < MOST_TAKEN && rc > 0 && w->state == WINDOW_BUSY; k++) {
            const uint8_t *bytes;
            size_t n;
            rc = end->card.wire.ops->receive(end->card.wire.own, &bytes, &n);
            if (rc > 0)
                window_take(w, end, bytes, n, now);
            moved = moved || rc > 0;
        }
        if (rc < 0)
            window_lose(w, end, "cannot be heard: %s", strerror(-rc));
        *drained = *drained && !rc;
    }
    return moved;
}
