/* test_unquant_mm_rtl.c : compares rtl/memory/cast_mm.sv as unquant_kernel with hls/core/quant.c,
 * on an AXI4 memory with random stalls. */
#define MODEL_PREFIX unquant_
#include "card_formats.h"
#include "hls/core/quant.h"
#include "rtl_cast_mm.h"

/* codes, x, status: offsets in memory, bytes */
static void set(uint32_t codes, uint32_t x, uint32_t status, uint32_t n, uint32_t fmt,
                int32_t shift)
{
    set_memory(ARG_UNQUANT_codes, codes);
    set_memory(ARG_UNQUANT_x, x);
    set_value(ARG_UNQUANT_n, n);
    set_value(ARG_UNQUANT_fmt, fmt);
    set_value(ARG_UNQUANT_shift, (uint32_t)shift);
    set_memory(ARG_UNQUANT_status, status);
    memcpy(want, mem, sizeof want);
}

static void uncast(uint32_t codes, uint32_t x, uint32_t status, uint32_t n, uint32_t fmt,
                   int32_t shift)
{
    uint32_t is;
    set(codes, x, status, n, fmt, shift);
    load_beats(codes / 64, (n * beat_format(fmt).width + 511) / 512);
    unquant_kernel(from, to, n, fmt, shift, &is);
    want_beats(x / 64, (n + 15) / 16);
    want_word(status, is);
}

int main(int argc, char **argv)
{
    const uint32_t out = 64 * OUT_AT, status = 64 * WORDS_AT;
    open_kernel(argc, argv, 0x52);
    for (unsigned i = 0; i < 200; i++) {
        stall = rnd() % 3 ? 1 + rnd() % 5 : 0;
        uncast(64 * (IN_AT + rnd() % 5000), 64 * (OUT_AT + rnd() % 5000), word_place(),
               i < 10 ? i % 2 : rnd() % (rnd() % 4 ? 300 : 16 * MAX_BEATS),
               card_formats[i % CARD_FORMATS],
               i % 3 ? (int)(rnd() % 200) - 100 : (int)(rnd() % 2097153) - QUANT_MAX_SHIFT);
        compare("uncast");
    }
    stall = 0;
    for (int i = 0; i < 6; i++) {
        set(i == 0 ? 64 + 1 : 64, i == 1 ? out + 4 : out, status, 100,
            i == 2   ? 0x44
            : i == 3 ? 0x1043
                     : 0x43,
            i == 4   ? QUANT_MAX_SHIFT + 1
            : i == 5 ? INT32_MIN
                     : 0);
        want_word(status, QUANT_REFUSED);
        compare("refused");
    }
    for (int i = 0; i < CARD_FORMATS; i++) {
        uncast(64 * 3, out, status, 16 * MAX_BEATS, card_formats[i], 0);
        const uint64_t clocks = compare("the long one");
        printf("format %02x, %d beats out: %d clocks, %.3f a beat\n", card_formats[i], MAX_BEATS,
               (int)clocks, (double)clocks / MAX_BEATS);
        CHECK(clocks < MAX_BEATS + 60, "%d clocks", (int)clocks);
    }
    model_close(m);
    DONE();
}
