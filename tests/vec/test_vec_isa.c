/* test_vec_isa.c : the casts of every instruction set have the plain backend's bits. Quick: six
 * formats on strided inputs and boundaries, every (e, m) on boundaries. `long`: six formats on
 * all 2^32 inputs. */
#include "check.h"
#include "vec_inputs.h"
#include <inttypes.h>

enum { BLOCK = 1 << 12 };

static struct vec_ops tables[VEC_TABLES];
static int n_tables;

static const struct mf_fmt six[] = {{5, 2, 0}, {4, 3, 0},  {4, 3, 1},
                                    {3, 0, 0}, {5, 10, 0}, {8, 7, 0}};
enum { N_SIX = sizeof six / sizeof *six };

static void check_decode(struct mf_fmt fmt, const uint8_t *codes, size_t n, int shift,
                         float divisor)
{
    static float want[BLOCK], got[BLOCK];
    vec_plain.decode(fmt, codes, n, shift, divisor, want);
    for (int t = 0; t < n_tables; t++) {
        tables[t].decode(fmt, codes, n, shift, divisor, got);
        for (size_t i = 0; i < n; i++)
            CHECK(bits_of(want[i]) == bits_of(got[i]),
                  "%s e%um%u%s decode %zu shift %d / %g: %08" PRIx32 ", want %08" PRIx32,
                  tables[t].name, fmt.e, fmt.m, mf_suffix(fmt), i, shift, (double)divisor,
                  bits_of(got[i]), bits_of(want[i]));
    }
}

static void check_block(const struct vec_cast *cast, const float *x, size_t n, size_t at, int shift,
                        float divisor)
{
    static uint8_t want[BLOCK * 4], got[BLOCK * 4];
    const size_t bytes = vec_bytes(cast->fmt, n);
    const uint32_t absmax = vec_plain.absmax(x, n);
    vec_plain.encode(cast, x, n, at, shift, want);
    for (int t = 0; t < n_tables; t++) {
        const struct vec_ops *ops = &tables[t];
        memset(got, 0xa5, bytes);
        const uint32_t max = ops->scan_encode(cast, x, n, at, shift, got);
        CHECK(max == absmax, "%s: scan_encode says %08" PRIx32 ", want %08" PRIx32, ops->name, max,
              absmax);
        for (size_t i = 0; i < bytes && memcmp(want, got, bytes) != 0; i++)
            CHECK(want[i] == got[i],
                  "%s e%um%u%s round %d overflow %d trunc %d shift %d: byte %zu is %02x, want "
                  "%02x, of %08" PRIx32,
                  ops->name, cast->fmt.e, cast->fmt.m, mf_suffix(cast->fmt), (int)cast->round,
                  (int)cast->overflow, cast->trunc, shift, i, got[i], want[i],
                  bits_of(x[i * n / bytes]));
    }
    if (divisor != 0)
        check_decode(cast->fmt, want, n, -shift, divisor);
}

static void check_range(const struct vec_cast *cast, uint32_t first, uint64_t stride)
{
    static float x[BLOCK];
    for (uint64_t bits = first; bits <= UINT32_MAX; bits += BLOCK * stride) {
        size_t n = 0;
        for (uint64_t b = bits; n < BLOCK && b <= UINT32_MAX; b += stride)
            x[n++] = float_of((uint32_t)b);
        check_block(cast, x, n, 0, 0, 0);
    }
}

static void check_boundaries(struct vec_cast cast, int shift, size_t n_inputs, float divisor)
{
    static float x[BLOCK];
    for (size_t at = 0; at < n_inputs; at += BLOCK) {
        const size_t n = n_inputs - at < BLOCK ? n_inputs - at : BLOCK;
        for (size_t i = 0; i < n; i++)
            x[i] = vec_input(cast.fmt, shift, at + i);
        check_block(&cast, x, n, at, shift, divisor);
    }
}

static void check_six(uint64_t stride)
{
    for (int f = 0; f < N_SIX; f++)
        for (int overflow = MF_SATURATE; overflow <= MF_INF; overflow++) {
            struct vec_cast cast = {.fmt = six[f], .overflow = (enum mf_overflow)overflow};
            check_range(&cast, (uint32_t)f, stride);
            check_boundaries(cast, 0, 1 << 17, 1);
        }
    struct vec_cast trunc = {.fmt = six[0], .trunc = true};
    check_range(&trunc, 0, stride);
    check_boundaries(trunc, 0, 1 << 17, 1);
}

static void check_shift(struct mf_fmt fmt, int shift, size_t n_inputs)
{
    static const float divisors[] = {1, 3, 4, 1024, 0x1p-100f, 0x1p127f, 7};
    static unsigned turn;
    static uint32_t codes[BLOCK];
    for (size_t i = 0; i < n_inputs && i < BLOCK; i++)
        codes[i] = philox_u32(0x9abc, i);
    check_decode(fmt, (const uint8_t *)codes, n_inputs < BLOCK ? n_inputs : BLOCK, -shift,
                 divisors[turn % 7]);
    for (int round = 0; round < 3; round++) {
        struct vec_cast cast = {.fmt = fmt,
                                .round = (enum mf_round)round,
                                .overflow = turn % 2 ? MF_INF : MF_SATURATE,
                                .key = 0x123456789abcdef0 + turn};
        check_boundaries(cast, shift, n_inputs, divisors[turn++ % 7]);
        cast.overflow = turn % 2 ? MF_INF : MF_SATURATE;
        check_boundaries(cast, shift, n_inputs / 2, 0);
    }
}

/* Some shifts make the smallest values subnormal in fp32. */
static void check_all(size_t n_inputs)
{
    static const int shifts[] = {0,    1,   -1,  5,    -20, 24,   60,  -90, 110,
                                 -126, 128, 141, -149, 260, -300, 400, -400};
    static const int steps[] = {-1, 0, 1, 2, 4, 9};
    /* around these the largest values leave fp32's range */
    static const int large[] = {-11, -10, -3, -2, -1, 0, 1};
    for (unsigned e = 1; e <= 8; e++)
        for (unsigned m = 0; m <= 23; m++)
            for (uint8_t flavour = MF_IEEE; flavour <= (e < 8 ? MF_NUMBERS : MF_IEEE); flavour++) {
                const struct mf_fmt fmt = {(uint8_t)e, (uint8_t)m, flavour};
                if (mf_max(fmt) == 0 || (m == 0 && flavour == MF_NO_INF))
                    continue;
                const int leaves = 126 - mf_bias(fmt) - fmt.m;
                for (unsigned s = 0; s < sizeof shifts / sizeof *shifts; s++)
                    check_shift(fmt, shifts[s], n_inputs);
                for (unsigned s = 0; s < sizeof steps / sizeof *steps; s++)
                    check_shift(fmt, leaves + steps[s], n_inputs);
                for (unsigned s = 0; s < sizeof large / sizeof *large; s++)
                    check_shift(fmt, mf_bias(fmt) + mf_uses_top(fmt) - 127 + large[s],
                                n_inputs / 4);
            }
    for (unsigned s = 0; s < sizeof shifts / sizeof *shifts; s++)
        check_boundaries((struct vec_cast){.fmt = {5, 2, 0}, .trunc = true}, shifts[s],
                         4 * n_inputs, 0);
}

int main(int argc, char **argv)
{
    const bool all = argc > 1 && !strcmp(argv[1], "long");
    n_tables = vec_tables(tables);
    for (int t = 0; t < n_tables; t++)
        printf("%s%s", t ? ", " : "tables: ", tables[t].name);
    printf("; seeds 0x1234 0x5678 0x9abc\n");
    check_all(all ? 4096 : 640);
    check_six(all ? 1 : 5077);
    DONE();
}
