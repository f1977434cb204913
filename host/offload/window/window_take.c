/* window_take.c : accepts answers to this rank's packets in flight, and
 * counts and drops other datagrams:
 *
 *     damaged   not a whole frame
 *     foreign   not of this job's key, rank or slots, or a wrong result
 *     stale     does not answer a packet in flight
 *
 * A result is accepted once, and only if it repeats job, slot, chunk, formats, tag and count of its
 * slot's frame. Results to the group carry no key. A host that sees a result learns its tag, but
 * cannot compute other packets' tags. It could forge this result, so ranks compare digests of
 * accepted results before using them. */
#include "offload/window/frame.h"
#include "offload/window/siphash.h"
#include "offload/window/window_inside.h"
#include <string.h>

enum {
    MAX_TAKEN = 256, /* datagrams of a card per turn */
    /* sums in a row on this rank's own wire, after it asked for them */
    MAX_APART = 16,
    /* wrong results from the group; a guess must match 32 bits */
    MAX_FORGED = 64
};

static uint64_t field(const uint8_t *bytes, int at, int n)
{
    return pkt_get_uint(bytes + at, n);
}

static bool is_open(const struct window_slot *s, const uint8_t *bytes)
{
    return s->out && s->n_frame &&
           !memcmp(bytes + PKT_CHUNK_AT, s->frame + PKT_CHUNK_AT, PKT_CHUNK_BYTES);
}

/* True if the result repeats the fields of the frame's header, except op. */
static bool repeats(const struct window_slot *s, const uint8_t *bytes)
{
    const uint32_t known = PKT_STATUS_PINF | PKT_STATUS_NINF | PKT_STATUS_OVERFLOW;
    return !memcmp(bytes + PKT_FLAGS_AT, s->frame + PKT_FLAGS_AT, PKT_STATUS_AT - PKT_FLAGS_AT) &&
           !memcmp(bytes + PKT_COUNT_AT, s->frame + PKT_COUNT_AT,
                   PKT_PAYLOAD_CRC_AT - PKT_COUNT_AT) &&
           !(field(bytes, PKT_STATUS_AT, 4) & ~(uint64_t)known) && !field(bytes, PKT_ECHO_AT, 8);
}

static uint64_t packet_of(const struct window *w, const struct window_slot *s)
{
    return s->m * (uint64_t)w->n_ends + (uint64_t)(s->end - w->ends) - w->base;
}

static void digest(struct window *w, const struct window_slot *s, const uint8_t *payload)
{
    uint8_t both[16];
    pkt_put_uint(both, w->base + packet_of(w, s), 8);
    pkt_put_uint(both + 8, siphash(w->config.secret + 2, payload, s->n_result), 8);
    w->digest += siphash(w->config.secret + 2, both, sizeof both);
}

/* MAX_APART sums in a row on this rank's own wire show that the card answers, but that this rank
 * does not receive the group. */
static void count_apart(struct window *w, const struct window_slot *s, bool from_group)
{
    w->apart = from_group ? 0 : w->apart + 1;
    if (w->apart < MAX_APART)
        return;
    w->group_failed = true;
    window_lose(w, s->end, "sends multicast packets that this rank does not receive");
}

static void take_result(struct window *w, struct window_slot *s, const uint8_t *bytes, size_t n,
                        bool from_group, double now)
{
    const uint8_t *payload = bytes + PKT_HEADER_BYTES;
    if (!is_open(s, bytes)) {
        w->count.stale++;
        return;
    }
    if (n != PKT_HEADER_BYTES + s->n_result || !repeats(s, bytes)) {
        w->foreign++;
        if (from_group && ++w->forged >= MAX_FORGED) {
            w->group_failed = true;
            window_lose(w, s->end,
                        "has a rival in the multicast group: another sender answers instead of it");
        }
        return;
    }
    size_t at, elements = window_range(&w->work, packet_of(w, s), &at);
    const struct card_path_sum *sum = &w->work.sum;
    const uint32_t width = w->config.fit.out_width;
    if (w->work.kind == WINDOW_MAX)
        memcpy(w->work.x + at, payload, elements);
    else if (!sum->codec || !codec_from_card(sum->codec, payload, at, elements, sum->result))
        memcpy(sum->result + at * width / 8, payload, (elements * width + 7) / 8);
    if (w->grouped)
        digest(w, s, payload);
    s->out = false;
    window_time_answered(w, s, now);
    window_make_ready(w, s, s->m + s->end->card.job.slots);
    if (w->grouped && w->work.kind == WINDOW_SUM)
        count_apart(w, s, from_group);
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

/* Returns NULL, and counts the datagram, unless it is a whole frame with this job, key and rank. */
static struct window_slot *slot_of(struct window *w, struct window_end *end, const uint8_t *bytes,
                                   size_t n, uint64_t key, uint64_t rank)
{
    const struct fpga_job *job = &end->card.job;
    w->count.received_bytes += n;
    if (!frame_whole(bytes, n)) {
        w->damaged++;
        return NULL;
    }
    const uint64_t slot = field(bytes, PKT_SLOT_AT, PKT_SLOT_BYTES) - job->slot_base;
    if (field(bytes, PKT_KEY_AT, PKT_KEY_BYTES) == key &&
        field(bytes, PKT_JOB_AT, PKT_JOB_BYTES) == job->index &&
        field(bytes, PKT_RANK_AT, PKT_RANK_BYTES) == rank && slot < job->slots)
        return &end->slots[slot];
    w->foreign++;
    return NULL;
}

void window_take_group(struct window *w, struct window_end *end, const uint8_t *bytes, size_t n,
                       double now)
{
    struct window_slot *s = slot_of(w, end, bytes, n, 0, PKT_TO_GROUP);
    if (!s)
        return;
    if (bytes[PKT_OP_AT] != PKT_OP_RESULT || w->work.kind != WINDOW_SUM) {
        w->foreign++;
        return;
    }
    const bool was_out = s->out;
    take_result(w, s, bytes, n, true, now);
    /* the right tag proves that the card is alive */
    if (was_out && !s->out)
        window_time_heard(end);
}

void window_take(struct window *w, struct window_end *end, const uint8_t *bytes, size_t n,
                 double now)
{
    struct window_slot *s = slot_of(w, end, bytes, n, end->card.job.key, (uint64_t)w->config.rank);
    if (!s)
        return;
    window_time_heard(end);
    switch (bytes[PKT_OP_AT]) {
    case PKT_OP_RESULT:
        take_result(w, s, bytes, n, false, now);
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

static bool receive(struct window *w, struct window_end *end, const struct wire *wire,
                    void (*take)(struct window *, struct window_end *, const uint8_t *, size_t,
                                 double),
                    double now, bool *drained)
{
    bool moved = false;
    int rc = 1;
    for (int k = 0; k < MAX_TAKEN && rc > 0 && w->state == WINDOW_BUSY; k++) {
        const uint8_t *bytes;
        size_t n;
        rc = wire->ops->receive(wire->own, &bytes, &n);
        if (rc > 0)
            take(w, end, bytes, n, now);
        moved = moved || rc > 0;
    }
    if (rc < 0)
        window_lose(w, end, "caused an error on receive: %s", strerror(-rc));
    *drained = *drained && !rc;
    return moved;
}

bool window_receive(struct window *w, double now, bool *drained)
{
    bool moved = false;
    *drained = true;
    for (int i = 0; i < w->n_ends && w->state == WINDOW_BUSY; i++) {
        struct window_end *end = &w->ends[i];
        if (end->card.group.ops)
            moved = receive(w, end, &end->card.group, window_take_group, now, drained);
        moved = receive(w, end, &end->card.wire, window_take, now, drained) || moved;
    }
    return moved;
}
