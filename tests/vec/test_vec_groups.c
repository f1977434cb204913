/* test_vec_groups.c : casts with an exponent per group of elements, and blocks of results with
 * exponents of their own, have the bits of plain loops over mf.h. */
#include "base/bits.h"
#include "check.h"
#include "hls/arith/philox.h"
#include "vec/fp_mode.h"
#include "vec/vec_groups.h"
#include "vec_inputs.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { N = 1024 + 300, PARTS = 9, GUARD = 16, FILL = 0xa5 };
static const struct mf_fmt formats[] = {{2, 1, MF_NUMBERS}, {2, 5, MF_NUMBERS}, {2, 3, MF_NUMBERS},
                                        {4, 3, MF_IEEE},    {4, 3, MF_NO_INF},  {3, 0, MF_IEEE},
                                        {5, 2, MF_IEEE},    {5, 10, MF_IEEE},   {6, 9, MF_IEEE}};
enum { N_FORMATS = sizeof formats / sizeof *formats };

static float x[N], out[N + 1];
static int8_t exponents[N / VEC_GROUP_MIN + 2], own[N / VEC_GROUP_MIN + 2];
static uint8_t codes[4 * N + GUARD], parts_of[PARTS][4 * N + GUARD];
static uint64_t n_draws, seed;

static uint32_t draw(void)
{
    return philox_u32(philox_key(seed, 0, 0, 0, 0), n_draws++);
}

/* Groups of every size from 2^-149 to 2^126, some of them all zero. */
static void fill(uint32_t group)
{
    int middle = 0;
    for (size_t i = 0; i < N; i++) {
        if (i % group == 0)
            middle = draw() % 4 ? (int)(draw() % 40) - 20 : (int)(draw() % 260) - 140;
        const float v = ldexpf((float)(int32_t)draw(), middle - 31 - (int)(draw() % 6));
        x[i] = i / group % 7 == 3 || draw() % 50 == 0 ? 0 : isfinite(v) ? v : 1;
    }
}

static uint32_t code_at(const uint8_t *from, unsigned width, size_t i)
{
    uint32_t code = 0;
    for (unsigned b = 0; b < width; b++) {
        const size_t bit = i * width + b;
        code |= (uint32_t)(from[bit / 8] >> bit % 8 & 1) << b;
    }
    return code;
}

static void check_exponents(const struct vec_ops *ops, const struct vec_scale *scale, size_t n)
{
    struct vec_span span = {.x = x, .n = n, .group = scale->group, .exponents = exponents};
    memset(exponents, 99, sizeof exponents);
    ops->exponents_all(ops, scale, &span, 1);
    const size_t groups = vec_n_groups(n, scale->group);
    CHECK(exponents[groups] == 99, "%s: an exponent too many", ops->name);
    for (size_t g = 0; g < groups; g++) {
        const double top = vec_aps_top(scale->fmt, scale->tight);
        const double limit = scale->tight
                                 ? fabs((double)float_of(mf_dec(scale->fmt, mf_max(scale->fmt), 0)))
                                 : ldexp(1, (int)top);
        double most = 0;
        for (size_t i = g * scale->group; i < n && i < (g + 1) * scale->group; i++)
            most = fmax(most, fabs((double)x[i]));
        const int e = exponents[g];
        if (most == 0) {
            CHECK(e == VEC_ALL_ZERO, "group %zu of zeros: %d", g, e);
            continue;
        }
        most *= scale->tight ? 1 : scale->times;
        CHECK(e >= -126 && e <= 126, "group %zu: exponent %d", g, e);
        CHECK(ldexp(most, (int)top - e) <= limit || e == 126,
              "group %zu, exponent %d: %g leaves %g", g, e, most, limit);
        CHECK(ldexp(most, (int)top - e + 1) > limit || e == -126, "group %zu: %d is not least", g,
              e);
    }
}

static void check_cast(const struct vec_ops *ops, const struct vec_scale *scale, size_t n,
                       enum mf_round round, size_t from)
{
    const struct mf_fmt f = scale->fmt;
    const int top = vec_aps_top(f, scale->tight);
    const struct vec_cast cast = {.fmt = f, .round = round};
    const size_t padded = n + 8 * (n % 3), bytes = vec_bytes(f, padded);
    struct vec_span span = {.x = x,
                            .codes = codes,
                            .n = n,
                            .padded = padded,
                            .at = from,
                            .key = 77,
                            .shift = top,
                            .group = scale->group,
                            .exponents = exponents};
    memset(codes, FILL, sizeof codes);
    ops->encode_all(ops, &cast, &span, 1);
    CHECK(codes[bytes] == FILL, "%s: written beyond the codes", ops->name);
    for (size_t i = 0; i < n; i++) {
        const int8_t e = exponents[(from % scale->group + i) / scale->group];
        const uint32_t want = mf_enc(f, bits_of(x[i]), top - (e == VEC_ALL_ZERO ? 0 : e), round,
                                     MF_SATURATE, philox_round_u32(77, from + i));
        CHECK(code_at(codes, mf_width(f), i) == want,
              "%s, e%um%u:%u, round %d: element %zu, %a with exponent %d, is %x, not %x", ops->name,
              f.e, f.m, scale->group, round, i, (double)x[i], e, code_at(codes, mf_width(f), i),
              want);
    }
    for (size_t i = n; i < padded; i++)
        CHECK(code_at(codes, mf_width(f), i) == 0, "%s: padding at %zu", ops->name, i);
}

static __attribute__((noinline)) float value(float v, float divisor, float block, float group)
{
    return v / divisor * block * group;
}

static void check_decode(const struct vec_ops *ops, struct mf_fmt f, size_t n, uint32_t group,
                         uint32_t block, int shift, float divisor)
{
    const uint32_t lead = group ? 8 * (draw() % (group / 8)) : 0;
    const size_t block_bytes = block ? vec_bytes(f, block) + 1 : 0;
    for (size_t i = 0; i < sizeof codes; i++)
        codes[i] = (uint8_t)draw();
    for (size_t b = 0; block && b < vec_n_groups(n, block); b++)
        codes[(b + 1) * block_bytes - 1] = (uint8_t)(own[b] = (int8_t)((int)(draw() % 60) - 30));
    const struct vec_out o = {.x = out,
                              .codes = codes,
                              .n = n,
                              .shift = shift,
                              .group = group,
                              .lead = lead,
                              .exponents = exponents,
                              .block = block};
    out[n] = 7;
    ops->decode_all(ops, f, &o, 1, divisor);
    CHECK(out[n] == 7, "%s: written beyond the values", ops->name);
    for (size_t i = 0; i < n; i++) {
        const uint32_t code = block
                                  ? code_at(codes + i / block * block_bytes, mf_width(f), i % block)
                                  : code_at(codes, mf_width(f), i);
        const float want =
            value(float_of(mf_dec(f, code, shift)), divisor, block ? ldexpf(1, own[i / block]) : 1,
                  group ? float_of(vec_group_factor(exponents[(lead + i) / group], false)) : 1);
        CHECK(bits_of(out[i]) == bits_of(want) || (isnan(out[i]) && isnan(want)),
              "%s, e%um%u, group %u, block %u: element %zu is %a, not %a", ops->name, f.e, f.m,
              group, block, i, (double)out[i], (double)want);
    }
}

static void check_blocks(const struct vec_ops *ops, struct mf_fmt in, struct mf_fmt to,
                         uint32_t block, size_t n_blocks, int n_parts, enum mf_overflow overflow)
{
    const struct vec_sum sum = {.rule = VEC_EXACT,
                                .overflow = overflow,
                                .in = in,
                                .out = to,
                                .out_group = block,
                                .n_ranks = n_parts};
    const size_t n = n_blocks * block, bytes = vec_bytes(to, block);
    const uint8_t *parts[PARTS];
    static uint64_t acc[N];
    for (int p = 0; p < n_parts; p++) {
        /* numbers only, some blocks small and some zero */
        memset(parts_of[p], 0, sizeof parts_of[p]);
        for (size_t i = 0; i < n; i++) {
            const uint32_t least = i / block % 5 == 1 ? 1 : i / block % 5 == 2 ? 4 : mf_max(in) + 1;
            const uint32_t mag = i / block % 5 == 0 ? 0 : draw() % least;
            const uint32_t code = mag | (draw() & 1) << (mf_width(in) - 1);
            for (unsigned b = 0; b < mf_width(in); b++)
                parts_of[p][(i * mf_width(in) + b) / 8] |=
                    (uint8_t)((code >> b & 1) << (i * mf_width(in) + b) % 8);
        }
        parts[p] = parts_of[p];
    }
    memset(codes, FILL, sizeof codes);
    ops->sum_blocks(ops, &sum, parts, n_parts, n, codes);
    CHECK(codes[vec_result_bytes(&sum, n)] == FILL, "%s: written beyond the blocks", ops->name);
    for (size_t i = 0; i < n; i++) {
        acc[i] = 0;
        for (int p = 0; p < n_parts; p++)
            acc[i] = mf_acc_add(in, acc[i], code_at(parts[p], mf_width(in), i));
    }
    for (size_t b = 0; b < n_blocks; b++) {
        const uint8_t *at = codes + b * (bytes + 1);
        const int r = (int8_t)at[bytes];
        double most = 0;
        for (size_t i = b * block; i < (b + 1) * block; i++) {
            const uint32_t want = mf_acc_round(in, acc[i], r, to, overflow);
            CHECK(code_at(at, mf_width(to), i % block) == want, "%s: block %zu, element %zu",
                  ops->name, b, i);
            most = fmax(most, ldexp((double)vec_acc_magnitude(acc[i]), 1 - mf_bias(in) - in.m));
        }
        const double limit = (double)float_of(mf_dec(to, mf_max(to), 0));
        CHECK(most == 0 ? r == 0 : ldexp(most, -r) <= limit && ldexp(most, 1 - r) > limit,
              "block %zu: exponent %d for sums up to %g", b, r, most);
    }
    static uint8_t again[sizeof codes];
    memset(again, FILL, sizeof again);
    ops->finish_blocks(ops, &sum, acc, n, again);
    CHECK(memcmp(codes, again, sizeof again) == 0, "%s: finish_blocks differs", ops->name);
}

static void check(const struct vec_ops *ops, uint32_t group)
{
    for (int k = 0; k < N_FORMATS; k++) {
        const struct mf_fmt f = formats[k];
        for (int tight = 0; tight < 2; tight++) {
            const struct vec_scale scale = {
                .fmt = f, .tight = tight, .times = 1 + draw() % 9, .group = group};
            const size_t n = draw() % 3 ? draw() % N : N;
            fill(group);
            check_exponents(ops, &scale, n);
            check_cast(ops, &scale, n, (enum mf_round)(draw() % 3), 8 * (draw() % 100));
            check_decode(ops, f, n, group, draw() % 2 ? group : 0, (int)(draw() % 60) - 30,
                         (float)(1 + draw() % 9));
            check_decode(ops, f, n, 0, group, (int)(draw() % 60) - 30, 3);
        }
        if (f.e <= 5)
            check_blocks(ops, f, formats[draw() % N_FORMATS], group, 1 + draw() % (N / group),
                         1 + (int)(draw() % PARTS), (enum mf_overflow)(draw() % 2));
    }
}

static void check_not_finite(const struct vec_ops *ops)
{
    const struct vec_scale scale = {.fmt = formats[0], .tight = true, .times = 1, .group = 32};
    struct vec_span span = {.x = x, .n = 100, .group = 32, .exponents = exponents};
    fill(32);
    x[40] = INFINITY, x[99] = NAN, x[0] = 1;
    ops->exponents_all(ops, &scale, &span, 1);
    CHECK(exponents[0] != VEC_NOT_FINITE && exponents[1] == VEC_NOT_FINITE &&
              exponents[3] == VEC_NOT_FINITE,
          "%s: %d %d %d", ops->name, exponents[0], exponents[1], exponents[3]);
}

/* A caller may flush subnormals to zero. */
static void check_mode(const struct vec_ops *ops)
{
#if defined(__x86_64__)
    const struct vec_scale scale = {.fmt = {2, 5, MF_NUMBERS}, .tight = true, .group = 16};
    const struct vec_cast cast = {.fmt = scale.fmt};
    struct vec_span span = {.x = x,
                            .codes = codes,
                            .n = 16,
                            .padded = 16,
                            .shift = vec_aps_top(scale.fmt, true),
                            .group = 16,
                            .exponents = exponents};
    const struct vec_out back = {.x = out,
                                 .codes = codes,
                                 .n = 16,
                                 .shift = -span.shift,
                                 .group = 16,
                                 .exponents = exponents};
    const unsigned was = _mm_getcsr();
    for (int i = 0; i < 16; i++)
        x[i] = ldexpf(1 + (float)i / 64, -120);
    x[15] = 0x1p-126f;
    _mm_setcsr(was | 0x8040);
    ops->exponents_all(ops, &scale, &span, 1);
    exponents[0] = -126;
    ops->encode_all(ops, &cast, &span, 1);
    ops->decode_all(ops, scale.fmt, &back, 1, 4);
    _mm_setcsr(was);
    CHECK(out[0] != 0 && out[15] != 0, "%s: %a and %a", ops->name, (double)out[0], (double)out[15]);
#else
    (void)ops;
#endif
}

int main(int argc, char **argv)
{
    struct vec_ops tables[VEC_TABLES];
    const int n = vec_tables(tables), rounds = argc > 1 && !strcmp(argv[1], "long") ? 400 : 12;
    for (int i = -1; i < n; i++) {
        const struct vec_ops *ops = i < 0 ? &vec_plain : &tables[i];
        check_not_finite(ops);
        check_mode(ops);
        for (seed = 1; seed <= (uint64_t)rounds; seed++) {
            n_draws = 0;
            for (uint32_t group = VEC_GROUP_MIN; group <= VEC_GROUP_MAX; group *= 2)
                check(ops, group);
        }
    }
    DONE();
}
