/* test_expmax_mm_rtl.c : compares rtl/memory/cast_mm.sv as expmax_kernel with hls/core/expmax.c,
 * on an AXI4 memory with random stalls. */
#define MODEL_PREFIX expmax_
#include "hls/core/expmax.h"
#include "rtl_cast_mm.h"

/* at: offsets in memory of exponent, absmax and status, bytes */
static void set(uint32_t x, uint32_t n, uint32_t ranks, const uint32_t *at)
{
    set_memory(ARG_EXPMAX_x, x);
    set_value(ARG_EXPMAX_n, n);
    set_value(ARG_EXPMAX_n_ranks, ranks);
    set_memory(ARG_EXPMAX_exponent, at[0]);
    set_memory(ARG_EXPMAX_absmax, at[1]);
    set_memory(ARG_EXPMAX_status, at[2]);
    memcpy(want, mem, sizeof want);
}

static void find(uint32_t x, uint32_t n, uint32_t ranks, const uint32_t *at)
{
    int32_t exponent;
    uint32_t absmax, status;
    load_beats(x / 64, (n + 15) / 16);
    const uint32_t most = 1 + rnd() % 128; /* 128: also inf and nan */
    for (uint32_t i = 0; i < (n + 15) / 16; i++) {
        for (int k = 0; k < 16; k++)
            from[i].w[k] = (from[i].w[k] & 0x80ffffff) | (rnd() % most) << 24;
        beat_store(from[i], mem[x / 64 + i]);
    }
    set(x, n, ranks, at);
    expmax_kernel(from, n, ranks, &exponent, &absmax, &status);
    want_word(at[0], (uint32_t)exponent);
    want_word(at[1], absmax);
    want_word(at[2], status);
}

int main(int argc, char **argv)
{
    open_kernel(argc, argv, 0x53);
    for (unsigned i = 0; i < 300; i++) {
        const uint32_t at[] = {word_place(), word_place(), word_place()};
        stall = rnd() % 3 ? 1 + rnd() % 5 : 0;
        find(64 * (rnd() % 10000), i < 10 ? i % 2 : rnd() % (rnd() % 4 ? 100 : 16 * MAX_BEATS),
             rnd() % 8 ? 1 + rnd() % 100 : 0, at);
        compare("expmax");
    }
    stall = 0;
    const uint32_t at[] = {64 * WORDS_AT, 64 * WORDS_AT + 4, 64 * WORDS_AT + 60};
    set(32, 100, 1, at);
    want_word(at[2], EXPMAX_REFUSED);
    compare("refused");
    find(64, 16 * MAX_BEATS, 3, at);
    const uint64_t clocks = compare("the long one");
    printf("%d beats: %d clocks, %.3f a beat\n", MAX_BEATS, (int)clocks,
           (double)clocks / MAX_BEATS);
    CHECK(clocks < MAX_BEATS + 160, "%d clocks", (int)clocks);

    for (unsigned i = 1; i <= 2; i++) { /* the write of exponent, of absmax */
        find(64, 100, 3, at);
        fail_write = i;
        write_reg(KERNEL_CTRL, 1);
        wait_done();
        CHECK(mem[WORDS_AT][63] == 0x80, "an error of write %u is not told", i);
    }
    find(64, 100, 3, at);
    compare("after errors");
    model_close(m);
    DONE();
}
