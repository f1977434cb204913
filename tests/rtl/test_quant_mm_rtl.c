/* test_quant_mm_rtl.c : compares rtl/memory/cast_mm.sv as quant_kernel with hls/core/quant.c, on
 * an AXI4 memory with random stalls. */
#define MODEL_PREFIX quant_
#include "card_formats.h"
#include "hls/core/quant.h"
#include "rtl_cast_mm.h"

struct cast {
    uint32_t x, codes, status; /* offsets in memory, bytes */
    uint32_t n, fmt;
    int32_t shift;
    uint32_t saturate;
};

static void set(struct cast c)
{
    set_memory(ARG_QUANT_x, c.x);
    set_memory(ARG_QUANT_codes, c.codes);
    set_value(ARG_QUANT_n, c.n);
    set_value(ARG_QUANT_fmt, c.fmt);
    set_value(ARG_QUANT_shift, (uint32_t)c.shift);
    set_value(ARG_QUANT_saturate, c.saturate);
    set_memory(ARG_QUANT_status, c.status);
    memcpy(want, mem, sizeof want);
}

static void cast(struct cast c)
{
    uint32_t status;
    set(c);
    load_beats(c.x / 64, (c.n + 15) / 16);
    quant_kernel(from, to, c.n, c.fmt, c.shift, c.saturate, &status);
    want_beats(c.codes / 64, (c.n * beat_format(c.fmt).width + 511) / 512);
    want_word(c.status, status);
}

static void refused(struct cast c, const char *what)
{
    set(c);
    want_word(c.status, QUANT_REFUSED);
    compare(what);
}

int main(int argc, char **argv)
{
    open_kernel(argc, argv, 0x51);
    for (unsigned i = 0; i < 200; i++) {
        stall = rnd() % 3 ? 1 + rnd() % 5 : 0;
        cast((struct cast){.x = 64 * (IN_AT + rnd() % 5000),
                           .codes = 64 * (OUT_AT + rnd() % 5000),
                           .status = word_place(),
                           .n = i < 10 ? i % 2 : rnd() % (rnd() % 4 ? 300 : 16 * MAX_BEATS),
                           .fmt = card_formats[i % CARD_FORMATS],
                           .shift = i % 3 ? (int)(rnd() % 200) - 100
                                          : (int)(rnd() % 2097153) - QUANT_MAX_SHIFT,
                           .saturate = rnd() & 1});
        compare("cast");
    }
    stall = 0;
    const struct cast c = {64 * 3, 64 * OUT_AT, 64 * WORDS_AT, 16 * MAX_BEATS, 0x43, 0, 1};
    struct cast bad;
#define REFUSED(field, value)              \
    do {                                   \
        bad = c;                           \
        bad.field = value;                 \
        refused(bad, #field " = " #value); \
    } while (0)
    REFUSED(fmt, 0x44);
    REFUSED(fmt, 0x143);
    REFUSED(shift, QUANT_MAX_SHIFT + 1);
    REFUSED(shift, -QUANT_MAX_SHIFT - 1);
    REFUSED(saturate, 2);
    REFUSED(x, 4);
    REFUSED(codes, 64 * OUT_AT + 32);

    cast(c);
    const uint64_t clocks = compare("the long one");
    printf("%d beats: %d clocks, %.3f a beat\n", MAX_BEATS, (int)clocks,
           (double)clocks / MAX_BEATS);
    CHECK(clocks < MAX_BEATS + 60, "%d clocks", (int)clocks);

    cast(c); /* new arguments count for the next run */
    write_reg(KERNEL_CTRL, 1);
    write_reg(ARG_QUANT_n, 1);
    write_reg(ARG_QUANT_shift, 5);
    write_reg(ARG_QUANT_status, 64);
    wait_done();
    compare_memory("arguments changed during a run");

    for (int i = 0; i < 2; i++) {
        cast(c);
        beats_read = 0;
        fail_read = i == 0 ? 100 : 0;
        fail_write = i == 1 ? 2 : 0;
        write_reg(KERNEL_CTRL, 1);
        wait_done();
        CHECK(mem[WORDS_AT][3] == 0x80, "an error of the memory is not told");
    }
    fail_read = 0;
    cast(c);
    compare("after errors");
    model_close(m);
    DONE();
}
