/* card_model.c : models a card: checks a frame, updates its slot, and answers. */
#include "sim/card_state.h"
#include <string.h>

struct visit {
    struct pkt_header h;
    const uint8_t *payload;
    uint32_t payload_beats, ip;
    uint16_t port;
    struct card_job *job;
    struct card_slot *slot;
};

static void count(struct card *card, unsigned counter)
{
    card->live[counter]++;
}

/* Loses frames for tests, by xorshift64. The RTL has another stream. */
static int lost(struct card *card, uint32_t probability)
{
    uint64_t x = card->random ? card->random : 0x9e3779b97f4a7c15u;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    card->random = x;
    return (uint32_t)(x >> 32) < probability;
}

static void put_header(const struct card *card, struct pkt_header h, uint8_t *bytes)
{
#define PKT_FIELD(NAME, name, at, n_bytes, what) pkt_put_uint(bytes + at, h.name, n_bytes);
#include "hls/card/packet.def"
    pkt_put_uint(bytes + PKT_HEADER_CRC_AT, card->sums->crc(bytes, PKT_HEADER_CRC_AT),
                 PKT_HEADER_CRC_BYTES);
}

/* Fills in magic, len and header_crc of h. */
static void send(struct card *card, const struct card_job *job, struct pkt_header h,
                 const uint8_t *payload, uint32_t beats, unsigned counter)
{
    uint8_t frame[CARD_FRAME_BYTES];
    size_t bytes = (size_t)beats * BEAT_SIZE;
    memcpy(frame + PKT_HEADER_BYTES, payload, bytes);
    h.magic = PKT_MAGIC_VALUE;
    h.len = (uint16_t)(PKT_HEADER_BYTES + bytes);
    put_header(card, h, frame);
    count(card, counter);
    if (lost(card, card->regs.drop_out))
        count(card, CNT_LOST_TEST_OUT);
    else if (h.rank == PKT_TO_GROUP)
        card->out(card->arg, job->group_ip, job->group_port, frame, h.len);
    else
        card->out(card->arg, job->ip[h.rank], job->port[h.rank], frame, h.len);
}

static struct pkt_header answer(const struct visit *v, uint8_t op)
{
    struct pkt_header h;
    memset(&h, 0, sizeof h);
    h.rank = v->h.rank;
    h.key = v->h.key;
    h.job = v->h.job;
    h.slot = v->h.slot;
    h.chunk = v->h.chunk;
    h.op = op;
    return h;
}

static void refuse(struct card *card, const struct visit *v, unsigned counter, uint32_t reason)
{
    struct pkt_header h = answer(v, PKT_OP_NAK);
    h.status = reason;
    h.tag = v->h.tag;
    count(card, counter);
    send(card, v->job, h, v->payload, 0, CNT_OUT_NAK);
}

static void pong(struct card *card, const struct visit *v)
{
    static const uint8_t zeros[CARD_BEATS * BEAT_SIZE];
    const struct slot *s = &v->slot->s;
    struct pkt_header h = answer(v, PKT_OP_PONG);
    h = pkt_put_bitmap(h, s->bitmap);
    h.chunk = s->chunk;
    h.status = s->state == SLOT_FILLING ? PKT_PONG_FILLING
               : s->kept                ? PKT_PONG_KEPT
                                        : PKT_PONG_EMPTY;
    h.echo = v->h.echo;
    h.payload_crc = card->sums->crc(zeros, (size_t)v->payload_beats * BEAT_SIZE);
    count(card, CNT_IN_PING);
    send(card, v->job, h, zeros, v->payload_beats, CNT_OUT_PONG);
}

/* The group gets the result without key, because other hosts see it. */
static void result(struct card *card, const struct visit *v, uint16_t rank)
{
    struct slot_desc desc = v->slot->s.kept_desc;
    struct pkt_header h = answer(v, PKT_OP_RESULT);
    h.rank = rank;
    h.key = rank == PKT_TO_GROUP ? 0 : h.key;
    h.flags = (uint8_t)(desc.ops >> 8);
    h.beats = (uint8_t)(desc.ops >> 16);
    h.in_fmt = (uint8_t)(desc.ops >> 24);
    h.out_fmt = (uint8_t)(desc.ops >> 32);
    h.out_shift = (uint8_t)(desc.ops >> 40);
    h.tag = (uint32_t)desc.tag_count;
    h.count = (uint32_t)(desc.tag_count >> 32);
    h.status = v->slot->kept_status;
    h.payload_crc = v->slot->kept_crc;
    send(card, v->job, h, v->slot->kept, v->slot->kept_beats, CNT_OUT_RESULT);
}

/* arrives() and belongs() return 1, or 0 after counting the reason. */
static int arrives(struct card *card, struct visit *v, const uint8_t *bytes, size_t n)
{
    unsigned why = REG_COUNTERS;
    if (n >= PKT_HEADER_BYTES)
        v->h = pkt_get(bytes);
    if (!card->regs.enable)
        why = CNT_DROP_DISABLED;
    else if (n < PKT_HEADER_BYTES || n % BEAT_SIZE || n > CARD_FRAME_BYTES || v->h.len != n)
        why = CNT_DROP_LENGTH;
    else if (v->h.magic != PKT_MAGIC_VALUE)
        why = CNT_DROP_MAGIC;
    else if (card->sums->crc(bytes, PKT_HEADER_BYTES) != CRC32C_RESIDUE)
        why = CNT_DROP_HEADER_CRC;
    else if (card->sums->crc(bytes + PKT_HEADER_BYTES, n - PKT_HEADER_BYTES) != v->h.payload_crc)
        why = CNT_DROP_PAYLOAD_CRC;
    else if (lost(card, card->regs.drop_in))
        why = CNT_DROP_TEST_IN;
    if (why != REG_COUNTERS)
        return count(card, why), 0;
    v->payload = bytes + PKT_HEADER_BYTES;
    v->payload_beats = (uint32_t)(n / BEAT_SIZE - 1);
    return 1;
}

static int belongs(struct card *card, struct visit *v)
{
    const struct pkt_header *h = &v->h;
    v->job = &card->job[h->job % CARD_JOBS];
    if (h->job >= CARD_JOBS || !v->job->enabled)
        return count(card, CNT_DROP_JOB), 0;
    if (h->key != v->job->key)
        return count(card, CNT_DROP_KEY), 0;
    if (h->rank >= v->job->ranks)
        return count(card, CNT_DROP_RANK), 0;
    if (v->ip != v->job->ip[h->rank] || v->port != v->job->port[h->rank]) {
        card->regs.seen_rank = 1u << 31 | (uint32_t)h->job << 16 | h->rank;
        card->regs.seen_ip = v->ip;
        card->regs.seen_port = v->port;
        return count(card, CNT_DROP_SOURCE), 0;
    }
    return 1;
}

static int shape_of(const struct card *card, const struct visit *v, struct card_shape *shape)
{
    const struct pkt_header *h = &v->h;
    const uint32_t in_allowed = v->job->formats & 255, out_allowed = v->job->formats >> 8 & 255;
    *shape = (struct card_shape){.is_max = h->op == PKT_OP_MAX, .shift = h->out_shift};
    shape->overflow = h->flags & PKT_FLAG_SATURATE ? MF_SATURATE : MF_INF;
    shape->in_beats = shape->out_beats = h->beats;
    if (h->flags & ~PKT_FLAG_SATURATE || h->zero0 || h->zero1 || h->status || h->echo ||
        h->beats < 1 || h->beats > CARD_BEATS)
        return 0;
    if (shape->is_max)
        return !h->in_fmt && !h->out_fmt && !h->out_shift && v->payload_beats == h->beats;

    shape->in = beat_format(h->in_fmt);
    shape->out = beat_format(h->out_fmt);
    if (card->narrow && (!beat_narrow(shape->in) || shape->out.width != 8))
        return 0;
    if (!beat_fits(shape->in, v->job->ranks) || !shape->out.width || h->out_shift > PKT_MAX_SHIFT ||
        (in_allowed && in_allowed != h->in_fmt) || (out_allowed && out_allowed != h->out_fmt))
        return 0;
    uint32_t in = shape->in.width, out = shape->out.width, wider = in > out ? in : out;
    shape->in_beats = h->beats * in / wider;
    shape->out_beats = h->beats * out / wider;
    return h->beats % (wider / (in < out ? in : out)) == 0 && v->payload_beats == shape->in_beats;
}

static void contribute(struct card *card, struct visit *v, const struct card_shape *shape)
{
    const struct pkt_header *h = &v->h;
    const struct slot_desc desc = {pkt_get_uint(v->payload - PKT_HEADER_BYTES + PKT_OP_AT, 8),
                                   h->tag | (uint64_t)h->count << 32};
    enum slot_verdict verdict = slot_take(&v->slot->s, v->job->ranks, h->rank, h->chunk, desc);
    switch (verdict) {
    case SLOT_RESEND:
        count(card, CNT_IN_RESENT);
        result(card, v, h->rank);
        break;
    case SLOT_DUPLICATE:
        count(card, CNT_DROP_DUPLICATE);
        break;
    case SLOT_STALE:
        count(card, CNT_DROP_STALE);
        break;
    case SLOT_BAD_DESC:
        refuse(card, v, CNT_DROP_DESC, PKT_NAK_BAD_DESC);
        break;
    default:
        count(card, CNT_IN_ADDED);
        card->sums->add(card, h->slot, shape, h->rank,
                        verdict == SLOT_ADD_FIRST || verdict == SLOT_ADD_ONLY, v->payload);
        if (verdict == SLOT_ADD_FIRST || verdict == SLOT_ADD)
            break;
        card->sums->emit(card, h->slot, shape, v->job->ranks);
        v->slot->kept_crc = card->sums->crc(v->slot->kept, (size_t)v->slot->kept_beats * BEAT_SIZE);
        if (v->job->group_ip && !shape->is_max)
            result(card, v, PKT_TO_GROUP);
        else
            for (uint16_t rank = 0; rank < v->job->ranks; rank++)
                result(card, v, rank);
    }
}

void card_frame(struct card *card, uint32_t ip, uint16_t port, const uint8_t *bytes, size_t n)
{
    struct visit v = {.ip = ip, .port = port};
    struct card_shape shape;
    if (!arrives(card, &v, bytes, n) || !belongs(card, &v))
        return;
    if (v.h.slot < v.job->base || v.h.slot - v.job->base >= v.job->slots) {
        refuse(card, &v, CNT_DROP_SLOT, PKT_NAK_BAD_SLOT);
        return;
    }
    v.slot = &card->slot[v.h.slot];
    if (v.h.op == PKT_OP_PING)
        pong(card, &v);
    else if (v.h.op != PKT_OP_SUM && v.h.op != PKT_OP_MAX)
        refuse(card, &v, CNT_DROP_OP, PKT_NAK_BAD_OP);
    else if (!shape_of(card, &v, &shape))
        refuse(card, &v, CNT_DROP_FORMAT, PKT_NAK_BAD_FORMAT);
    else
        contribute(card, &v, &shape);
}
