/* gpu_sums.h : makes a sum on the GPU by every path and compares it with the plain one. */
#ifndef GPU_SUMS_H
#define GPU_SUMS_H
#include "device/vec/dev_vec.h"
#include "gpu_fixture.h"
#include "sum_codes.h"

enum { N_PAIRS = 1 << 16, ROOM = 8 * N_PAIRS };

static struct {
    const struct dev_run_ops *run;
    const struct dev_vec_ops *vec;
    struct dev_stream *s;
    uint8_t *parts[MAX_P];
    const uint8_t **list;
    uint8_t *out, *acc, *wide;
} g;

static void open_gpu(void)
{
    const struct dev_library *lib = gpu_fixture();
    g.run = lib->run;
    g.vec = lib->vec;
    bool all = g.run->stream_open(false, &g.s) == 0;
    for (int r = 0; r < MAX_P; r++)
        all = all && (g.parts[r] = g.run->alloc_pinned(2 * N_PAIRS + 64)) != NULL;
    all = all && (g.list = g.run->alloc_pinned(MAX_P * sizeof *g.list)) &&
          (g.out = g.run->alloc_pinned(ROOM)) && (g.acc = g.run->alloc_pinned(ROOM)) &&
          (g.wide = g.run->alloc_pinned(ROOM));
    if (!all)
        exit(1);
}

static void done(int rc)
{
    CHECK(rc == 0, "launch: %d", rc);
    CHECK(g.run->wait(g.s) == 0, "the device");
}

static void compare(const struct vec_sum *s, const char *what, const uint8_t *want, size_t bytes,
                    int p, size_t n)
{
    for (size_t i = 0; i < bytes + GUARD; i++)
        CHECK(g.out[i] == want[i],
              "%s: rule %d overflow %d e%um%u fn %u -> e%um%u of %d ranks, %zu elements: byte %zu "
              "is %02x, want %02x",
              what, (int)s->rule, (int)s->overflow, s->in.e, s->in.m, s->in.flavour, s->out.e,
              s->out.m, p, n, i, g.out[i], want[i]);
}

static uint8_t want_out[ROOM];
static uint64_t want_acc[ROOM / 8];

/* Copies codes from packed[r] + 1 to `skew` bytes after an aligned address. An odd skew adds r %
 * 3 bytes, so that ranks differ in alignment. */
static void place(const struct vec_sum *s, int p, size_t n, unsigned skew)
{
    for (int r = 0; r < p; r++) {
        uint8_t *to = g.parts[r] + skew + (skew % 2 ? (unsigned)r % 3 : 0);
        memcpy(to, packed[r] + 1, vec_bytes(s->in, n));
        g.list[r] = to;
    }
}

/* Checks sum(), then accumulate() with the wide partial sums that it leaves, then finish(), then
 * sum() in place. */
static void check_sum(const struct vec_sum *s, int p, size_t n, int shift, unsigned skew)
{
    const struct mf_fmt out = s->out;
    const size_t bytes = vec_bytes(out, n) + skew;
    place(s, p, n, skew);
    memset(want_out, CANARY, bytes + GUARD);
    memset(want_acc, CANARY, vec_acc_bytes(s, n) + GUARD);
    for (int r = 0; r < p; r++)
        vec_plain.accumulate(s, want_acc, g.list[r], n, r == 0);
    vec_plain.finish(s, want_acc, n, out, shift, want_out + skew);

    memset(g.out, CANARY, bytes + GUARD);
    done(g.vec->sum(s, g.list, p, n, out, shift, g.out + skew, g.s));
    compare(s, "sum", want_out, bytes, p, n);

    memset(g.acc, CANARY, vec_acc_bytes(s, n) + GUARD);
    for (int r = 0; r < p; r++)
        done(g.vec->accumulate(s, g.acc, g.list[r], n, r == 0, g.s));
    if (s->rule != VEC_FP32) /* nans of fp32 may have any payload */
        CHECK(memcmp(g.acc, want_acc, vec_acc_bytes(s, n) + GUARD) == 0,
              "accumulate: rule %d e%um%u of %d ranks, %zu elements", (int)s->rule, s->in.e,
              s->in.m, p, n);
    memset(g.out, CANARY, bytes + GUARD);
    done(g.vec->finish(s, g.acc, n, out, shift, g.out + skew, g.s));
    compare(s, "finish", want_out, bytes, p, n);

    if (mf_width(out) == mf_width(s->in)) { /* overwrites the last part */
        uint8_t *last = g.out + skew;
        memset(g.out, CANARY, bytes + GUARD);
        memcpy(last, g.list[p - 1], vec_bytes(out, n));
        g.list[p - 1] = last;
        done(g.vec->sum(s, g.list, p, n, out, shift, last, g.s));
        compare(s, "sum in place", want_out, bytes, p, n);
    }
}

static const struct mf_fmt outs[] = {{5, 2, 0},  {4, 3, 1},  {4, 3, 0}, {3, 0, 0}, {5, 10, 0},
                                     {8, 7, 0},  {8, 23, 0}, {3, 2, 0}, {1, 2, 0}, {7, 0, 0},
                                     {8, 22, 0}, {2, 5, 0},  {2, 5, 2}, {2, 1, 2}, {5, 2, 1}};
enum { N_OUTS = sizeof outs / sizeof outs[0] };

#endif
