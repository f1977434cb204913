/* test_reduce_mm_rtl.c : compares rtl/memory/reduce_mm.sv with mf.h, on an AXI4 memory with random
 * stalls. */
#define MODEL_PREFIX mm_
#include "card_formats.h"
#include "hls/core/reduce.h"
#include "rtl_memory.h"

struct job {
    uint32_t in, out, parts, stride, beats, fmt, out_fmt, shift, saturate;
};

static uint32_t expected(struct job j)
{
    struct beat_fmt in = beat_format(j.fmt), out = beat_format(j.out_fmt);
    uint32_t status = 0, codes = 512 / in.width, done = 0;
    struct beat sum = beat_zero();
    uint32_t to = j.out;
    for (uint32_t row = 0; row < j.beats; row++)
        for (uint32_t i = 0; i < codes; i++) {
            uint64_t acc = 0;
            for (uint32_t k = 0; k < j.parts; k++)
                acc = mf_acc_add(in.fmt, acc,
                                 beat_get(beat_load(mem[j.in + k * j.stride + row]), in.width, i));
            uint32_t code =
                mf_acc_round(in.fmt, acc, (int)j.shift, out.fmt, j.saturate ? MF_SATURATE : MF_INF);
            status |= reduce_status(in.fmt, acc, j.shift, out.fmt);
            sum = beat_put(sum, out.width, done++, code);
            if (done == 512 / out.width || (row + 1 == j.beats && i + 1 == codes)) {
                uint8_t bytes[64];
                beat_store(sum, bytes);
                want_bytes(64 * to++, bytes, 64);
                sum = beat_zero();
                done = 0;
            }
        }
    return status;
}

/* what NULL: without a look at the memory */
static uint32_t run(struct job j, const char *what, uint64_t *clocks)
{
    uint64_t in = base + 64ull * j.in, out = base + 64ull * j.out;
    write_reg(ARG_REDUCE_MM_in, (uint32_t)in);
    write_reg(ARG_REDUCE_MM_in + 4, (uint32_t)(in >> 32));
    write_reg(ARG_REDUCE_MM_out, (uint32_t)out);
    write_reg(ARG_REDUCE_MM_out + 4, (uint32_t)(out >> 32));
    write_reg(ARG_REDUCE_MM_parts, j.parts);
    write_reg(ARG_REDUCE_MM_stride, j.stride);
    write_reg(ARG_REDUCE_MM_beats, j.beats);
    write_reg(ARG_REDUCE_MM_fmt, j.fmt);
    write_reg(ARG_REDUCE_MM_out_fmt, j.out_fmt);
    write_reg(ARG_REDUCE_MM_out_shift, j.shift);
    write_reg(ARG_REDUCE_MM_saturate, j.saturate);
    return run_twice(what, clocks);
}

static void check_run(struct job j)
{
    uint64_t clocks;
    char what[80];
    snprintf(what, sizeof what, "%u parts of %u beats, %02x to %02x, shift %u", j.parts, j.beats,
             j.fmt, j.out_fmt, j.shift);
    memcpy(want, mem, sizeof want);
    uint32_t status = expected(j), is = run(j, what, &clocks);
    CHECK(is == status, "status %x, not %x (formats %02x %02x)", is, status, j.fmt, j.out_fmt);
}

int main(int argc, char **argv)
{
    enum { IN_END = MEM_BEATS / 2 };
    open_kernel(argc, argv, 0x33);

    for (int i = 0; i < CARD_FORMATS * CARD_FORMATS * 2; i++) {
        struct job j = {.fmt = card_formats[i % CARD_FORMATS],
                        .out_fmt = card_formats[i / CARD_FORMATS % CARD_FORMATS]};
        const uint32_t few = rnd() % 4, is_short = rnd() % 4;
        j.parts = 1 + rnd() % (few ? 4 : 20);
        j.beats = 1 + rnd() % (is_short ? 40 : 150);
        j.stride = j.beats + rnd() % 50;
        j.in = rnd() % (IN_END - j.parts * j.stride);
        j.out = IN_END + rnd() % 4096;
        j.shift = rnd() % 7;
        j.saturate = rnd() & 1;
        stall = rnd() % 3 ? 1 + rnd() % 5 : 0;
        check_run(j);
    }

    stall = 0;
    struct job j = {5, IN_END, 64, 37, 33, 0x43, 0x43, 6, 1}, bad;
    check_run(j);
    uint64_t clocks;
    memcpy(want, mem, sizeof want);
#define REFUSED(field, value)                                                             \
    do {                                                                                  \
        bad = j;                                                                          \
        bad.field = value;                                                                \
        CHECK(run(bad, #field " " #value, &clocks) == REDUCE_REFUSED, #field " " #value); \
    } while (0)
    REFUSED(parts, 0);
    REFUSED(parts, 65);
    REFUSED(fmt, 0x44);
    REFUSED(fmt, 0xd2);
    REFUSED(fmt, 0x143);
    REFUSED(fmt, 0x61);
    REFUSED(out_fmt, 0);
    REFUSED(shift, 7);
    REFUSED(saturate, 2);
    REFUSED(beats, 0x40000001);
    bad = (struct job){5, IN_END, 1, 0x40000000, 0x40000000, 0x30, 0x5a, 0, 1};
    CHECK(run(bad, "2^32 beats out", &clocks) == REDUCE_REFUSED, "2^32 beats out");
    bad = (struct job){5, IN_END, 33, 37, 33, 0x5a, 0x43, 6, 1};
    CHECK(run(bad, "33 parts of 16 bits", &clocks) == REDUCE_REFUSED, "33 parts of 16 bits");
    bad = j;
    bad.beats = 0;
    CHECK(run(bad, "no beats", &clocks) == 0, "no beats");
    beats_read = 0;
    fail_read = 100;
    CHECK(run(j, NULL, &clocks) >> 31 == 1, "an error of the memory is not told");

    j = (struct job){0, IN_END, 1, 960, 960, 0x52, 0x52, 3, 1}; /* a sum leaves in each clock */
    for (fail_read = 100; fail_read < 960; fail_read += 79) {
        beats_read = 0;
        CHECK(run(j, NULL, &clocks) >> 31 == 1, "an error of the memory at beat %d is not told",
              (int)fail_read);
    }
    fail_read = 0;

    j = (struct job){0, IN_END, 8, 1000, 960, 0x52, 0x52, 3, 1};
    memcpy(want, mem, sizeof want);
    expected(j);
    run(j, "the long one", &clocks);
    printf("8 parts of 960 beats: %d clocks, %.3f a beat read\n", (int)clocks,
           (double)clocks / (8 * 960));
    CHECK(clocks < 8 * 960 * 102 / 100 + 60, "%d clocks", (int)clocks);
    model_close(m);
    DONE();
}
