/* tile_check.h : drives rtl/tile.sv of any width and compares all its output with mf_acc_*, bit
 * for bit.
 *
 * A packet is `beats` beats of one slot. It enters in flits of as many bytes as in_data_i has; the
 * last may have zeros in its upper half (in_odd_i). tile_send() also adds it to the oracle's rows;
 * tile_clock() compares each quarter that the tile writes with the oracle's queue. */
#ifndef TILE_CHECK_H
#define TILE_CHECK_H
#include "card_formats.h"
#include "check.h"
#include "hls/core/beat.h"
#include "rtl_rand.h"
#include "sim/rtl/verilated_model.h"
#include <string.h>

enum { TILE_SLOTS = 8, TILE_ROWS = 32, TILE_QUEUE = 1 << 14 };

struct tile_op {
    struct mf_fmt in, out;
    unsigned shift, max, saturate, first, emit, slot, beats; /* shift to slot: of contributions */
};
struct tile_quarter {
    uint8_t data[32], slot, last, status;
    uint16_t at; /* quarter of the slot's result */
};
struct tile_bench {
    struct model *m;
    uint8_t *rst, *in_valid, *in_ready, *in_slot, *in_row, *in_start, *in_last, *in_odd, *in_first,
        *in_emit, *in_max, *in_fmt, *out_fmt, *out_shift, *saturate;
    uint8_t *kept_valid, *kept_slot, *kept_row, *kept_en, *kept_last, *kept_status;
    void *in_data, *kept_data;
    unsigned lane_bytes;
    uint64_t acc[TILE_SLOTS][TILE_ROWS][128], rand;
    struct tile_quarter queue[TILE_QUEUE];
    unsigned put, got, gap;    /* quarters expected, seen; chance of a gap, of 256 */
    unsigned status, latency;  /* of the packet so far; most clocks from input to kept_valid_o */
    uint64_t sent_clock, seen; /* an emitting packet's first clock; quarters compared */
};

/* Store the card's formats of at most `widest` and at least `narrowest` bits. Returns how many. */
static inline unsigned tile_formats(unsigned narrowest, unsigned widest, struct mf_fmt *to)
{
    unsigned n = 0;
    for (unsigned i = 0; i < CARD_FORMATS; i++) {
        const struct beat_fmt f = beat_format(card_formats[i]);
        if (f.width >= narrowest && f.width <= widest)
            to[n++] = f.fmt;
    }
    return n;
}

static inline void tile_open(struct tile_bench *t, int argc, char **argv, uint64_t seed)
{
    memset(t, 0, sizeof *t);
    t->rand = seed;
    struct model *m = t->m = model_open(argc, argv);
    t->rst = model_port(m, "rst_i", NULL);
    t->in_valid = model_port(m, "in_valid_i", NULL);
    t->in_ready = model_port(m, "in_ready_o", NULL);
    t->in_slot = model_port(m, "in_slot_i", NULL);
    t->in_row = model_port(m, "in_row_i", NULL);
    t->in_start = model_port(m, "in_start_i", NULL);
    t->in_last = model_port(m, "in_last_i", NULL);
    t->in_odd = model_port(m, "in_odd_i", NULL);
    t->in_first = model_port(m, "in_first_i", NULL);
    t->in_emit = model_port(m, "in_emit_i", NULL);
    t->in_max = model_port(m, "in_max_i", NULL);
    t->in_fmt = model_port(m, "in_fmt_i", NULL);
    t->out_fmt = model_port(m, "out_fmt_i", NULL);
    t->out_shift = model_port(m, "out_shift_i", NULL);
    t->saturate = model_port(m, "saturate_i", NULL);
    t->in_data = model_port(m, "in_data_i", &t->lane_bytes);
    t->lane_bytes /= 8;
    t->kept_valid = model_port(m, "kept_valid_o", NULL);
    t->kept_slot = model_port(m, "kept_slot_o", NULL);
    t->kept_row = model_port(m, "kept_row_o", NULL);
    t->kept_en = model_port(m, "kept_en_o", NULL);
    t->kept_data = model_port(m, "kept_data_o", NULL);
    t->kept_last = model_port(m, "kept_last_o", NULL);
    t->kept_status = model_port(m, "kept_status_o", NULL);
    *t->rst = 1;
    model_tick(m);
    model_tick(m);
    *t->rst = 0;
}

static inline void tile_clock(struct tile_bench *t)
{
    model_tick(t->m);
    if (!*t->kept_valid)
        return;
    t->status |= *t->kept_status;
    unsigned left = 0;
    for (unsigned q = 0; q < 4; q++)
        left += *t->kept_en >> q & 1u;
    CHECK(left > 0, "a write of no quarter");
    if (t->sent_clock != 0) {
        unsigned clocks = (unsigned)(model_cycles(t->m) - t->sent_clock);
        t->latency = clocks > t->latency ? clocks : t->latency;
        t->sent_clock = 0;
    }
    for (unsigned q = 0; q < 4; q++) {
        if ((*t->kept_en >> q & 1u) == 0)
            continue;
        CHECK(t->got < t->put, "a result from nothing");
        if (t->got >= t->put)
            return;
        const struct tile_quarter *want = &t->queue[t->got++ % TILE_QUEUE];
        unsigned at = *t->kept_row * 4u + q, bytes = t->lane_bytes / 4;
        CHECK(*t->kept_slot == want->slot && at == want->at,
              "slot %u quarter %u, not slot %u quarter %u", *t->kept_slot, at, want->slot,
              want->at);
        const uint8_t *data = (const uint8_t *)t->kept_data + bytes * q;
        for (unsigned i = 0; i < bytes; i++)
            CHECK(data[i] == want->data[i], "slot %u quarter %u byte %u is %02x, not %02x",
                  want->slot, at, i, data[i], want->data[i]);
        left--;
        CHECK(left > 0 || *t->kept_last == want->last, "slot %u quarter %u: last is %u", want->slot,
              at, *t->kept_last);
        if (want->last) {
            CHECK(t->status == want->status, "slot %u: status %u, not %u", want->slot, t->status,
                  want->status);
            t->status = 0;
        }
        t->seen++;
    }
}

static inline void tile_drain(struct tile_bench *t)
{
    *t->in_valid = 0;
    for (int i = 0; i < 24; i++)
        tile_clock(t);
    CHECK(t->got == t->put, "%u quarters are missing", t->put - t->got);
    t->got = t->put;
}

static inline unsigned tile_code(const uint8_t *data, unsigned i, unsigned bits)
{
    if (bits == 4)
        return data[i / 2] >> 4 * (i % 2) & 15u;
    return bits == 8 ? data[i] : (unsigned)data[2 * i] | (unsigned)data[2 * i + 1] << 8;
}

/* The oracle: appends a result, if any, to out at element `at`. Returns the elements per beat. */
static inline unsigned tile_add(struct tile_bench *t, const struct tile_op *op, unsigned beat,
                                const uint8_t *data, uint8_t *out, unsigned *status)
{
    unsigned in_bits = op->max ? 8 : mf_width(op->in), out_bits = op->max ? 8 : mf_width(op->out),
             n = 512 / in_bits;
    for (unsigned i = 0; i < n; i++) {
        uint64_t *acc = &t->acc[op->slot][beat][i];
        unsigned code = tile_code(data, i, in_bits), result;
        if (op->max) {
            int8_t x = (int8_t)code, y = (int8_t)(uint8_t)*acc;
            *acc = (uint8_t)(op->first || x > y ? x : y);
            result = (unsigned)*acc;
        } else {
            *acc = mf_acc_add(op->in, op->first ? 0 : *acc, code);
            result = mf_acc_round(op->in, *acc, (int)op->shift, op->out,
                                  op->saturate ? MF_SATURATE : MF_INF);
        }
        if (!op->emit)
            continue;
        if (!op->max) {
            uint32_t free_result =
                mf_acc_round(op->in, *acc, (int)op->shift, op->out, MF_INF) & mf_nan(op->out);
            *status |= (unsigned)(*acc >> 62);
            *status |= (*acc & ~MF_ACC_SUM) == 0 && free_result > mf_max(op->out) ? 4u : 0u;
        }
        unsigned bit = (beat * n + i) * out_bits;
        out[bit / 8] = (uint8_t)(out[bit / 8] | result << bit % 8);
        if (out_bits == 16)
            out[bit / 8 + 1] = (uint8_t)(result >> 8);
    }
    return n;
}

/* data: 64 bytes per beat. Returns after the last flit is accepted. */
static inline void tile_send(struct tile_bench *t, const struct tile_op *op, const uint8_t *data)
{
    static uint8_t out[TILE_ROWS * 64 * 4];
    unsigned status = 0, n = 0;
    memset(out, 0, sizeof out);
    for (unsigned beat = 0; beat < op->beats; beat++)
        n += tile_add(t, op, beat, data + 64 * beat, out, &status);
    const unsigned bytes = t->lane_bytes, flits = (op->beats * 64 + bytes - 1) / bytes,
                   out_bits = op->max ? 8 : mf_width(op->out),
                   down = op->max ? 1 : mf_width(op->in) / out_bits,
                   write = down > 1 ? 4 / down : 4, /* quarters, of bits: */
        bits = write * 2 * bytes;
    unsigned quarters = op->emit ? (n * out_bits + bits - 1) / bits * write : 0;
    for (unsigned q = 0; q < quarters; q++) {
        struct tile_quarter *want = &t->queue[t->put++ % TILE_QUEUE];
        memcpy(want->data, out + bytes / 4 * q, bytes / 4);
        want->slot = (uint8_t)op->slot;
        want->at = (uint16_t)q;
        want->last = q == quarters - 1;
        want->status = (uint8_t)status;
    }
    for (unsigned flit = 0; flit < flits; flit++) {
        while (rtl_chance(&t->rand, t->gap)) {
            *t->in_valid = 0;
            *t->in_slot = (uint8_t)(rtl_rand(&t->rand) % TILE_SLOTS);
            tile_clock(t);
        }
        *t->in_valid = 1;
        *t->in_slot = (uint8_t)op->slot;
        *t->in_row = (uint8_t)flit;
        *t->in_start = flit == 0;
        *t->in_last = flit == flits - 1;
        *t->in_first = (uint8_t)op->first;
        *t->in_emit = (uint8_t)op->emit;
        *t->in_max = (uint8_t)op->max;
        *t->in_fmt = (uint8_t)(op->max ? 0 : beat_format_byte(op->in));
        *t->out_fmt = (uint8_t)(op->max ? 0 : beat_format_byte(op->out));
        *t->out_shift = (uint8_t)op->shift;
        *t->saturate = (uint8_t)op->saturate;
        const unsigned left = op->beats * 64 - bytes * flit;
        *t->in_odd = left < bytes;
        memset(t->in_data, 0, bytes);
        memcpy(t->in_data, data + bytes * flit, left < bytes ? left : bytes);
        for (int waited = 0; !*t->in_ready; waited++) {
            CHECK(waited < 8, "the tile does not take a flit");
            if (waited >= 8)
                return;
            tile_clock(t);
        }
        if (op->emit && flit == 0 && t->got == t->put - quarters)
            t->sent_clock = model_cycles(t->m);
        tile_clock(t);
    }
    *t->in_valid = 0;
}

/* Every pair of codes of a 4-bit or 8-bit format: the first starts a row, the second emits it. */
static inline void tile_pairs(struct tile_bench *t, struct mf_fmt in, struct mf_fmt out,
                              unsigned shift)
{
    unsigned bits = mf_width(in), codes = 1u << bits, per_beat = 512 / bits;
    struct tile_op op = {.in = in, .out = out, .shift = shift, .beats = 1};
    for (unsigned pair = 0; pair < codes * codes; pair += per_beat) {
        uint8_t a[64] = {0}, b[64] = {0};
        for (unsigned i = 0; i < per_beat; i++) {
            unsigned p = (pair + i) % (codes * codes), x = p / codes, y = p % codes, bit = i * bits;
            a[bit / 8] = (uint8_t)(a[bit / 8] | x << bit % 8);
            b[bit / 8] = (uint8_t)(b[bit / 8] | y << bit % 8);
        }
        for (op.saturate = 0; op.saturate < 2; op.saturate++) {
            op.slot = (op.slot + 1) % TILE_SLOTS;
            op.first = 1;
            op.emit = 0;
            tile_send(t, &op, a);
            op.first = 0;
            op.emit = 1;
            tile_send(t, &op, b);
        }
    }
    tile_drain(t);
}

/* Some vectors of codes have one sign, so that sums grow; few codes are inf or nan. */
static inline void tile_codes(struct tile_bench *t, const struct tile_op *op, unsigned kind,
                              uint8_t *data)
{
    unsigned bits = op->max ? 8 : mf_width(op->in);
    for (unsigned i = 0; i < op->beats * 512 / bits; i++) {
        uint32_t code = rtl_rand(&t->rand) & ((1u << bits) - 1u),
                 inf = op->max ? 0 : mf_inf(op->in);
        if (!op->max && kind > 0 && (code & mf_nan(op->in)) >= inf && !rtl_chance(&t->rand, 8))
            code = (code & ~mf_nan(op->in)) | (code & mf_nan(op->in)) % inf;
        if (!op->max && kind == 2) /* near the top; even elements positive */
            code = (i % 2 ? 1u << (bits - 1) : 0u) | (inf - 1u - (code & 3u) % inf);
        if (!op->max && kind == 3) /* near zero */
            code &= 1u << (bits - 1) | 7u;
        if (bits == 16) {
            data[2 * i] = (uint8_t)code;
            data[2 * i + 1] = (uint8_t)(code >> 8);
        } else if (bits == 8) {
            data[i] = (uint8_t)code;
        } else {
            data[i / 2] = (uint8_t)(i % 2 ? data[i / 2] | code << 4 : code);
        }
    }
}

/* Each slot has its own formats and ranks. */
static inline void tile_mix(struct tile_bench *t, const struct mf_fmt *fmts, unsigned n_fmts,
                            unsigned rounds)
{
    static uint8_t data[TILE_ROWS * 64];
    for (unsigned r = 0; r < rounds; r++) {
        struct tile_op op[4] = {{.beats = 0}};
        unsigned n = 1 + rtl_rand(&t->rand) % 4, ranks[4], kind[4], left = 0;
        t->gap = rtl_stall(&t->rand) % 200;
        for (unsigned i = 0; i < n; i++) {
            op[i].in = fmts[rtl_rand(&t->rand) % n_fmts];
            op[i].out = rtl_chance(&t->rand, 100) ? op[i].in : fmts[rtl_rand(&t->rand) % n_fmts];
            op[i].max = rtl_chance(&t->rand, 40) != 0;
            op[i].shift = rtl_chance(&t->rand, 128) ? 0 : rtl_rand(&t->rand) % 7;
            op[i].saturate = rtl_rand(&t->rand) & 1u;
            op[i].slot = (i * 2 + r) % TILE_SLOTS;
            unsigned grow = op[i].max ? 1 : mf_width(op[i].out) / mf_width(op[i].in),
                     most = TILE_ROWS / (grow ? grow : 1);
            op[i].beats = rtl_chance(&t->rand, 128) ? 1 + rtl_rand(&t->rand) % 3
                                                    : 1 + rtl_rand(&t->rand) % most;
            ranks[i] = rtl_chance(&t->rand, 128) ? 1 + rtl_rand(&t->rand) % 4
                                                 : 2 + rtl_rand(&t->rand) % 63;
            if (!op[i].max && mf_width(op[i].in) == 16 && ranks[i] > 32)
                ranks[i] = 32;
            kind[i] = rtl_rand(&t->rand) % 4;
            op[i].first = 1;
            left += ranks[i];
        }
        while (left > 0) {
            unsigned i = rtl_rand(&t->rand) % n;
            if (ranks[i] == 0)
                continue;
            op[i].emit = ranks[i] == 1;
            tile_codes(t, &op[i], kind[i], data);
            tile_send(t, &op[i], data);
            op[i].first = 0;
            ranks[i]--;
            left--;
        }
        if (rtl_chance(&t->rand, 64))
            tile_drain(t);
    }
    tile_drain(t);
}

static inline void tile_close(struct tile_bench *t)
{
    printf("%llu quarters compared, first result after %u clocks at most, %llu clocks\n",
           (unsigned long long)t->seen, t->latency, (unsigned long long)model_cycles(t->m));
    CHECK(t->latency <= 9, "%u clocks from a beat to its result", t->latency);
    model_close(t->m);
}

#endif
