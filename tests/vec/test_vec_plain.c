/* test_vec_plain.c : the plain backend's casts equal mf.h, at any length, alignment and
 * chunking. */
#include "base/bits.h"
#include "check.h"
#include "hls/arith/philox.h"
#include "vec/pack.h"
#include "vec/vec.h"
#include <math.h>
#include <string.h>

enum { MAX_N = 600, GUARD = 16, SEED = 2 };

static const struct mf_fmt formats[] = {{5, 2, 0},  {4, 3, 0},  {4, 3, 1},  {3, 0, 0},  {5, 10, 0},
                                        {8, 7, 0},  {8, 23, 0}, {1, 1, 0},  {1, 5, 0},  {2, 0, 0},
                                        {2, 1, 0},  {3, 2, 0},  {4, 0, 0},  {6, 9, 0},  {8, 0, 0},
                                        {1, 23, 0}, {5, 7, 0},  {7, 21, 0}, {2, 23, 0}, {6, 5, 0},
                                        {2, 1, 2},  {2, 3, 2},  {5, 2, 1},  {7, 10, 2}, {1, 0, 2}};
enum { N_FORMATS = sizeof formats / sizeof formats[0] };
static const size_t lengths[] = {0, 1, 7, 8, 9, 63, 255, 256, 257, 511, MAX_N};
enum { N_LENGTHS = sizeof lengths / sizeof lengths[0] };
static const int shifts[] = {0, 3, -7, 141, -149, 300, -300};
enum { N_SHIFTS = sizeof shifts / sizeof shifts[0] };

/* Every fourth is near 1, every sixteenth inf, nan, zero or a boundary of the subnormals. */
static float any_float(uint64_t i)
{
    static const uint32_t corners[] = {0,          0x80000000, 0x7f800000, 0xff800000,
                                       0x7fc00001, 0xffffffff, 1,          0x007fffff};
    uint32_t r = philox_u32(SEED, i);
    if (i % 16 == 5)
        return float_of(corners[r % 8]);
    return i % 4 == 0 ? float_of(r) : float_of((r & 0x83ffffff) | 0x3c000000);
}

/* code * 2^shift / divisor in fp64. It has more than twice fp32's bits, so a normal's second
 * rounding is harmless. Small products may become subnormals and are rounded as in vec.h. */
static float quotient(struct mf_fmt f, uint32_t code, int shift, float divisor)
{
    const double product = ldexp((double)float_of(mf_dec(f, code, 0)), shift);
    return fabs(product) < 1 ? float_of(mf_dec(f, code, shift)) / divisor
                             : (float)(product / (double)divisor);
}

static void check_value(struct mf_fmt f, uint32_t code, int shift, float divisor, float got)
{
    const float want = quotient(f, code, shift, divisor);
    CHECK(bits_of(got) == bits_of(want) || (isnan(got) && isnan(want)),
          "e%um%u%s: code %x * 2^%d / %g is %a, want %a", f.e, f.m, mf_suffix(f), code, shift,
          (double)divisor, (double)got, (double)want);
}

static void check_cast(struct vec_cast cast, size_t n, int shift)
{
    const size_t at = 40, bytes = vec_bytes(cast.fmt, n);
    float x[MAX_N + 1] = {0};
    uint8_t box[GUARD + MAX_N * 4 + GUARD];
    uint32_t codes[MAX_N];
    const size_t offset = n % 7; /* codes need no alignment */
    for (size_t i = 0; i < n; i++)
        x[i] = any_float(i + 1000 * n);

    memset(box, 0xa5, sizeof box);
    vec_plain.encode(&cast, x, n, at, shift, box + offset + 1);
    pack_read(mf_width(cast.fmt), box + offset + 1, n, codes);
    for (size_t i = 0; i < n; i++) {
        uint32_t want =
            cast.trunc
                ? mf_e5m2_trunc_enc(bits_of(x[i]), shift)
                : mf_enc(cast.fmt, bits_of(x[i]), shift, cast.round, cast.overflow,
                         cast.round == MF_STOCHASTIC ? philox_round_u32(cast.key, at + i) : 0);
        CHECK(codes[i] == want, "e%um%u round %d shift %d n %zu: code %zu of %a is %x, want %x",
              cast.fmt.e, cast.fmt.m, (int)cast.round, shift, n, i, (double)x[i], codes[i], want);
    }
    for (size_t i = 0; i < sizeof box; i++)
        CHECK((i > offset && i <= offset + bytes) || box[i] == 0xa5, "encode wrote byte %zu, n %zu",
              i, n);

    x[n] = 42;
    vec_plain.decode(cast.fmt, box + offset + 1, n, -shift, 3, x);
    for (size_t i = 0; i < n; i++)
        check_value(cast.fmt, codes[i], -shift, 3, x[i]);
    CHECK(x[n] == 42, "decode wrote beyond %zu", n);
}

static void check_casts(void)
{
    for (int f = 0; f < N_FORMATS; f++)
        for (int l = 0; l < N_LENGTHS; l++)
            for (int s = 0; s < N_SHIFTS; s++) {
                struct vec_cast cast = {.fmt = formats[f], .key = 77};
                cast.round = (enum mf_round)((f + l + s) % 3);
                cast.overflow = (f + s) % 2 ? MF_INF : MF_SATURATE;
                check_cast(cast, lengths[l], shifts[s]);
            }
    for (int l = 0; l < N_LENGTHS; l++)
        for (int s = 0; s < N_SHIFTS; s++)
            check_cast((struct vec_cast){.fmt = {5, 2, 0}, .trunc = true}, lengths[l], shifts[s]);
}

/* Means near fp32's largest number. Shifts range from all codes fitting fp32 to even the smallest
 * quotients overflowing. */
static void check_large(void)
{
    static const float divisors[] = {1, 2, 3, 4, 5, 7, 8, 16, 255, 256, 1000, 0x1p31f, 0.75f, 0.5f};
    for (int f = 0; f < N_FORMATS; f++) {
        const struct mf_fmt fmt = formats[f];
        uint32_t codes[MAX_N];
        uint8_t packed[MAX_N * 4];
        float x[MAX_N];
        for (uint32_t i = 0; i < MAX_N; i++)
            codes[i] = (i % 3 == 0   ? mf_inf(fmt) - i / 6
                        : i % 3 == 1 ? i / 6
                                     : philox_u32(SEED + 1, i)) &
                       (mf_nan(fmt) * 2 + 1);
        pack_write(mf_width(fmt), codes, MAX_N, packed);
        for (size_t d = 0; d < sizeof divisors / sizeof *divisors; d++)
            for (int shift = 120 - mf_bias(fmt); shift < 175 + mf_bias(fmt); shift++) {
                vec_plain.decode(fmt, packed, MAX_N, shift, divisors[d], x);
                for (size_t i = 0; i < MAX_N; i++)
                    check_value(fmt, codes[i], shift, divisors[d], x[i]);
            }
    }
}

/* Random bits depend on an element's index in its layer, not on the call. */
static void check_chunks(void)
{
    struct vec_cast cast = {.fmt = {3, 2, 0}, .round = MF_STOCHASTIC, .key = 99};
    float x[MAX_N];
    uint8_t whole[MAX_N], parts[MAX_N];
    for (size_t i = 0; i < MAX_N; i++)
        x[i] = any_float(i);
    vec_plain.encode(&cast, x, MAX_N, 0, 0, whole);
    for (size_t step = 8; step <= 264; step += 8) {
        memset(parts, 0, sizeof parts);
        for (size_t i = 0; i < MAX_N; i += step)
            vec_plain.encode(&cast, x + i, MAX_N - i < step ? MAX_N - i : step, i, 0,
                             parts + i / 8 * 6);
        CHECK(memcmp(whole, parts, vec_bytes(cast.fmt, MAX_N)) == 0,
              "chunks of %zu give other bits", step);
    }
    cast.key = 100;
    vec_plain.encode(&cast, x, MAX_N, 0, 0, parts);
    CHECK(memcmp(whole, parts, vec_bytes(cast.fmt, MAX_N)) != 0, "another key gives the same bits");
}

static void check_absmax(void)
{
    float x[MAX_N] = {0};
    CHECK(vec_plain.absmax(x, 0) == 0, "absmax of nothing");
    for (size_t n = 1; n < MAX_N; n += 13)
        for (size_t at = 0; at < n; at++) {
            for (size_t i = 0; i < n; i++)
                x[i] = i % 2 ? -1.5f : -0.0f;
            x[at] = at % 2 ? -2.5f : 2.5f;
            CHECK(vec_plain.absmax(x, n) == bits_of(2.5f), "absmax n %zu at %zu", n, at);
            x[at] = at % 2 ? -INFINITY : float_of(0xff800001);
            CHECK(vec_plain.absmax(x, n) >= 0x7f800000, "absmax: not finite at %zu", at);
        }
    x[0] = float_of(0x80000001);
    CHECK(vec_plain.absmax(x, 1) == 1, "absmax of a subnormal");
    x[0] = -0.0f;
    CHECK(vec_plain.absmax(x, 1) == 0, "absmax of -0");
}

int main(void)
{
    printf("seed %d\n", SEED);
    check_casts();
    check_large();
    check_chunks();
    check_absmax();
    DONE();
}
