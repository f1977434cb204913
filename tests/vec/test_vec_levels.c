/* test_vec_levels.c : buckets of levels on every instruction set have plain C's bytes and the
 * documented layout. */
#include "check.h"
#include "vec/fp_mode.h"
#include "vec/pack.h"
#include "vec/list/vec_counts.h"
#include "vec/list/vec_levels.h"
#include "vec_inputs.h"
#include <math.h>

enum { N_MAX = 3000, N_RULES = 36, PARTS = 3, SKIP_BYTES = 5 };
static const uint64_t seed = 4711;

static struct vec_ops tables[VEC_TABLES];
static int n_tables;

static float input(uint64_t i, int kind)
{
    const uint32_t word = philox_u32(seed + (uint64_t)kind, i);
    if (kind == 3)
        return float_of(word); /* also nan and inf */
    return ldexpf((float)(int32_t)word * 0x1p-31f, kind == 0 ? 0 : kind == 1 ? -140 : 127);
}

static struct levels_rule rule(int k)
{
    static const uint32_t buckets[] = {32, 512, 1504};
    const uint32_t bits = 1u << (k % 5), even = bits == 1 || k / 5 % 2;
    return (struct levels_rule){
        .scheme = {bits, even}, .bucket = buckets[k % 3], .norm2 = k / 10 % 2};
}

/* Whole buckets, then the last one's codes in words of 32 elements. */
static size_t bytes_of(const struct levels_rule *r, size_t n)
{
    const size_t each = 4 + r->bucket * r->scheme.bits / 8;
    size_t bytes = 0;
    for (; n >= r->bucket; n -= r->bucket)
        bytes += each;
    return n ? bytes + 4 + (n + 31) / 32 * 4 * r->scheme.bits : bytes;
}

/* x[0] is element `at` of the random stream. */
static void read_slowly(const struct levels_rule *r, const uint8_t *codes, const float *x, size_t n,
                        size_t at, float *values)
{
    static uint32_t words[LEVEL_BUCKET_MAX];
    for (size_t i = 0; i < n; i += r->bucket) {
        const uint8_t *from = codes + levels_bytes(r, i);
        float scale;
        memcpy(&scale, from, sizeof scale);
        const struct level_grid g = level_grid_of(r->scheme, scale);
        const size_t all = n - i < r->bucket ? (n - i + 31) / 32 * 32 : r->bucket;
        for (size_t k = 0; k < all; k++)
            words[k] = (uint32_t)from[4 + k / 8] >> k % 8 & 1;
        if (r->scheme.bits > 1)
            pack_read(r->scheme.bits, from + 4, all, words);
        for (size_t k = n - i; k < all; k++)
            CHECK(words[k] == 0, "%u bits: code %zu of nothing", r->scheme.bits, i + k);
        for (size_t k = 0; k < r->bucket && i + k < n; k++) {
            const uint32_t random = philox_u32(seed, at + i + k), bits = r->scheme.bits,
                           negative = bits_of(x[i + k]) >> 31;
            const uint32_t want = r->scheme.even
                                      ? level_code_even(g, x[i + k], random)
                                      : level_code_sign(bits, g, fabsf(x[i + k]), negative, random);
            CHECK(words[k] == want, "%u bits: code %zu is %u, want %u", bits, i + k, words[k],
                  want);
            values[i + k] = r->scheme.even ? level_value_even(g, words[k])
                                           : level_value_sign(bits, g, words[k]);
        }
    }
}

static void check_table(const struct vec_ops *ops, const struct levels_rule *r, size_t n, int kind)
{
    static uint8_t skipped[8 * N_MAX], *const want = skipped + SKIP_BYTES, sums[8 * N_MAX];
    static float back[N_MAX], slow[N_MAX];
    const size_t bytes = bytes_of(r, n), at = 7 * (size_t)r->bucket;
    float *x = (float *)(void *)page_end(0, n * sizeof(float)),
          *y = (float *)(void *)page_end(1, n * sizeof(float));
    uint8_t *codes = page_end(2, bytes), *sum = page_end(3, bytes);
    for (size_t i = 0; i < n; i++)
        x[i] = input(i, kind);
    CHECK(levels_bytes(r, n) == bytes, "%zu elements take %zu bytes", n, levels_bytes(r, n));
    memset(codes, 0x5a, bytes);
    memset(sum, 0xa5, bytes);
    const uint32_t absmax = levels_c.encode(r, x, n, at, seed, want);
    CHECK(absmax == vec_plain.absmax(x, n), "absmax");
    CHECK(ops->levels->encode(r, x, n, at, seed, codes) == absmax, "%s: absmax", ops->name);
    CHECK(memcmp(codes, want, bytes) == 0, "%s: %u bits, bucket %u, %zu elements, inputs %d: codes",
          ops->name, r->scheme.bits, r->bucket, n, kind);
    if (kind == 3)
        return; /* codes of nan mean nothing */
    ops->levels->decode(r, codes, n, 3, y);
    read_slowly(r, codes, x, n, at, slow);
    for (size_t i = 0; i < n; i++)
        CHECK(bits_of(y[i]) == bits_of(slow[i] / 3), "%s: %u bits: element %zu is %a, want %a",
              ops->name, r->scheme.bits, i, (double)y[i], (double)(slow[i] / 3));
    const uint8_t *parts[PARTS] = {codes - SKIP_BYTES, skipped, codes - SKIP_BYTES};
    for (size_t i = 0; i < n; i++)
        back[i] = level_add(level_add(slow[i], slow[i]), slow[i]);
    levels_c.encode(r, back, n, at, seed + 1, sums);
    ops->levels->sum(r, parts, PARTS, SKIP_BYTES, n, at, seed + 1, sum);
    CHECK(memcmp(sum, sums, bytes) == 0, "%s: %u bits, bucket %u, %zu elements: sums", ops->name,
          r->scheme.bits, r->bucket, n);
}

static void check_cut(const struct vec_ops *ops, const struct levels_rule *r)
{
    static uint8_t whole[8 * N_MAX], cut[8 * N_MAX];
    static float x[N_MAX];
    const size_t n = N_MAX;
    for (size_t i = 0; i < n; i++)
        x[i] = input(i, 0);
    ops->levels->encode(r, x, n, 0, seed, whole);
    for (size_t at = 0, next; at < n; at = next) {
        next = at + (1 + philox_u32(seed, at) % 3) * r->bucket;
        next = next < n ? next : n;
        ops->levels->encode(r, x + at, next - at, at, seed, cut + levels_bytes(r, at));
    }
    CHECK(memcmp(whole, cut, levels_bytes(r, n)) == 0, "%s: cut, %u bits", ops->name,
          r->scheme.bits);
}

static void check_draw(const struct vec_ops *ops, size_t n, int kind)
{
    static uint8_t want[N_MAX];
    const size_t padded = (n + 15) / 8 * 8, bytes = padded / 4;
    float *x = (float *)(void *)page_end(0, n * sizeof(float));
    uint8_t *codes = page_end(2, bytes);
    double squares = 0;
    for (size_t i = 0; i < n; i++) {
        x[i] = input(i, kind);
        squares +=
            ldexp((double)x[i], kind == 2 ? -100 : 0) * ldexp((double)x[i], kind == 2 ? -100 : 0);
    }
    const uint32_t absmax = vec_plain.absmax(x, n);
    const float max = float_of(absmax), clip = max / 3, scale = max * 0.75f;
    const float got = ops->levels->deviations(x, n, max, 2),
                far = levels_c.deviations(x, n, max, 2);
    const double exact = 2 * sqrt(squares / (double)n) * (kind == 2 ? 0x1p100 : 1);
    CHECK(bits_of(got) == bits_of(far), "%s: deviations of inputs %d", ops->name, kind);
    CHECK(kind == 3 || fabs((double)got - fmin(exact, (double)INFINITY)) <= 1e-5 * exact + 0x1p-149,
          "deviations %g, want %g", (double)got, exact);
    memset(codes, 0x5a, bytes);
    ops->levels->draw(2, scale, clip, x, n, padded, 64, seed, codes);
    levels_c.draw(2, scale, clip, x, n, padded, 64, seed, want);
    CHECK(memcmp(codes, want, bytes) == 0, "%s: codes alone, %zu of inputs %d", ops->name, n, kind);
    const struct level_grid grid = level_grid_of((struct level_scheme){2, 0}, scale);
    for (size_t i = 0; i < padded && kind != 3; i++) {
        const uint32_t code = codes[i / 4] >> i % 4 * 2 & 3, random = philox_u32(seed, 64 + i);
        const uint32_t is =
            i < n ? level_code_sign(2, grid, fminf(fabsf(x[i]), clip), bits_of(x[i]) >> 31, random)
                  : 0;
        CHECK(code == is, "code %zu is %u, want %u", i, code, is);
    }
}

static void check_long(const struct vec_ops *ops)
{
    const size_t n = ((size_t)1 << 20) + 33;
    const struct levels_rule r = {.scheme = {4, 0}, .bucket = 512};
    float *x = vec_plain.alloc((n + 16) * sizeof *x), *y = vec_plain.alloc((n + 16) * sizeof *y),
          *z = vec_plain.alloc(n * sizeof *z);
    uint8_t *codes = vec_plain.alloc(levels_bytes(&r, n)),
            *want = vec_plain.alloc(levels_bytes(&r, n));
    for (size_t i = 0; i < n; i++)
        x[i] = input(i, 0);
    levels_c.encode(&r, x, n, 0, seed, want);
    levels_c.decode(&r, want, n, 5, z);
    for (size_t off = 0; off < 2; off++) {
        ops->levels->encode(&r, x, n, 0, seed, codes);
        ops->levels->decode(&r, codes, n, 5, y + off);
        CHECK(memcmp(codes, want, levels_bytes(&r, n)) == 0 &&
                  memcmp(y + off, z, n * sizeof *z) == 0,
              "%s: a long vector", ops->name);
    }
    vec_plain.free(x), vec_plain.free(y), vec_plain.free(z);
    vec_plain.free(codes), vec_plain.free(want);
}

static float ulps(float x, int n)
{
    return float_of(bits_of(x) + (uint32_t)n);
}

/* Returns the first index from `at` on whose random sample is among the smallest or largest. With
 * others, a number near a level becomes that level anyway. */
static uint64_t sharp_draw(uint64_t at)
{
    while ((philox_u32(seed, at) + (25u << 8)) >> 8 > 50)
        at++;
    return at;
}

/* A few ulps around levels, and around levels plus their sample. The step is 1. */
static void check_edges(const struct vec_ops *ops, uint32_t bits, uint32_t bucket, uint64_t at)
{
    const struct levels_rule r = {.scheme = {bits, 0}, .bucket = bucket};
    const int top = (1 << (bits - 1)) - 1;
    const size_t n = 2 * r.bucket, from = (size_t)(at - at % r.bucket);
    static uint8_t codes[4096], want[4096];
    static float x[1024], y[1024];
    for (int sweep = 0; sweep < 16 * top; sweep++) {
        const float value = (float)(1 + sweep / 16);
        for (size_t i = 0; i < n; i++) {
            const float draw = (float)(philox_u32(seed, from + i) >> 8) * 0x1p-24f,
                        around = i % 2 ? value - 1 + draw : value;
            x[i] = fminf(ulps(around, around > 0 ? (int)(i / 2 % 17) - 8 : 1), (float)top);
        }
        x[at % r.bucket] = fminf(ulps(value, sweep % 16 - 8), (float)top); /* the sharp one */
        x[at % r.bucket ? 0 : 1] = x[r.bucket] = (float)top;
        levels_c.encode(&r, x, n, from, seed, want);
        ops->levels->encode(&r, x, n, from, seed, codes);
        CHECK(memcmp(codes, want, levels_bytes(&r, n)) == 0, "%s: %u bits, edges of %g at %llu",
              ops->name, bits, (double)value, (unsigned long long)at);
        read_slowly(&r, codes, x, n, from, y);
    }
}

static void check_all_edges(void)
{
    uint64_t at = 0;
    for (int k = 0; k < 8; k++, at++) {
        at = sharp_draw(at);
        for (int t = 0; t < n_tables; t++)
            for (uint32_t bits = 2; bits <= 4; bits += 2) {
                check_edges(&tables[t], bits, 512, at);
                check_edges(&tables[t], bits, 160, ((uint64_t)1 << 34) - 1);
            }
    }
}

static void check_modes(void)
{
#ifdef VEC_X86
    const struct levels_rule r = {.scheme = {8, 0}, .bucket = 32};
    static uint8_t codes[64], want[64], sums[64], want_sums[64], drawn[8], want_drawn[8];
    const uint8_t *const parts[] = {want, want};
    float x[32], y[32], z[32];
    for (size_t i = 0; i < 32; i++)
        x[i] = input(i, 1);
    const float max = float_of(levels_c.encode(&r, x, 32, 0, seed, want)),
                far = levels_c.deviations(x, 32, max, 2);
    levels_c.decode(&r, want, 32, 1, z);
    levels_c.sum(&r, parts, 2, 0, 32, 0, seed, want_sums);
    levels_c.draw(2, max, max, x, 32, 32, 0, seed, want_drawn);
    for (int t = 0; t < n_tables; t++) {
        const struct vec_levels *ops = tables[t].levels;
        const unsigned was = _mm_getcsr();
        _mm_setcsr(was | 0x8040);
        ops->encode(&r, x, 32, 0, seed, codes);
        ops->decode(&r, codes, 32, 1, y);
        ops->sum(&r, parts, 2, 0, 32, 0, seed, sums);
        ops->draw(2, max, max, x, 32, 32, 0, seed, drawn);
        const float got = ops->deviations(x, 32, max, 2);
        CHECK(_mm_getcsr() & 0x8000, "%s: another mode than before", tables[t].name);
        _mm_setcsr(was);
        CHECK(memcmp(codes, want, levels_bytes(&r, 32)) == 0, "%s: flushed", tables[t].name);
        CHECK(memcmp(y, z, sizeof y) == 0, "%s: flushed", tables[t].name);
        CHECK(memcmp(sums, want_sums, levels_bytes(&r, 32)) == 0, "%s: sums flushed",
              tables[t].name);
        CHECK(memcmp(drawn, want_drawn, sizeof drawn) == 0, "%s: samples flushed", tables[t].name);
        CHECK(bits_of(got) == bits_of(far), "%s: deviations flushed", tables[t].name);
    }
#endif
}

/* Subnormal multiples of a subnormal maximum, in a mode that flushes them. */
static void check_counts_mode(void)
{
#ifdef VEC_X86
    enum { N_COUNTS = 16, RANKS = 4 };
    const struct counts_rule r = {.n_ranks = RANKS, .bits = 4};
    const float max = 0x1.8p-140f;
    uint32_t words[N_COUNTS];
    uint8_t codes[N_COUNTS / 2];
    float x[N_COUNTS];
    const struct counts_out out = {.x = x, .codes = codes, .n = N_COUNTS, .max = max};
    for (size_t i = 0; i < N_COUNTS; i++)
        words[i] = (uint32_t)i % (2 * RANKS + 1);
    pack_write(r.bits, words, N_COUNTS, codes);
    for (int t = 0; t < n_tables; t++) {
        memset(x, 0xa5, sizeof x);
        const unsigned was = _mm_getcsr();
        _mm_setcsr(was | 0x8040);
        tables[t].counts->decode(&r, &out, 1);
        CHECK(_mm_getcsr() & 0x8000, "%s: another mode than before", tables[t].name);
        _mm_setcsr(was);
        for (size_t i = 0; i < N_COUNTS; i++)
            CHECK(x[i] == (float)((int)words[i] - RANKS) / RANKS * max, "%s: count %zu became %a",
                  tables[t].name, i, (double)x[i]);
    }
#endif
}

int main(void)
{
    static const size_t sizes[] = {1, 31, 32, 33, 255, 513, 1505};
    n_tables = vec_tables(tables);
    printf("seed %llu\n", (unsigned long long)seed);
    for (int t = 0; t < n_tables; t++)
        for (int k = 0; k < N_RULES; k++) {
            const struct levels_rule r = rule(k);
            for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
                for (int kind = 0; kind < 4; kind++)
                    check_table(&tables[t], &r, sizes[i], kind);
            check_cut(&tables[t], &r);
        }
    for (int t = 0; t < n_tables; t++)
        check_long(&tables[t]);
    for (int t = 0; t < n_tables; t++)
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
            for (int kind = 0; kind < 4; kind++)
                check_draw(&tables[t], sizes[i], kind);
    check_all_edges();
    check_modes();
    check_counts_mode();
    DONE();
}
