/* test_sim_kernels.c : compares the kernels of a PCIe card with vec and mf.h. */
#include "bus_card.h"
#include "card_formats.h"
#include "hls/core/expmax.h"
#include "hls/core/reduce.h"
#include "vec/vec.h"

static float x[MANY + 15], back[MANY + 15];
static uint8_t codes[2 * MANY + 128];

static void reduces(void)
{
    enum { MAX_PARTS = 5, MAX_BEATS = 150 };
    static uint8_t in[MAX_PARTS * MAX_BEATS * 64], out[4 * MAX_BEATS * 64 + 64], want[sizeof out];
    for (unsigned i = 0; i < 3 * CARD_FORMATS; i++) {
        const uint32_t byte = card_formats[i % CARD_FORMATS],
                       out_byte = card_formats[draw() % CARD_FORMATS];
        struct mm_run r = {.parts = 1 + draw() % MAX_PARTS,
                           .beats = i == 0 ? 0 : 1 + draw() % MAX_BEATS,
                           .fmt = byte,
                           .out_fmt = out_byte,
                           .out_shift = draw() % 4,
                           .saturate = draw() % 2};
        r.stride = r.beats + draw() % (MAX_BEATS + 1 - r.beats);
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
        CHECK(reads(reduce + KERNEL_STATUS) == status, "status %x, not %x",
              reads(reduce + KERNEL_STATUS), status);
    }
}

/* The card's memory is little endian, like beats and the host. */
static void casts(void)
{
    static uint8_t want[sizeof codes];
    for (unsigned i = 0; i < 2 * CARD_FORMATS; i++) {
        const uint32_t byte = card_formats[i % CARD_FORMATS],
                       n = i < CARD_FORMATS ? MANY - draw() % 100 : draw() % 100;
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

static void one_model(const char *model)
{
    for (int listens = 0; listens < 2; listens++) {
        start(model, listens ? "127.0.0.1:0" : NULL);
        reduces();
        casts();
        exponents();
        fpga_process_close(&card);
    }
}

int main(int argc, char **argv)
{
    (void)argc;
    of_both(argv[0], one_model);
    DONE();
}
