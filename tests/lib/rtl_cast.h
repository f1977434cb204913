/* rtl_cast.h : drives rtl/memory/quant.sv or rtl/memory/unquant.sv with blocks of beats, under
 * random stalls, and compares the output with the HLS core's. */
#ifndef RTL_CAST_H
#define RTL_CAST_H
#include "card_formats.h"
#include "check.h"
#include "hls/core/quant.h"
#include "rtl_rand.h"
#include "sim/rtl/verilated_model.h"
#include <stdbool.h>
#include <string.h>

enum { CAST_IN = 1 << 13, CAST_OUT = 8 * CAST_IN, CAST_N = 16 * 256 };

struct cast_beat {
    struct beat data;
    uint32_t values;
    bool last;
};

struct cast_bench {
    struct model *m;
    uint8_t *rst, *fmt, *saturate, *in_values, *in_last, *in_valid, *in_ready, *out_last,
        *out_valid, *out_ready; /* saturate: NULL for unquant */
    uint16_t *shift;
    uint32_t *in_data, *out_data;
    uint64_t rand, seen; /* seen: values compared */
    struct cast_beat in[CAST_IN], want[CAST_OUT];
    uint32_t n_in, n_want, byte, up;
    int by;
};

static inline void cast_open(struct cast_bench *t, int argc, char **argv, bool quant, uint64_t seed)
{
    struct model *m = t->m = model_open(argc, argv);
    printf("seed %llu\n", (unsigned long long)seed);
    t->rand = seed;
    t->rst = model_port(m, "rst_i", NULL);
    t->fmt = model_port(m, "fmt_i", NULL);
    t->shift = model_port(m, "shift_i", NULL);
    t->saturate = quant ? model_port(m, "saturate_i", NULL) : NULL;
    t->in_data = model_port(m, "in_data_i", NULL);
    t->in_values = model_port(m, "in_values_i", NULL);
    t->in_last = model_port(m, "in_last_i", NULL);
    t->in_valid = model_port(m, "in_valid_i", NULL);
    t->in_ready = model_port(m, "in_ready_o", NULL);
    t->out_data = model_port(m, "out_data_o", NULL);
    t->out_last = model_port(m, "out_last_o", NULL);
    t->out_valid = model_port(m, "out_valid_o", NULL);
    t->out_ready = model_port(m, "out_ready_i", NULL);
    *t->rst = 1;
    model_tick(m);
    *t->rst = 0;
}

/* Applies to the blocks up to the next cast_go(). */
static inline void cast_set(struct cast_bench *t, uint32_t byte, int shift, uint32_t saturate)
{
    t->byte = byte;
    t->by = shift;
    t->up = saturate;
    *t->fmt = (uint8_t)byte;
    *t->shift = (uint16_t)((shift < -512 ? -512 : shift > 511 ? 511 : shift) & 1023);
    if (t->saturate)
        *t->saturate = (uint8_t)saturate;
    model_tick(t->m);
}

static inline uint32_t cast_add(struct cast_beat *to, uint32_t at, const struct beat *from,
                                uint32_t n, uint32_t per_beat)
{
    for (uint32_t i = 0; i < n; i += per_beat)
        to[at++] = (struct cast_beat){from[i / per_beat], n - i < per_beat ? n - i : per_beat,
                                      n - i <= per_beat};
    return at;
}

/* Sends all blocks and compares all output. stalls: random, else none. Returns the clocks. */
static inline uint64_t cast_go(struct cast_bench *t, bool stalls)
{
    uint64_t clocks = 0;
    uint32_t put = 0, got = 0;
    unsigned in_stall = 0, out_stall = 0;
    bool taken = true;
    while (got < t->n_want && clocks < 1000 + 100ull * (t->n_in + t->n_want)) {
        if (stalls && clocks % 256 == 0) {
            in_stall = rtl_stall(&t->rand);
            out_stall = rtl_stall(&t->rand);
        }
        if (taken) /* a beat waits until it is taken */
            *t->in_valid = put < t->n_in && !rtl_chance(&t->rand, in_stall);
        if (taken && put < t->n_in) {
            memcpy(t->in_data, t->in[put].data.w, BEAT_SIZE);
            *t->in_values = (uint8_t)t->in[put].values;
            *t->in_last = t->in[put].last;
        }
        *t->out_ready = !rtl_chance(&t->rand, out_stall);
        model_eval(t->m);
        taken = !*t->in_valid || *t->in_ready;
        put += *t->in_valid && *t->in_ready;
        const bool waits = *t->out_valid && !*t->out_ready;
        struct beat now;
        memcpy(now.w, t->out_data, BEAT_SIZE);
        if (*t->out_valid && *t->out_ready) {
            const struct cast_beat *w = &t->want[got++];
            for (int i = 0; i < 16; i++)
                CHECK(now.w[i] == w->data.w[i],
                      "format %02x, shift %d, saturate %u: word %d is %08x, not %08x", t->byte,
                      t->by, t->up, i, now.w[i], w->data.w[i]);
            CHECK(*t->out_last == w->last, "beat %u: last is %d", got - 1, *t->out_last);
            t->seen += w->values;
        }
        model_tick(t->m);
        clocks++;
        CHECK(!waits || (*t->out_valid && !memcmp(now.w, t->out_data, BEAT_SIZE)),
              "a stalled beat changed");
    }
    CHECK(put == t->n_in && got == t->n_want, "%u of %u beats in, %u of %u out", put, t->n_in, got,
          t->n_want);
    for (int i = 0; i < 20; i++) {
        CHECK(!*t->out_valid, "a beat from nothing");
        model_tick(t->m);
    }
    t->n_in = t->n_want = 0;
    return clocks;
}

#endif
