/* bus_card.h : opens a simulated card with its bus and memory, as seen over PCIe. */
#ifndef BUS_CARD_H
#define BUS_CARD_H
#include "base/clock.h"
#include "base/err.h"
#include "check.h"
#include "hls/card/kernels.h"
#include "hls/arith/philox.h"
#include "offload/card/fpga_process.h"
#include "sim/kernel_port.h"
#include <libgen.h>
#include <limits.h>
#include <string.h>

enum { SEED = 14, ANSWER_S = 60 };
enum {
#define KERNEL_ARG(KERNEL, index, name, offset, kind, c_type) ARG_##KERNEL##_##name = offset,
#include "hls/card/kernels.def"
};
static const uint64_t nic = KERNEL_NIC_CORE_BASE, reduce = KERNEL_REDUCE_MM_BASE,
                      expmax = KERNEL_EXPMAX_BASE, quant = KERNEL_QUANT_BASE,
                      unquant = KERNEL_UNQUANT_BASE, mem = 0x4000000000, mem_bytes = 1 << 30;

static struct fpga_process card;
static uint64_t drawn;

static inline uint32_t draw(void)
{
    return philox_u32(SEED, drawn++);
}

static inline struct simlink ask(struct simlink m, const void *body)
{
    struct simlink answer = {.status = 9};
    const int rc = fpga_link_ask(&card.link, m, body, &answer, clock_s() + ANSWER_S);
    CHECK(rc == 0, "message %u, a 0x%llx: %s", m.kind, (unsigned long long)m.a, strerror(-rc));
    if (rc)
        exit(1);
    return answer;
}

static inline uint32_t bus_write(uint64_t at, uint32_t value)
{
    return ask((struct simlink){.kind = SIMLINK_BUS_WRITE, .a = at, .b = value}, NULL).status;
}

static inline uint32_t bus_read(uint64_t at, uint32_t *value)
{
    const struct simlink answer = ask((struct simlink){.kind = SIMLINK_BUS_READ, .a = at}, NULL);
    *value = (uint32_t)answer.b;
    return answer.status;
}

static inline uint32_t reads(uint64_t at)
{
    uint32_t value = 0;
    CHECK(bus_read(at, &value) == 0, "nothing answers at 0x%llx", (unsigned long long)at);
    return value;
}

static inline uint32_t put(uint64_t at, const void *from, size_t n)
{
    return ask((struct simlink){.kind = SIMLINK_MEM_WRITE, .bytes = (uint32_t)n, .a = at}, from)
        .status;
}

static inline uint32_t get(uint64_t at, void *to, size_t n)
{
    const struct simlink answer =
        ask((struct simlink){.kind = SIMLINK_MEM_READ, .a = at, .b = n}, NULL);
    CHECK(answer.bytes == (answer.status ? 0 : n), "%u bytes of %zu", answer.bytes, n);
    if (answer.bytes == n && n)
        memcpy(to, card.link.body, n);
    return answer.status;
}

static inline void start(const char *model, const char *listen)
{
    const char *const words[] = {"--engine", model, listen ? "--listen" : NULL, listen, NULL};
    char why[FPGA_WHY_BYTES];
    if (fpga_process_start(&card, words, true, 30, why)) {
        fprintf(stderr, "cannot start a card: %s\n", why);
        exit(1);
    }
}

static inline void go(uint64_t base)
{
    const double until = clock_s() + ANSWER_S;
    uint32_t control = reads(base + KERNEL_CTRL);
    CHECK((control & 15) == KERNEL_CTRL_IDLE, "control %x before it starts", control);
    CHECK(bus_write(base, KERNEL_CTRL_START) == 0, "start");
    do {
        control = reads(base);
        CHECK((control & KERNEL_CTRL_DONE) || (control & 15) == KERNEL_CTRL_START, "control %x",
              control);
    } while (!(control & KERNEL_CTRL_DONE) && clock_s() < until);
    CHECK((control & 15) == (KERNEL_CTRL_DONE | KERNEL_CTRL_IDLE | KERNEL_CTRL_READY),
          "it ends with %x", control);
    CHECK((reads(base) & 15) == KERNEL_CTRL_IDLE, "done stays");
}

static inline void argument(uint64_t at, uint64_t value, bool wide)
{
    CHECK(bus_write(at, (uint32_t)value) == 0, "argument at %llx", (unsigned long long)at);
    if (wide)
        CHECK(bus_write(at + 4, (uint32_t)(value >> 32)) == 0, "its other half");
}

#define SET(KERNEL, base, name, value) \
    argument((base) + ARG_##KERNEL##_##name, (uint64_t)(value), WIDE_##KERNEL##_##name)
enum { WIDE_VALUE, WIDE_MEMORY };
enum {
#define KERNEL_ARG(KERNEL, index, name, offset, kind, c_type) WIDE_##KERNEL##_##name = WIDE_##kind,
#include "hls/card/kernels.def"
};

static inline void set_reduce(struct mm_run r)
{
    SET(REDUCE_MM, reduce, in, r.in);
    SET(REDUCE_MM, reduce, out, r.out);
    SET(REDUCE_MM, reduce, parts, r.parts);
    SET(REDUCE_MM, reduce, stride, r.stride);
    SET(REDUCE_MM, reduce, beats, r.beats);
    SET(REDUCE_MM, reduce, fmt, r.fmt);
    SET(REDUCE_MM, reduce, out_fmt, r.out_fmt);
    SET(REDUCE_MM, reduce, out_shift, r.out_shift);
    SET(REDUCE_MM, reduce, saturate, r.saturate);
}

static inline void put_all(uint64_t at, const uint8_t *from, size_t n)
{
    for (size_t i = 0; i < n; i += SIMLINK_MAX)
        CHECK(put(at + i, from + i, n - i < SIMLINK_MAX ? n - i : SIMLINK_MAX) == 0, "put");
}

static inline void get_all(uint64_t at, uint8_t *to, size_t n)
{
    for (size_t i = 0; i < n; i += SIMLINK_MAX)
        CHECK(get(at + i, to + i, n - i < SIMLINK_MAX ? n - i : SIMLINK_MAX) == 0, "get");
}

enum { MANY = 20001 }; /* a run needs several pieces */
static const uint64_t at_x = mem + (4 << 20), at_codes = mem + (8 << 20),
                      at_words = mem + (12 << 20);

static inline void set_quant(uint32_t n, uint32_t fmt, int shift, uint32_t saturate)
{
    SET(QUANT, quant, x, at_x);
    SET(QUANT, quant, codes, at_codes);
    SET(QUANT, quant, n, n);
    SET(QUANT, quant, fmt, fmt);
    SET(QUANT, quant, shift, (uint32_t)shift);
    SET(QUANT, quant, saturate, saturate);
    SET(QUANT, quant, status, at_words);
}

static inline void set_unquant(uint32_t n, uint32_t fmt, int shift)
{
    SET(UNQUANT, unquant, codes, at_codes);
    SET(UNQUANT, unquant, x, at_x);
    SET(UNQUANT, unquant, n, n);
    SET(UNQUANT, unquant, fmt, fmt);
    SET(UNQUANT, unquant, shift, (uint32_t)shift);
    SET(UNQUANT, unquant, status, at_words);
}

static inline void set_expmax(uint32_t n, uint32_t ranks)
{
    SET(EXPMAX, expmax, x, at_x);
    SET(EXPMAX, expmax, n, n);
    SET(EXPMAX, expmax, n_ranks, ranks);
    SET(EXPMAX, expmax, exponent, at_words + 4);
    SET(EXPMAX, expmax, absmax, at_words + 8);
    SET(EXPMAX, expmax, status, at_words);
}

static inline uint32_t word(unsigned i)
{
    uint8_t b[4] = {0};
    CHECK(get(at_words + 4 * i, b, 4) == 0, "word");
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static inline void poison_words(void)
{
    static const uint8_t marks[16] = {7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7};
    CHECK(put(at_words, marks, sizeof marks) == 0, "words");
}

static inline void of_both(const char *program, void (*test)(const char *model))
{
    static const char *const rtl[] = {"--engine", "rtl", NULL};
    char here[PATH_MAX], path[2 * PATH_MAX], why[FPGA_WHY_BYTES];
    snprintf(here, sizeof here, "%s", program);
    snprintf(path, sizeof path, "%s/..:%s", dirname(here), getenv("PATH"));
    setenv("PATH", path, 1); /* for narrowcast-sim */
    printf("seed %d\n", SEED);
    test("c");
    err_hold();
    const int rc = fpga_process_start(&card, rtl, true, 30, why);
    err_release(false);
    fpga_process_close(&card);
    if (rc == 0)
        test("rtl");
    else
        CHECK(strstr(why, "built without Verilator"), "the Verilated card: %s", why);
}

#endif
