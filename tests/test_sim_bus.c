/* test_sim_bus.c : what a card is to the machine it is in: its bus, its memory, every kernel against
 * vec and mf.h, values that make no sense, and that nobody but its owner has any of it. */
#include "base/clock.h"
#include "base/err.h"
#include "hls/expmax.h"
#include "hls/kernels.h"
#include "hls/philox.h"
#include "hls/quant.h"
#include "hls/reduce.h"
#include "hls/regs.h"
#include "offload/fpga_process.h"
#include "sim/kernel_port.h"
#include "vec/vec.h"
#include "sim_client.h"
#include <libgen.h>
#include <limits.h>
#include <string.h>

enum { SEED = 14, ANSWER_S = 60 };
enum {
#define KERNEL_ARG(KERNEL, index, name, offset, kind, c_type) ARG_##KERNEL##_##name = offset,
#include "hls/kernels.def"
};
static const uint64_t nic = KERNEL_NIC_CORE_BASE, reduce = KERNEL_REDUCE_MM_BASE,
                      expmax = KERNEL_EXPMAX_BASE, quant = KERNEL_QUANT_BASE,
                      unquant = KERNEL_UNQUANT_BASE, mem = 0x4000000000, mem_bytes = 1 << 30;

static struct fpga_process card;
static uint64_t drawn;

static uint32_t draw(void)
{
    return philox_u32(SEED, drawn++);
}

static struct simlink ask(struct simlink m, const void *body)
{
    struct simlink answer = {.status = 9};
    const int rc = fpga_link_ask(&card.link, m, body, &answer, clock_s() + ANSWER_S);
    CHECK(rc == 0, "message %u, a 0x%llx: %s", m.kind, (unsigned long long)m.a, strerror(-rc));
    if (rc)
        exit(1);
    return answer;
}

static uint32_t bus_write(uint64_t at, uint32_t value)
{
    return ask((struct simlink){.kind = SIMLINK_BUS_WRITE, .a = at, .b = value}, NULL).status;
}

static uint32_t bus_read(uint64_t at, uint32_t *value)
{
    const struct simlink answer = ask((struct simlink){.kind = SIMLINK_BUS_READ, .a = at}, NULL);
    *value = (uint32_t)answer.b;
    return answer.status;
}

static uint32_t reads(uint64_t at)
{
    uint32_t value = 0;
    CHECK(bus_read(at, &value) == 0, "nothing answers at 0x%llx", (unsigned long long)at);
    return value;
}

static uint32_t put(uint64_t at, const void *from, size_t n)
{
    return ask((struct simlink){.kind = SIMLINK_MEM_WRITE, .bytes = (uint32_t)n, .a = at}, from)
        .status;
}

static uint32_t get(uint64_t at, void *to, size_t n)
{
    const struct simlink answer =
        ask((struct simlink){.kind = SIMLINK_MEM_READ, .a = at, .b = n}, NULL);
    CHECK(answer.bytes == (answer.status ? 0 : n), "%u bytes of %zu", answer.bytes, n);
    if (answer.bytes == n && n)
        memcpy(to, card.link.body, n);
    return answer.status;
}

static void start(const char *model, const char *listen)
{
    const char *const words[] = {"--model", model, listen ? "--listen" : NULL, listen, NULL};
    char why[FPGA_WHY_BYTES];
    if (fpga_process_start(&card, words, true, 30, why)) {
        fprintf(stderr, "cannot start a card: %s\n", why);
        exit(1);
    }
}

/* ---- the bus ---- */

static void registers(bool listens)
{
    uint32_t value;
    CHECK(reads(nic + REG_ID) == REG_ID_VALUE, "ID %x", reads(nic + REG_ID));
    for (uint32_t on = 0; on < 4; on++) {
        CHECK(bus_write(nic + REG_CTRL, on & 1) == 0, "CTRL");
        CHECK(reads(nic + REG_CTRL) == (on & 1), "CTRL is not %u", on & 1);
    }
    CHECK(bus_write(nic + REG_DROP_IN, 77) == 0 && reads(nic + REG_DROP_IN) == 77, "DROP_IN");
    CHECK(bus_write(nic + REG_DROP_IN, 0) == 0, "DROP_IN");
    const uint64_t none[] = {0,
                             nic - 4,
                             nic + 2,
                             nic + 0xff0,
                             nic + 0x1008,
                             nic + KERNEL_WINDOW - 4,
                             reduce + 0x1000,
                             reduce + 0xfff,
                             unquant + KERNEL_WINDOW,
                             unquant + 0x1000,
                             mem,
                             UINT64_MAX,
                             UINT64_MAX - 3,
                             nic + (1ull << 32)};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        CHECK(bus_read(none[i], &value) == 1, "0x%llx answers", (unsigned long long)none[i]);
        CHECK(bus_write(none[i], 1) == 1, "0x%llx takes", (unsigned long long)none[i]);
    }
    const uint32_t ip = reads(nic + SHELL_IP), port = reads(nic + SHELL_PORT);
    CHECK(bus_write(nic + SHELL_IP, 0x0a000001) == 0, "IP");
    CHECK(bus_write(nic + SHELL_PORT, 0x14711) == 0, "PORT");
    if (listens) {
        CHECK(ip == 0x7f000001 && port, "IP %x, PORT %u", ip, port);
        CHECK(reads(nic + SHELL_IP) == ip && reads(nic + SHELL_PORT) == port, "it has moved");
    } else {
        CHECK(ip == 0 && port == 0, "IP %x, PORT %u", ip, port);
        CHECK(reads(nic + SHELL_IP) == 0x0a000001 && reads(nic + SHELL_PORT) == 0x4711,
              "IP and PORT are not kept");
    }
    const uint64_t at[] = {reduce + ARG_REDUCE_MM_out + 4, expmax + ARG_EXPMAX_status,
                           quant + ARG_QUANT_shift, unquant + ARG_UNQUANT_n};
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        CHECK(bus_write(at[i], 0xdead0000 + (uint32_t)i) == 0, "argument");
        CHECK(reads(at[i]) == 0xdead0000 + i, "argument %zu is not kept", i);
    }
    CHECK(bus_write(reduce + MM_STATUS, 5) == 0 && reads(reduce + MM_STATUS) != 5, "STATUS");
    CHECK(bus_write(quant + 0x74, 5) == 0 && reads(quant + 0x74) == 0, "there is no register");
    CHECK(bus_write(quant + 0xffc, 5) == 0 && reads(quant + 0xffc) == 0, "there is no register");
}

static void memory(void)
{
    static uint8_t x[SIMLINK_MOST + 1], y[SIMLINK_MOST + 1];
    const uint64_t end = mem + mem_bytes;
    for (size_t i = 0; i < sizeof x; i++)
        x[i] = (uint8_t)draw();
    CHECK(get(mem, y, 1) == 0 && y[0] == 0 && get(end - 1, y, 1) == 0 && y[0] == 0, "not 0");
    CHECK(put(mem, x, 1) == 0 && get(mem, y, 1) == 0 && y[0] == x[0], "the first byte");
    CHECK(put(end - SIMLINK_MOST, x, SIMLINK_MOST) == 0 &&
              get(end - SIMLINK_MOST, y, SIMLINK_MOST) == 0 && !memcmp(x, y, SIMLINK_MOST),
          "the last bytes");
    CHECK(put(mem - 1, x, 1) == 1 && put(mem - 1, x, 2) == 1, "in front of memory");
    CHECK(put(end, x, 1) == 1 && put(end - 10, x + 1, 11) == 1, "behind memory");
    CHECK(get(end - 10, y, 10) == 0 && !memcmp(y, x + SIMLINK_MOST - 10, 10), "half is written");
    CHECK(get(mem - 1, y, 1) == 1 && get(end, y, 1) == 1 && get(end - 10, y, 11) == 1, "read");
    CHECK(get(mem, y, SIMLINK_MOST + 1) == 1, "more than a message holds");
    CHECK(get(0, y, 1) == 1 && get(UINT64_MAX, y, 1) == 1 && get(UINT64_MAX - 5, y, 100) == 1 &&
              put(UINT64_MAX, x, 100) == 1,
          "no memory there");
    CHECK(ask((struct simlink){.kind = SIMLINK_MEM_READ, .a = mem, .b = UINT64_MAX}, NULL).status ==
              1,
          "all there is");
    CHECK(put(mem, x, 0) == 0 && get(end, y, 0) == 0, "no bytes");
}

/* ---- runs ---- */

/* Starts the kernel at base and waits until it is done. */
static void go(uint64_t base)
{
    const double until = clock_s() + ANSWER_S;
    uint32_t control = reads(base + MM_CTRL);
    CHECK((control & 15) == MM_CTRL_IDLE, "control %x before it starts", control);
    CHECK(bus_write(base, MM_CTRL_START) == 0, "start");
    do {
        control = reads(base);
        CHECK((control & MM_CTRL_DONE) || (control & 15) == MM_CTRL_START, "control %x", control);
    } while (!(control & MM_CTRL_DONE) && clock_s() < until);
    CHECK((control & 15) == (MM_CTRL_DONE | MM_CTRL_IDLE | MM_CTRL_READY), "it ends with %x",
          control);
    CHECK((reads(base) & 15) == MM_CTRL_IDLE, "done stays");
}

static void argument(uint64_t at, uint64_t value, bool wide)
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
#include "hls/kernels.def"
};

static void set_reduce(struct mm_run r)
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

static void put_all(uint64_t at, const uint8_t *from, size_t n)
{
    for (size_t i = 0; i < n; i += SIMLINK_MOST)
        CHECK(put(at + i, from + i, n - i < SIMLINK_MOST ? n - i : SIMLINK_MOST) == 0, "put");
}

static void get_all(uint64_t at, uint8_t *to, size_t n)
{
    for (size_t i = 0; i < n; i += SIMLINK_MOST)
        CHECK(get(at + i, to + i, n - i < SIMLINK_MOST ? n - i : SIMLINK_MOST) == 0, "get");
}

static void reduces(void)
{
    static const uint32_t formats[] = {0x12, 0x21, 0x43, 0xc3, 0x52, 0x34, 0x5a};
    enum { FORMATS = sizeof formats / sizeof *formats, MOST_PARTS = 5, MOST_BEATS = 150 };
    static uint8_t in[MOST_PARTS * MOST_BEATS * 64], out[4 * MOST_BEATS * 64 + 64],
        want[sizeof out];
    for (unsigned i = 0; i < 3 * FORMATS; i++) {
        const uint32_t byte = formats[i % FORMATS], out_byte = formats[draw() % FORMATS];
        struct mm_run r = {.parts = 1 + draw() % MOST_PARTS,
                           .beats = i == 0 ? 0 : 1 + draw() % MOST_BEATS,
                           .fmt = byte,
                           .out_fmt = out_byte,
                           .out_shift = draw() % 4,
                           .saturate = draw() % 2};
        r.stride = r.beats + draw() % (MOST_BEATS + 1 - r.beats);
        r.in = mem + 64ull * (draw() % 5000);
        r.out = i % 3 ? mem + (1 << 20) : mem + mem_bytes - sizeof out;
        const struct mf_fmt f = beat_format(byte).fmt, to = beat_format(out_byte).fmt;
        const size_t n = (size_t)r.beats * 512 / mf_width(f), used = vec_bytes(to, n),
                     end = (used + 63) / 64 * 64;
        for (size_t k = 0; k < sizeof in; k++)
            in[k] = (uint8_t)draw();
        memset(out, 0xa5, sizeof out);
        memset(want, 0, end);
        memset(want + end, 0xa5, sizeof want - end);
        uint32_t status = 0;
        for (size_t k = 0; k < n; k++) {
            uint64_t acc = 0;
            for (uint32_t p = 0; p < r.parts; p++)
                acc = mf_acc_add(
                    f, acc,
                    beat_get(beat_load(in + 64 * ((size_t)p * r.stride + k * mf_width(f) / 512)),
                             mf_width(f), (uint32_t)(k % (512 / mf_width(f)))));
            const uint32_t c =
                mf_acc_round(f, acc, (int)r.out_shift, to, r.saturate ? MF_SATURATE : MF_INF);
            status |= reduce_status(f, acc, r.out_shift, to);
            for (uint32_t bit = 0; bit < mf_width(to); bit += 4)
                want[(k * mf_width(to) + bit) / 8] |=
                    (uint8_t)((c >> bit & 15) << (k * mf_width(to) + bit) % 8);
        }
        put_all(r.in, in, 64 * ((size_t)(r.parts - 1) * r.stride + r.beats));
        put_all(r.out, out, sizeof out);
        set_reduce(r);
        go(reduce);
        get_all(r.out, out, sizeof out);
        CHECK(!memcmp(out, want, sizeof out), "%u parts of %u beats, %02x to %02x", r.parts,
              r.beats, byte, out_byte);
        CHECK(reads(reduce + MM_STATUS) == status, "status %x, not %x", reads(reduce + MM_STATUS),
              status);
    }
}

enum { MANY = 20001 }; /* values: more than one piece of a run */
static float x[MANY + 15], back[MANY + 15];
static uint8_t codes[2 * MANY + 128];
static const uint64_t at_x = mem + (4 << 20), at_codes = mem + (8 << 20),
                      at_words = mem + (12 << 20);

static void set_quant(uint32_t n, uint32_t fmt, int shift, uint32_t saturate)
{
    SET(QUANT, quant, x, at_x);
    SET(QUANT, quant, codes, at_codes);
    SET(QUANT, quant, n, n);
    SET(QUANT, quant, fmt, fmt);
    SET(QUANT, quant, shift, (uint32_t)shift);
    SET(QUANT, quant, saturate, saturate);
    SET(QUANT, quant, status, at_words);
}

static void set_unquant(uint32_t n, uint32_t fmt, int shift)
{
    SET(UNQUANT, unquant, codes, at_codes);
    SET(UNQUANT, unquant, x, at_x);
    SET(UNQUANT, unquant, n, n);
    SET(UNQUANT, unquant, fmt, fmt);
    SET(UNQUANT, unquant, shift, (uint32_t)shift);
    SET(UNQUANT, unquant, status, at_words);
}

static void set_expmax(uint32_t n, uint32_t ranks)
{
    SET(EXPMAX, expmax, x, at_x);
    SET(EXPMAX, expmax, n, n);
    SET(EXPMAX, expmax, n_ranks, ranks);
    SET(EXPMAX, expmax, exponent, at_words + 4);
    SET(EXPMAX, expmax, absmax, at_words + 8);
    SET(EXPMAX, expmax, status, at_words);
}

static uint32_t word(unsigned i)
{
    uint8_t b[4] = {0};
    CHECK(get(at_words + 4 * i, b, 4) == 0, "word");
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static void poison_words(void)
{
    static const uint8_t marks[16] = {7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7};
    CHECK(put(at_words, marks, sizeof marks) == 0, "words");
}

/* Memory is little endian, as beats are; so is what runs this. */
static void casts(void)
{
    static const uint32_t formats[] = {0x12, 0x21, 0x43, 0xc3, 0x52, 0x5a};
    static uint8_t want[sizeof codes];
    for (unsigned i = 0; i < 12; i++) {
        const uint32_t byte = formats[i % 6], n = i < 6 ? MANY - draw() % 100 : draw() % 100;
        const struct mf_fmt f = beat_format(byte).fmt;
        const int shift = (int)(draw() % 9) - 4;
        const struct vec_cast cast = {.fmt = f, .round = MF_NEAREST, .overflow = MF_SATURATE};
        for (uint32_t k = 0; k < n; k++) {
            const uint32_t bits = (draw() & 0x80ffffff) | (110 + draw() % 30) << 23;
            memcpy(&x[k], &bits, 4);
        }
        put_all(at_x, (const uint8_t *)x, 4 * (size_t)n);
        memset(codes, 0xa5, sizeof codes);
        put_all(at_codes, codes, sizeof codes);
        poison_words();
        set_quant(n, byte, shift, 1);
        go(quant);
        CHECK(word(0) == 0, "status %x", word(0));
        const size_t used = vec_bytes(f, n), end = (used + 63) / 64 * 64;
        memset(want, 0, end);
        memset(want + end, 0xa5, sizeof want - end);
        vec_plain.encode(&cast, x, n, 0, shift, want);
        get_all(at_codes, codes, sizeof codes);
        CHECK(!memcmp(codes, want, sizeof codes), "format %02x, n %u", byte, n);

        vec_plain.decode(f, want, n, -shift, 1, x);
        set_unquant(n, byte, -shift);
        go(unquant);
        CHECK(word(0) == 0, "status %x", word(0));
        get_all(at_x, (uint8_t *)back, 4 * (size_t)n);
        CHECK(!memcmp(x, back, 4 * (size_t)n), "format %02x back, n %u", byte, n);
    }
}

static void exponents(void)
{
    static struct beat beats[MANY / 16 + 1];
    for (unsigned i = 0; i < 10; i++) {
        const uint32_t n = i == 0 ? 0 : i < 5 ? MANY - draw() % 100 : draw() % 100, ranks = 1 + i;
        uint32_t absmax, status;
        int32_t e;
        for (uint32_t k = 0; k < 16 * (MANY / 16 + 1); k++)
            beats[k / 16].w[k % 16] = draw() % (i == 7 ? 0xff800000 : 0x7f000000);
        put_all(at_x, (const uint8_t *)beats, sizeof beats);
        poison_words();
        set_expmax(n, i == 9 ? 0 : ranks);
        go(expmax);
        expmax_kernel(beats, n, i == 9 ? 0 : ranks, &e, &absmax, &status);
        CHECK(word(0) == status && word(1) == (uint32_t)e && word(2) == absmax &&
                  word(3) == 0x07070707,
              "n %u: status %x, exponent %d, largest %x", n, word(0), (int32_t)word(1), word(2));
    }
}

/* ---- what makes no sense ---- */

static void refused(void)
{
    static uint8_t before[1 << 12], after[sizeof before];
    const struct mm_run good = {.in = mem + (16 << 20),
                                .out = mem + (20 << 20),
                                .parts = 3,
                                .stride = 9,
                                .beats = 7,
                                .fmt = 0x43,
                                .out_fmt = 0x52};
    struct mm_run bad;
    for (size_t i = 0; i < sizeof before; i++)
        before[i] = (uint8_t)draw();
    put_all(good.out, before, sizeof before);
#define ENDS(field, value, is)                                                      \
    do {                                                                            \
        bad = good;                                                                 \
        bad.field = (value);                                                        \
        set_reduce(bad);                                                            \
        go(reduce);                                                                 \
        CHECK(reads(reduce + MM_STATUS) == (is), #field " " #value ": status %x",   \
              reads(reduce + MM_STATUS));                                           \
        get_all(good.out, after, sizeof after);                                     \
        CHECK(!memcmp(before, after, sizeof after), #field " " #value ": written"); \
    } while (0)
    ENDS(parts, 0, REDUCE_REFUSED);
    ENDS(parts, 65, REDUCE_REFUSED);
    ENDS(fmt, 0x44, REDUCE_REFUSED);
    ENDS(out_fmt, 0xffffffff, REDUCE_REFUSED);
    ENDS(out_shift, 7, REDUCE_REFUSED);
    ENDS(saturate, 2, REDUCE_REFUSED);
    ENDS(in, good.in + 1, REDUCE_REFUSED);
    ENDS(out, good.out + 32, REDUCE_REFUSED);
    ENDS(in, 0, KERNEL_NO_MEMORY);
    ENDS(in, mem - 64, KERNEL_NO_MEMORY);
    ENDS(in, mem + mem_bytes - 64 * (2 * 9 + 7) + 64, KERNEL_NO_MEMORY);
    ENDS(in, UINT64_MAX - 63, KERNEL_NO_MEMORY);
    ENDS(out, mem + mem_bytes - 64 * 6, KERNEL_NO_MEMORY);
    ENDS(out, UINT64_MAX - 63, KERNEL_NO_MEMORY);
    ENDS(beats, UINT32_MAX, KERNEL_NO_MEMORY);
    ENDS(stride, UINT32_MAX, KERNEL_NO_MEMORY);
    ENDS(beats, 0, 0);
#undef ENDS
    bad = good; /* more beats of sums than a register holds */
    bad.beats = UINT32_MAX;
    bad.fmt = 0x21;
    set_reduce(bad);
    go(reduce);
    CHECK(reads(reduce + MM_STATUS) == REDUCE_REFUSED, "status %x", reads(reduce + MM_STATUS));
    bad = good; /* as close to the end as it goes */
    bad.in = mem + mem_bytes - 64 * (2 * 9 + 7);
    set_reduce(bad);
    go(reduce);
    CHECK(!(reads(reduce + MM_STATUS) >> 30), "the last beat: %x", reads(reduce + MM_STATUS));
}

/* One argument of a run of n values made senseless; what the status in memory is afterwards. */
static void senseless(uint64_t base, int arg, bool wide, uint64_t value, uint32_t status)
{
    poison_words();
    argument(base + (uint64_t)arg, value, wide);
    go(base);
    CHECK(word(0) == status, "kernel at %llx, argument %x = %llx: status %x, not %x",
          (unsigned long long)base, arg, (unsigned long long)value, word(0), status);
}

static void refused_casts(void)
{
    const uint64_t outside[] = {0, mem - 64, mem + mem_bytes - 64, UINT64_MAX - 63};
    const uint32_t silent = 0x07070707;
    for (size_t i = 0; i < 4; i++) {
        set_quant(MANY, 0x43, 0, 1);
        senseless(quant, ARG_QUANT_x, true, outside[i], KERNEL_NO_MEMORY);
        set_quant(MANY, 0x43, 0, 1);
        senseless(quant, ARG_QUANT_codes, true, outside[i], KERNEL_NO_MEMORY);
        set_unquant(MANY, 0x43, 0);
        senseless(unquant, ARG_UNQUANT_codes, true, outside[i], KERNEL_NO_MEMORY);
        set_unquant(MANY, 0x43, 0);
        senseless(unquant, ARG_UNQUANT_x, true, outside[i], KERNEL_NO_MEMORY);
        set_expmax(MANY, 1);
        senseless(expmax, ARG_EXPMAX_x, true, outside[i], KERNEL_NO_MEMORY);
        set_expmax(MANY, 1);
        senseless(expmax, ARG_EXPMAX_absmax, true, outside[i] + 62, KERNEL_NO_MEMORY);
        set_expmax(MANY, 1);
        senseless(expmax, ARG_EXPMAX_status, true, outside[i] + 62, silent);
        set_quant(MANY, 0x43, 0, 1);
        senseless(quant, ARG_QUANT_status, true, outside[i] + 62, silent);
    }
    set_quant(1, 0x43, 0, 1);
    senseless(quant, ARG_QUANT_n, false, UINT32_MAX, KERNEL_NO_MEMORY);
    set_quant(1, 0x43, 0, 1);
    senseless(quant, ARG_QUANT_fmt, false, 0x44, QUANT_REFUSED);
    set_quant(1, 0x43, 0, 1);
    senseless(quant, ARG_QUANT_shift, false, INT32_MAX, QUANT_REFUSED);
    set_quant(1, 0x43, 0, 1);
    senseless(quant, ARG_QUANT_x, true, at_x + 4, QUANT_REFUSED);
    set_unquant(1, 0x43, 0);
    senseless(unquant, ARG_UNQUANT_n, false, UINT32_MAX, KERNEL_NO_MEMORY);
    set_unquant(1, 0x43, 0);
    senseless(unquant, ARG_UNQUANT_codes, true, at_codes + 32, QUANT_REFUSED);
    set_expmax(1, 1);
    senseless(expmax, ARG_EXPMAX_n, false, UINT32_MAX, KERNEL_NO_MEMORY);
    set_expmax(1, 1);
    senseless(expmax, ARG_EXPMAX_x, true, at_x + 1, EXPMAX_REFUSED);
}

/* Registers of any value, in any order: every run ends. Sizes are small or absurd: what fits into
 * memory and is long is allowed to be long. */
static void garbage(void)
{
    const uint64_t bases[] = {reduce, expmax, quant, unquant};
    const uint32_t values[] = {0,    1,    2,          16,         100,        0x43,      0x52,
                               0x5a, 0x40, 0x3fffffc0, 0x3fffff80, 0xffffffff, 0x80000000};
    for (unsigned i = 0; i < 600; i++) {
        const uint64_t base = bases[i % 4];
        for (unsigned k = 0; k < 12; k++)
            CHECK(bus_write(base + 0x10 + 4 * (draw() % 22), values[draw() % 13]) == 0, "garbage");
        for (unsigned at = 0x14; at < 0x40; at += 4)
            if (draw() % 3)
                CHECK(bus_write(base + at, 0x40) == 0, "the upper half of an address");
        go(base);
    }
}

/* A long run: registers answer meanwhile, other kernels run, and what is written to arguments is
 * for the next one. */
static void meanwhile(void)
{
    set_expmax(1 << 28, 1);
    SET(EXPMAX, expmax, x, mem);
    CHECK(bus_write(expmax, MM_CTRL_START) == 0 && reads(expmax) == MM_CTRL_START, "it runs");
    CHECK(bus_write(expmax + ARG_EXPMAX_x, 0xffffffff) == 0, "argument");
    CHECK(bus_write(expmax + ARG_EXPMAX_n, 0xffffffff) == 0, "argument");
    CHECK(bus_write(expmax, MM_CTRL_START) == 0, "a start that is too early");
    for (unsigned i = 0; i < 50; i++)
        CHECK(reads(nic + REG_ID) == REG_ID_VALUE, "ID");
    set_quant(1000, 0x43, 0, 1);
    go(quant);
    CHECK(reads(expmax) == MM_CTRL_START, "it runs no more");
}

/* A run that nobody asks after. */
static void alone(void)
{
    const double until = clock_s() + ANSWER_S;
    poison_words();
    set_expmax(1 << 20, 1);
    CHECK(bus_write(expmax, MM_CTRL_START) == 0, "start");
    while (word(0) && clock_s() < until)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    CHECK(word(0) == 0, "it does not go on by itself");
    CHECK(reads(expmax) & MM_CTRL_DONE, "done is not kept");
}

/* ---- others ---- */

static void strangers(void)
{
    const uint32_t ip = reads(nic + SHELL_IP), kinds[] = {SIMLINK_BUS_READ, SIMLINK_BUS_WRITE,
                                                          SIMLINK_MEM_READ, SIMLINK_MEM_WRITE};
    const uint16_t port = (uint16_t)reads(nic + SHELL_PORT);
    static struct client c;
    struct simlink answer;
    for (int i = 0; i < 4; i++) {
        const uint64_t at = i < 2 ? nic + REG_ID : mem;
        CHECK(client_open(&c, ip, port) == 0, "cannot connect");
        CHECK(client_read(&c, REG_ID) == REG_ID_VALUE, "cannot read a register");
        CHECK(client_ask(&c, (struct simlink){.kind = kinds[i], .a = at, .b = 4}, NULL, &answer) ==
                  -1,
              "message %u is answered", kinds[i]);
        close(c.fd);
    }
    /* a job of the card's owner, which may take all slots, is not theirs to stop */
    const uint32_t all = reads(nic + REG_CAP_SLOTS);
    CHECK(bus_write(nic + REG_JOB_INDEX, 0) == 0 && bus_write(nic + REG_JOB_RANKS, 1) == 0 &&
              bus_write(nic + REG_JOB_SLOTS, all) == 0 &&
              bus_write(nic + REG_JOB_COMMIT, REG_JOB_COMMIT_START) == 0,
          "the owner's job");
    CHECK(!(reads(nic + REG_STATUS) & REG_STATUS_REFUSED), "refused");
    CHECK(client_open(&c, ip, port) == 0, "cannot connect");
    CHECK(client_write(&c, REG_JOB_INDEX, 0) == 0 && client_write(&c, REG_JOB_COMMIT, 0) == 1,
          "a stranger stops the owner's job");
    CHECK(client_wire(&c, "jobs") == 1, "%d jobs", (int)client_wire(&c, "jobs"));
    CHECK(bus_write(nic + REG_CTRL, 0) == 0 && client_write(&c, REG_CTRL, REG_CTRL_LATCH) == 0,
          "CTRL");
    close(c.fd);
    CHECK(bus_write(nic + REG_JOB_INDEX, 0) == 0 && bus_write(nic + REG_JOB_COMMIT, 0) == 0,
          "stop");
}

static void one_model(const char *model)
{
    start(model, NULL);
    registers(false);
    memory();
    reduces();
    casts();
    exponents();
    refused();
    refused_casts();
    garbage();
    alone();
    meanwhile();
    fpga_process_close(&card);
    start(model, "127.0.0.1:0");
    registers(true);
    reduces();
    alone();
    strangers();
    meanwhile();
    fpga_process_close(&card);
}

int main(int argc, char **argv)
{
    static const char *const rtl[] = {"--model", "rtl", NULL};
    char here[PATH_MAX], path[PATH_MAX + 16], why[FPGA_WHY_BYTES];
    (void)argc;
    snprintf(here, sizeof here, "%s", argv[0]);
    snprintf(path, sizeof path, "%s/..:%s", dirname(here), getenv("PATH"));
    setenv("PATH", path, 1); /* where narrowcast-sim is */
    printf("seed %d\n", SEED);
    one_model("c");
    err_hold();
    const int rc = fpga_process_start(&card, rtl, true, 30, why);
    err_release(false);
    fpga_process_close(&card);
    if (rc == 0)
        one_model("rtl");
    else
        printf("the Verilated card: %s\n", why);
    DONE();
}
