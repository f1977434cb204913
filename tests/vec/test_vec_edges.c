/* test_vec_edges.c : casts of every instruction set at the ends of vectors and of memory, and in
 * other floating-point modes. */
#include "check.h"
#include "vec_inputs.h"
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
    uint8_t *whole = aligned_alloc(64, (MORE * 4 + GUARD) / 64 * 64 + 64),
            *parts = malloc(MORE * 4 + GUARD);
    for (size_t i = 0; i < MORE + 16; i++)
        x[i] = i < 5000 ? vec_input(formats[0], 0, i) : x[i - 4999];
    for (int t = 0; t < n_tables; t++)
        for (unsigned f = 0; f < 8; f++)
            for (size_t place = 0; place < 7; place += 3) {
                const struct vec_ops *ops = &tables[t];
                const struct vec_cast cast = {.fmt = formats[f % 4],
                                              .round = f < 4 ? MF_NEAREST : MF_STOCHASTIC};
                const size_t n = MORE >> f % 4, bytes = vec_bytes(cast.fmt, n);
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

/* All codes of narrow formats, with shifts from where all values are 0 to where all are inf. */
static void check_shifts(void)
{
    enum { BYTES = 1 << 17, SHIFTS = 290 };
    static const struct mf_fmt fmts[] = {{6, 1, 0}, {5, 2, 0}, {4, 3, 0},  {3, 4, 0}, {2, 5, 0},
                                         {1, 6, 0}, {4, 3, 1}, {2, 5, 2},  {3, 0, 0}, {2, 1, 0},
                                         {1, 2, 0}, {2, 1, 2}, {5, 10, 0}, {8, 7, 0}};
    static uint8_t codes[BYTES];
    static float want[BYTES], got[BYTES];
    for (size_t f = 0; f < sizeof fmts / sizeof *fmts; f++) {
        const unsigned width = mf_width(fmts[f]);
        const size_t n = width == 16 ? 1 << 16 : 256 * 8 / width;
        for (size_t i = 0; i < BYTES; i++)
            codes[i] = (uint8_t)(width == 16 ? i / 2 >> i % 2 * 8 : i);
        for (int shift = -SHIFTS; shift <= SHIFTS; shift += width == 16 ? 29 : 1) {
            const float divisor = shift % 2 ? 3 : 4;
            vec_plain.decode(fmts[f], codes, n, shift, divisor, want);
            for (int t = 0; t < n_tables; t++) {
                memset(got, 0x5a, n * sizeof *got);
                tables[t].decode(fmts[f], codes, n, shift, divisor, got);
                CHECK(memcmp(got, want, n * sizeof *got) == 0,
                      "%s e%um%u shift %d: other values of its codes", tables[t].name, fmts[f].e,
                      fmts[f].m, shift);
            }
        }
    }
}

int main(void)
{
    n_tables = vec_tables(tables);
    printf("%d tables; seeds 0x1234 0x5678\n", n_tables);
    check_tails();
    check_streams();
    check_modes();
    check_shifts();
    DONE();
}
