/* test_algo_add_mpi.c : algorithms handle codes only through the reduce op. A fake one checks all
 * calls. */
/* RANKS: 1 2 6 LONG: 4 12 */
/* An element is a 32-bit word, index * 256 + 1; a sum of k elements is k times that, which shows
 * k and the index. Partial sums in messages are longer: a word, and MARK. */
#include "base/buf.h"
#include "check.h"
#include "comm/algo/algo.h"
#include <string.h>

/* block sizes are no multiples of UNIT; each rank has more than a block */
enum { UNIT = 24, N = UNIT * 401 };

#define MARK 0xfeedbeefu

struct ctx {
    bool wide;
    int n_bad;
};

/* Returns the sum's number of addends; 0: it belongs to another index. */
static uint32_t addends(uint32_t sum, size_t index)
{
    const uint32_t one = (uint32_t)index * 256 + 1, k = sum & 255;
    return sum == k * one ? k : 0;
}

static void must(const struct reduce_op *f, bool fine)
{
    if (!fine)
        ((struct ctx *)(uintptr_t)f->ctx)->n_bad++;
}

static size_t word_bytes(const struct reduce_op *f, size_t n)
{
    must(f, n % UNIT == 0);
    return 4 * n;
}
static size_t out_bytes(const struct reduce_op *f, size_t n)
{
    return word_bytes(f, n) / 2;
}
static size_t wide_bytes(const struct reduce_op *f, size_t n)
{
    return ((const struct ctx *)f->ctx)->wide ? 3 * word_bytes(f, n) : 0;
}

static size_t part_bytes(const struct reduce_op *f, size_t n)
{
    return 2 * word_bytes(f, n);
}

static void add(const struct reduce_op *f, size_t at, void *acc, const uint8_t *codes, size_t n,
                bool first)
{
    uint32_t *a = acc, word;
    must(f, at % UNIT == 0 && n % UNIT == 0 && n > 0 && at + n <= N);
    for (size_t i = 0; i < n; i++) {
        memcpy(&word, codes + 4 * i, sizeof word);
        must(f, addends(word, at + i) > 0);
        a[i] = (first ? 0 : a[i]) + word;
    }
}

static void part(const struct reduce_op *f, size_t at, const void *acc, size_t n, uint8_t *codes)
{
    const uint32_t *a = acc, mark = MARK;
    for (size_t i = 0; i < n; i++) {
        must(f, addends(a[i], at + i) > 0);
        memcpy(codes + 8 * i, &a[i], sizeof a[i]);
        memcpy(codes + 8 * i + 4, &mark, sizeof mark);
    }
}

static void add_part(const struct reduce_op *f, size_t at, uint32_t *acc, const uint8_t *part,
                     size_t n)
{
    uint32_t pair[2];
    for (size_t i = 0; i < n; i++) {
        memcpy(pair, part + 8 * i, sizeof pair);
        must(f, pair[1] == MARK && addends(pair[0], at + i) > 0);
        acc[i] += pair[0];
    }
}

/* A result is the number of addends in 16 bits, made once, and never of partial sums. */
static void done(const struct reduce_op *f, size_t at, const void *acc, size_t n, uint8_t *codes)
{
    const uint32_t *a = acc;
    for (size_t i = 0; i < n; i++) {
        const uint16_t k = (uint16_t)addends(a[i], at + i);
        must(f, k > 0);
        memcpy(codes + 2 * i, &k, sizeof k);
    }
}

static void finish(const struct reduce_op *f, size_t at, uint32_t *acc, size_t n, bool last,
                   uint8_t *codes)
{
    if (last)
        done(f, at, acc, n, codes);
    else
        part(f, at, acc, n, codes);
    free(acc);
}

static void sum(const struct reduce_op *f, size_t at, const uint8_t *const *parts, int n_parts,
                size_t n, bool last, uint8_t *codes)
{
    uint32_t *acc = buf_alloc(4 * n);
    must(f, n_parts > 0);
    for (int p = 0; p < n_parts; p++)
        add(f, at, acc, parts[p], n, p == 0);
    finish(f, at, acc, n, last, codes);
}

static void merge(const struct reduce_op *f, size_t at, const uint8_t *const *parts, int n_parts,
                  size_t n, bool last, uint8_t *codes)
{
    uint32_t *acc = buf_alloc(4 * n);
    must(f, n_parts > 0);
    for (int p = 0; p < n_parts; p++)
        add_part(f, at, acc, parts[p], n);
    finish(f, at, acc, n, last, codes);
}

static void hop(const struct reduce_op *f, size_t at, const uint8_t *partial, const uint8_t *one,
                size_t n, bool last, uint8_t *codes)
{
    uint32_t *acc = buf_alloc(4 * n);
    add_part(f, at, acc, partial, n);
    add(f, at, acc, one, n, false);
    finish(f, at, acc, n, last, codes);
}

static void spill(const struct reduce_op *f, const void *acc, size_t n, uint8_t *wide)
{
    must(f, ((const struct ctx *)f->ctx)->wide);
    for (size_t i = 0; i < n; i++) {
        memcpy(wide + 12 * i, (const uint32_t *)acc + i, 4);
        memset(wide + 12 * i + 4, 0xee, 8);
    }
}

static void add_wide(const struct reduce_op *f, void *acc, const uint8_t *wide, size_t n,
                     bool first)
{
    uint32_t *a = acc, word;
    must(f, ((const struct ctx *)f->ctx)->wide);
    for (size_t i = 0; i < n; i++) {
        memcpy(&word, wide + 12 * i, sizeof word);
        must(f, wide[12 * i + 4] == 0xee);
        a[i] = (first ? 0 : a[i]) + word;
    }
}

static const struct reduce_op_kind ops = {.in_bytes = word_bytes,
                                          .out_bytes = out_bytes,
                                          .acc_bytes = word_bytes,
                                          .part_bytes = part_bytes,
                                          .wide_bytes = wide_bytes,
                                          .add = add,
                                          .part = part,
                                          .done = done,
                                          .sum = sum,
                                          .merge = merge,
                                          .hop = hop,
                                          .spill = spill,
                                          .add_wide = add_wide};

static void test_one(struct comm *c, const struct algo *a, int k, bool wide, size_t n)
{
    struct ctx ctx = {.wide = wide};
    const struct reduce_op f = {.ops = &ops, .ctx = &ctx, .unit = UNIT};
    const int n_ranks = comm_n_ranks(c);
    uint32_t *codes = buf_alloc(4 * n);
    uint16_t *result = buf_alloc(2 * n);
    void *scratch = buf_alloc(a->scratch_bytes(&f, n, n_ranks, k));
    for (size_t i = 0; i < n; i++)
        codes[i] = (uint32_t)i * 256 + 1;
    const struct algo_call call = {.op = f,
                                   .n = n,
                                   .codes = (const uint8_t *)codes,
                                   .result = (uint8_t *)result,
                                   .scratch = scratch,
                                   .group = k};
    CHECK(a->run(c, &call) == 0, "%s:%d", a->name, k);
    CHECK(ctx.n_bad == 0, "%s:%d%s n %zu: %d bad calls", a->name, k, wide ? " wide" : "", n,
          ctx.n_bad);
    for (size_t i = 0; i < n; i++)
        CHECK(result[i] == n_ranks, "%s:%d%s: element %zu of %zu has %d addends", a->name, k,
              wide ? " wide" : "", i, n, result[i]);
    free(codes);
    free(result);
    free(scratch);
}

int main(void)
{
    static const size_t sizes[] = {UNIT, 2 * UNIT, 7 * UNIT, N};
    struct comm *c;
    const struct algo *a;
    if (comm_open(120, &c) < 0)
        return 1;
    const int p = comm_n_ranks(c);
    for (int i = 0; (a = algo_at(i)); i++)
        for (int k = a->grouped ? 1 : 0; k <= (a->grouped ? p : 0); k++)
            for (int s = 0; s < 8; s++)
                if (a != &algo_native && (a != &algo_self || p == 1) && (!a->grouped || p % k == 0))
                    test_one(c, a, k, s % 2 != 0, sizes[s / 2]);
    comm_close(c);
    DONE();
}
