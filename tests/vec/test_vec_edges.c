/* test_vec_edges.c : casts of every instruction set at the edges. `long`: 10^7 samples of
 * stochastic rounding. */
#include "check.h"
#include "vec_inputs.h"
#include <math.h>
#ifdef VEC_X86
#include <xmmintrin.h>
#endif

enum { GUARD = 72, MAX_TAIL = 130 };

static struct vec_ops tables[VEC_TABLES];
static int n_tables;

static void check_tail(const struct vec_ops *ops, struct vec_cast cast, size_t n, size_t place)
{
    const size_t bytes = vec_bytes(cast.fmt, n), at = 40;
    const int shift = (int)(place % 3) - 1;
    uint8_t *want = malloc(bytes + 1), *box = malloc(bytes + 2 * GUARD),
            *codes = page_end(0, bytes);
    float *x = (float *)page_end(1, n * sizeof *x), *end = (float *)page_end(2, n * sizeof *end);
    float *room = malloc((n + 2 * GUARD) * sizeof *room), *back = room + GUARD + place % 16,
          *plain = malloc(n * 4 + 1);
    for (size_t i = 0; i < n; i++)
        x[i] = vec_input(cast.fmt, shift, i + 1000 * n);

    vec_plain.encode(&cast, x, n, at, shift, want);
    memset(box, 0xa5, bytes + 2 * GUARD);
    const size_t lead = place % GUARD;
    ops->encode(&cast, x, n, at, shift, box + lead);
    CHECK(memcmp(box + lead, want, bytes) == 0, "%s e%um%u n %zu place %zu: other codes", ops->name,
          cast.fmt.e, cast.fmt.m, n, place);
    for (size_t i = 0; i < bytes + 2 * GUARD; i++)
        CHECK((i >= lead && i < lead + bytes) || box[i] == 0xa5,
              "%s e%um%u n %zu place %zu: encode wrote byte %zu", ops->name, cast.fmt.e, cast.fmt.m,
              n, place, i);
    CHECK(ops->absmax(x, n) == vec_plain.absmax(x, n), "%s absmax n %zu place %zu", ops->name, n,
          place);
    CHECK(ops->scan_encode(&cast, x, n, at, shift, codes) == vec_plain.absmax(x, n),
          "%s scan n %zu", ops->name, n);
    CHECK(memcmp(codes, want, bytes) == 0, "%s e%um%u n %zu at the end: other codes", ops->name,
          cast.fmt.e, cast.fmt.m, n);

    if (n * mf_width(cast.fmt) % 8)
        /* unused bits must not be read as codes */
        codes[bytes - 1] |= (uint8_t)(0xff << n * mf_width(cast.fmt) % 8);
    for (size_t i = 0; i < n + 32; i++)
        back[(ptrdiff_t)i - 16] = 42;
    ops->decode(cast.fmt, codes, n, -shift, 3, back);
    vec_plain.decode(cast.fmt, want, n, -shift, 3, plain);
    CHECK(memcmp(back, plain, n * sizeof *back) == 0, "%s e%um%u n %zu place %zu: other values",
          ops->name, cast.fmt.e, cast.fmt.m, n, place);
    for (ptrdiff_t i = -16; i < (ptrdiff_t)n + 16; i++)
        CHECK((i >= 0 && i < (ptrdiff_t)n) || back[i] == 42, "%s n %zu: decode wrote value %td",
              ops->name, n, i);
    ops->decode(cast.fmt, codes, n, -shift, 3, end);
    CHECK(memcmp(end, plain, n * sizeof *end) == 0, "%s e%um%u n %zu at the end: other values",
          ops->name, cast.fmt.e, cast.fmt.m, n);
    free(want), free(box), free(room), free(plain);
}

static void check_tails(void)
{
    for (int t = 0; t < n_tables; t++)
        for (unsigned width = 2; width <= 32; width++)
            for (size_t n = 0; n <= MAX_TAIL; n++) {
                const unsigned e = width < 4     ? width - 1
                                   : width < 10  ? 2 + width % 3
                                   : width == 32 ? 8
                                                 : 5 + width % 4;
                const unsigned capped = width - 1 - e > 23 ? width - 24 : e;
                struct vec_cast cast = {.fmt = {(uint8_t)capped, (uint8_t)(width - 1 - capped), 0},
                                        .key = 9 + n};
                cast.round = n % 4 == 1 ? MF_STOCHASTIC : n % 8 == 2 ? MF_ZERO : MF_NEAREST;
                check_tail(&tables[t], cast, n, n + width);
                if (width == 8) {
                    cast = (struct vec_cast){.fmt = {5, 2, 0}, .trunc = true};
                    check_tail(&tables[t], cast, n, 3 * n + 1);
                }
            }
}

/* Long vectors bypass the caches; short chunks must have the same bytes. */
static void check_streams(void)
{
    static const struct mf_fmt formats[] = {{3, 0, 0}, {5, 2, 0}, {8, 7, 0}, {8, 23, 0}};
    enum { MORE = 9000001 };
    float *x = malloc((MORE + 16) * sizeof *x), *back = malloc((MORE + 16) * sizeof *x);
    uint8_t *whole = malloc(MORE * 4 + GUARD), *parts = malloc(MORE * 4 + GUARD);
    for (size_t i = 0; i < MORE + 16; i++)
        x[i] = i < 5000 ? vec_input(formats[0], 0, i) : x[i - 4999];
    for (int t = 0; t < n_tables; t++)
        for (unsigned f = 0; f < 4; f++)
            for (size_t place = 0; place < 7; place += 3) {
                const struct vec_ops *ops = &tables[t];
                const struct vec_cast cast = {.fmt = formats[f]};
                const size_t n = MORE >> f, bytes = vec_bytes(cast.fmt, n);
                const float *from = x + place;
                memset(whole, 0xa5, bytes + GUARD);
                memset(parts, 0xa5, bytes + GUARD);
                ops->encode(&cast, from, n, 0, 0, whole + place);
                for (size_t i = 0; i < n; i += 80000)
                    ops->encode(&cast, from + i, n - i < 80000 ? n - i : 80000, i, 0,
                                parts + place + vec_bytes(cast.fmt, i));
                CHECK(memcmp(whole, parts, bytes + GUARD) == 0,
                      "%s e%um%u place %zu: the stream differs", ops->name, cast.fmt.e, cast.fmt.m,
                      place);
                back[place + n] = 42;
                ops->decode(cast.fmt, whole + place, n, 0, 1, back + place);
                CHECK(back[place + n] == 42, "%s: decode wrote beyond", ops->name);
                for (size_t i = 0; i < n; i += 1000) {
                    float some[1000];
                    const size_t k = n - i < 1000 ? n - i : 1000;
                    ops->decode(cast.fmt, whole + place + vec_bytes(cast.fmt, i), k, 0, 1, some);
                    CHECK(memcmp(some, back + place + i, k * sizeof *some) == 0,
                          "%s e%um%u place %zu: values differ", ops->name, cast.fmt.e, cast.fmt.m,
                          place);
                }
            }
    free(x), free(back), free(whole), free(parts);
}

/* without exception flags: IEEE's mode, and four that callers may have set */
#if defined(__x86_64__)
enum { IEEE_MODE = 0x1f80, FLUSH_OUT = 0x8000, FLUSH_IN = 0x40, TO_ZERO = 0x6000 };
static const unsigned modes[4] = {IEEE_MODE | FLUSH_OUT | FLUSH_IN, IEEE_MODE | FLUSH_OUT,
                                  IEEE_MODE | FLUSH_IN, IEEE_MODE | FLUSH_OUT | FLUSH_IN | TO_ZERO};
static void set_mode(unsigned mode)
{
    _mm_setcsr(mode);
}
static unsigned get_mode(void)
{
    return _mm_getcsr() & ~0x3fu;
}
#elif defined(__aarch64__)
enum { IEEE_MODE = 0, FLUSH = 1 << 24, UPWARD = 1 << 22, TO_ZERO = 3 << 22 };
static const unsigned modes[4] = {FLUSH, UPWARD, TO_ZERO, FLUSH | TO_ZERO};
static void set_mode(unsigned mode)
{
    __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)mode));
}
static unsigned get_mode(void)
{
    uint64_t mode;
    __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
    return (unsigned)mode;
}
#else
enum { IEEE_MODE };
static const unsigned modes[4];
static void set_mode(unsigned mode)
{
    (void)mode;
}
static unsigned get_mode(void)
{
    return 1; /* modes are not tested on an unknown CPU */
}
#endif

/* Callers that flush subnormals or round in another direction get the same bits and keep their
 * mode. */
static void check_modes(void)
{
    enum { N = 4000 };
    static float x[N], back_want[N], back[N];
    static uint8_t want[N * 4], codes[N * 4];
    static const int shifts[] = {0, -3, 7, -130, 100};
    for (unsigned e = 2; e <= 8; e += 3)
        for (unsigned m = 1; m <= 23; m += 11)
            for (unsigned s = 0; s < 5 * 4; s++) {
                const int shift = shifts[s % 5];
                const unsigned mode = modes[s / 5];
                set_mode(mode);
                const bool kept = get_mode() == mode; /* valgrind does not flush */
                set_mode(IEEE_MODE);
                if (!kept)
                    continue;
                const struct vec_cast cast = {.fmt = {(uint8_t)e, (uint8_t)m, 0},
                                              .round = (enum mf_round)(s % 3)};
                for (size_t i = 0; i < N; i++)
                    x[i] = vec_input(cast.fmt, shift, i);
                vec_plain.encode(&cast, x, N, 0, shift, want);
                vec_plain.decode(cast.fmt, want, N, -shift, 3, back_want);
                for (int t = -1; t < n_tables; t++) {
                    const struct vec_ops *ops = t < 0 ? &vec_plain : &tables[t];
                    set_mode(mode);
                    ops->encode(&cast, x, N, 0, shift, codes);
                    ops->decode(cast.fmt, want, N, -shift, 3, back);
                    const unsigned after = get_mode();
                    set_mode(IEEE_MODE);
                    CHECK(after == mode, "%s: mode %x became %x", ops->name, mode, after);
                    CHECK(memcmp(codes, want, vec_bytes(cast.fmt, N)) == 0,
                          "%s e%um%u shift %d mode %x: other codes", ops->name, e, m, shift, mode);
                    CHECK(memcmp(back, back_want, sizeof back) == 0,
                          "%s e%um%u shift %d mode %x: other values", ops->name, e, m, shift, mode);
                }
            }
}

/* Random bits do not depend on chunks, even if the counter's low half overflows. */
static void check_chunks(void)
{
    enum { N = 5000 };
    static float x[N];
    static uint8_t want[N], codes[N];
    const struct vec_cast cast = {
        .fmt = {4, 3, 0}, .round = MF_STOCHASTIC, .key = 0xfedcba9876543210};
    static const uint64_t starts[] = {0, 8, ((uint64_t)4 << 32) - 1000, ((uint64_t)4 << 32) - 1001,
                                      123456789012345};
    for (size_t i = 0; i < N; i++)
        x[i] = vec_input(cast.fmt, 0, i);
    for (unsigned s = 0; s < 5; s++) {
        vec_plain.encode(&cast, x, N, (size_t)starts[s], 0, want);
        for (int t = 0; t < n_tables; t++)
            for (size_t step = 1; step <= N; step = step * 3 + 1) {
                memset(codes, 0, sizeof codes);
                for (size_t i = 0; i < N; i += step)
                    tables[t].encode(&cast, x + i, N - i < step ? N - i : step,
                                     (size_t)starts[s] + i, 0, codes + i);
                CHECK(memcmp(want, codes, N) == 0, "%s: chunks of %zu from %llu give other bits",
                      tables[t].name, step, (unsigned long long)starts[s]);
            }
    }
}

/* A dropped part equal to its random word rounds down, the next larger one up. */
static void check_random_ties(void)
{
    const struct vec_cast cast = {.fmt = {4, 0, 0}, .round = MF_STOCHASTIC, .key = 11};
    for (size_t at = 0, found = 0; found < 20; at++) {
        const uint32_t word = philox_round_u32(cast.key, at);
        if (word & 0x1ff || word == 0)
            continue; /* e4m0 drops 23 bits, compared with the top of the word */
        const float x[2] = {float_of(0x3f800000 | word >> 9),
                            float_of((0x3f800000 | word >> 9) + 1)};
        found++;
        for (int t = 0; t < n_tables; t++)
            for (int up = 0; up < 2; up++) {
                uint8_t code;
                tables[t].encode(&cast, x + up, 1, at, 0, &code);
                CHECK(code == mf_bias(cast.fmt) + up, "%s: at %zu %a becomes %x", tables[t].name,
                      at, (double)x[up], code);
            }
    }
}

/* The mean of n values at p between two neighbours has deviation unit * sqrt(p (1-p) / n). */
static void check_unbiased(size_t n_samples)
{
    enum { N = 100000 };
    static float x[N], back[N];
    static uint8_t codes[N * 2];
    static const struct mf_fmt formats[] = {{5, 2, 0}, {4, 3, 0},  {4, 3, 1},
                                            {3, 0, 0}, {5, 10, 0}, {8, 7, 0}};
    const struct vec_ops *ops = &tables[n_tables - 1]; /* all tables give the same bits */
    for (unsigned f = 0; f < 6; f++) {
        double error = 0, variance = 0;
        const double unit = ldexp(1, -formats[f].m); /* spacing in [1, 2) */
        for (size_t done = 0; done < n_samples; done += N) {
            const struct vec_cast cast = {.fmt = formats[f], .round = MF_STOCHASTIC, .key = 77 + f};
            for (size_t i = 0; i < N; i++) {
                const double p = philox_u32(f, done + i) % 4096 / 4096.0;
                x[i] = (float)(1 + unit * p);
                variance += unit * unit * p * (1 - p);
            }
            ops->encode(&cast, x, N, done, 0, codes);
            ops->decode(cast.fmt, codes, N, 0, 1, back);
            for (size_t i = 0; i < N; i++)
                error += (double)back[i] - (double)x[i];
        }
        CHECK(fabs(error) < 4 * sqrt(variance), "e%um%u: %zu errors add up to %g, deviation %g",
              formats[f].e, formats[f].m, n_samples, error, sqrt(variance));
    }
}

int main(int argc, char **argv)
{
    n_tables = vec_tables(tables);
    printf("%d tables; seeds 0x1234 0x5678 77\n", n_tables);
    check_tails();
    check_streams();
    check_modes();
    check_chunks();
    check_random_ties();
    check_unbiased(argc > 1 && !strcmp(argv[1], "long") ? 10000000 : 500000);
    DONE();
}
