/* test_vec_signs.c : signs and means of columns on every instruction set equal slow loops. */
#include "check.h"
#include "vec/fp_mode.h"
#include "vec/list/vec_signs.h"
#include "vec_inputs.h"
#include <math.h>

enum { N_MAX = 4000, PARTS = 3, SKIP_BYTES = 3 };
static const uint64_t seed = 1991;

static struct vec_ops tables[VEC_TABLES];
static int n_tables;

static const struct signs_rule rules[] = {{64, 1},  {32, 1},  {512, 1}, {1, 1},
                                          {3, 16},  {10, 64}, {1, 5},   {700, 1},
                                          {257, 3}, {33, 2},  {7, 100}, {1024, 1}};
enum { N_RULES = sizeof rules / sizeof rules[0] };

static float input(uint64_t i, int kind)
{
    const uint32_t word = philox_u32(seed + (uint64_t)kind, i);
    if (kind == 4)
        return float_of(word); /* also nan and inf */
    if (kind == 3)
        return i % 7 ? fabsf((float)(int32_t)word) : -0.0f; /* no negative number */
    return ldexpf((float)(int32_t)word * 0x1p-31f, kind == 0 ? 0 : kind == 1 ? -140 : 128);
}

struct slow {
    float v[N_MAX], q[N_MAX], left[N_MAX];
    uint8_t codes[16 * N_MAX];
};

static void slow_column(const struct signs_rule *r, size_t first, size_t n, uint8_t *codes,
                        struct slow *s)
{
    float lanes[2][LEVEL_LANES] = {{0}, {0}}, mean[2];
    uint32_t count[2] = {0, 0}, words[N_MAX / 32 + 1] = {0};
    for (size_t k = 0, e = first; k < r->column && e < n; k++, e += r->stride) {
        const int negative = s->v[e] < 0;
        lanes[negative][k % LEVEL_LANES] = level_add(lanes[negative][k % LEVEL_LANES], s->v[e]);
        count[negative]++;
        words[k / 32] |= (uint32_t)negative << k % 32;
    }
    for (int side = 0; side < 2; side++) {
        for (int apart = 8; apart; apart /= 2)
            for (int i = 0; i < apart; i++)
                lanes[side][i] = level_add(lanes[side][i], lanes[side][i + apart]);
        mean[side] = count[side] ? lanes[side][0] / (float)count[side] : 0;
    }
    memcpy(codes, mean, sizeof mean);
    memcpy(codes + sizeof mean, words, (r->column + 31) / 32 * 4);
    for (size_t k = 0, e = first; k < r->column && e < n; k++, e += r->stride) {
        s->q[e] = mean[s->v[e] < 0];
        s->left[e] = s->v[e] - s->q[e];
    }
}

static void slow_all(const struct signs_rule *r, size_t n, size_t padded, struct slow *s)
{
    uint8_t *to = s->codes;
    memset(to, 0, signs_bytes(r, padded));
    for (size_t run = 0; run < n; run += r->column * r->stride)
        for (size_t c = 0; c < r->stride; c++, to += signs_column_bytes(r))
            if (run + c < n)
                slow_column(r, run + c, n, to, s);
}

static void check_same(const char *what, const struct vec_ops *ops, const struct signs_rule *r,
                       size_t n, const uint8_t *codes, size_t bytes, const float *left,
                       const struct slow *s)
{
    CHECK(memcmp(codes, s->codes, bytes) == 0, "%s: columns of %zu, %zu apart, %zu elements: %s",
          ops->name, r->column, r->stride, n, what);
    CHECK(!left || memcmp(left, s->left, n * sizeof *left) == 0,
          "%s: columns of %zu, %zu apart, %zu elements: what %s leave", ops->name, r->column,
          r->stride, n, what);
}

static void check_whole(const struct slow *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const float larger = fmaxf(fabsf(s->q[i]), fabsf(s->left[i]));
        const double ulp = (double)(nextafterf(larger, INFINITY) - larger),
                     off = (double)s->v[i] - ((double)s->q[i] + (double)s->left[i]);
        CHECK(isinf(ulp) || fabs(off) <= ulp, "%a is %a and %a", (double)s->v[i], (double)s->q[i],
              (double)s->left[i]);
    }
}

static void check_table(const struct vec_ops *ops, const struct signs_rule *r, size_t n, int more,
                        int kind)
{
    static struct slow s, sum;
    const size_t run = r->column * r->stride, padded = ((n + run - 1) / run + (size_t)more) * run,
                 bytes = signs_bytes(r, padded);
    float *x = (float *)(void *)page_end(0, n * sizeof(float)),
          *was = (float *)(void *)page_end(1, n * sizeof(float)),
          *next = (float *)(void *)page_end(2, n * sizeof(float)),
          *y = (float *)(void *)page_end(3, n * sizeof(float));
    uint8_t *codes = page_end(4, bytes), *sums = page_end(5, bytes);
    const bool keeps = kind != 1;
    const struct signs_left left = {keeps ? was : NULL, keeps ? next : NULL};
    for (size_t i = 0; i < n; i++) {
        x[i] = input(i, kind);
        was[i] = kind == 3 ? -0.0f : input(i + N_MAX, kind) / 4;
        s.v[i] = keeps ? level_add(x[i], was[i]) : x[i];
    }
    memset(codes, 0x5a, bytes);
    memset(sums, 0xa5, bytes);
    ops->signs->encode(r, x, n, padded, left, codes);
    if (kind == 4)
        return; /* codes of nan mean nothing */
    slow_all(r, n, padded, &s);
    check_same("codes", ops, r, n, codes, bytes, left.next, &s);
    check_whole(&s, n);
    ops->signs->decode(r, codes, n, 3, y);
    for (size_t i = 0; i < n; i++) {
        CHECK(bits_of(y[i]) == bits_of(s.q[i] / 3), "%s: element %zu decoded", ops->name, i);
        sum.v[i] = level_add(level_add(level_add(0, s.q[i]), s.q[i]), s.q[i]);
        sum.v[i] = keeps ? level_add(sum.v[i], was[i]) : sum.v[i];
    }
    const uint8_t *parts[PARTS] = {codes - SKIP_BYTES, codes - SKIP_BYTES, codes - SKIP_BYTES};
    ops->signs->sum(r, parts, PARTS, SKIP_BYTES, n, padded, left, sums);
    slow_all(r, n, padded, &sum);
    check_same("sums", ops, r, n, sums, bytes, left.next, &sum);
}

static void check_long(const struct vec_ops *ops)
{
    const size_t n = ((size_t)1 << 20) + 33, bytes = signs_bytes(&rules[0], n);
    float *x = vec_plain.alloc(n * sizeof *x), *want_left = vec_plain.alloc(n * sizeof *x),
          *left = vec_plain.alloc((n + 16) * sizeof *x);
    uint8_t *codes = vec_plain.alloc(bytes), *want = vec_plain.alloc(bytes);
    for (size_t i = 0; i < n; i++)
        x[i] = input(i, 0);
    signs_c.encode(&rules[0], x, n, n, (struct signs_left){x, want_left}, want);
    for (size_t off = 0; off < 2; off++) {
        ops->signs->encode(&rules[0], x, n, n, (struct signs_left){x, left + off}, codes);
        CHECK(memcmp(codes, want, bytes) == 0 &&
                  memcmp(left + off, want_left, n * sizeof *left) == 0,
              "%s: a long vector", ops->name);
    }
    vec_plain.free(x), vec_plain.free(left), vec_plain.free(want_left);
    vec_plain.free(codes), vec_plain.free(want);
}

static void check_modes(void)
{
#ifdef VEC_X86
    const struct signs_rule r = {32, 1};
    static uint8_t codes[64], want[64], sums[64], want_sums[64];
    const uint8_t *const parts[] = {want, want, want};
    float x[32], y[32], z[32];
    for (size_t i = 0; i < 32; i++)
        x[i] = input(i, 1);
    const struct signs_left none = {NULL, NULL};
    signs_c.encode(&r, x, 32, 32, none, want);
    signs_c.decode(&r, want, 32, 3, z);
    signs_c.sum(&r, parts, 3, 0, 32, 32, none, want_sums);
    for (int t = 0; t < n_tables; t++) {
        const unsigned was = _mm_getcsr();
        _mm_setcsr(was | 0x8040);
        tables[t].signs->encode(&r, x, 32, 32, none, codes);
        tables[t].signs->decode(&r, codes, 32, 3, y);
        tables[t].signs->sum(&r, parts, 3, 0, 32, 32, none, sums);
        CHECK(_mm_getcsr() & 0x8000, "%s: another mode than before", tables[t].name);
        _mm_setcsr(was);
        CHECK(memcmp(codes, want, signs_bytes(&r, 32)) == 0 && memcmp(y, z, sizeof y) == 0,
              "%s: flushed", tables[t].name);
        CHECK(memcmp(sums, want_sums, signs_bytes(&r, 32)) == 0, "%s: sums flushed",
              tables[t].name);
    }
#endif
}

int main(void)
{
    static const size_t sizes[] = {1, 2, 31, 64, 100, 257, 771, 3000};
    n_tables = vec_tables(tables);
    printf("seed %llu\n", (unsigned long long)seed);
    for (int t = 0; t < n_tables; t++)
        for (int k = 0; k < N_RULES; k++)
            for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
                for (int kind = 0; kind < 5; kind++)
                    check_table(&tables[t], &rules[k], sizes[i], k % 2, kind);
    for (int t = 0; t < n_tables; t++)
        check_long(&tables[t]);
    check_modes();
    DONE();
}
