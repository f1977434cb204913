/* test_gpu_vec.c : compares vec.h's two tables on the GPU with vec_plain, also by many
 * threads and after opening again. */
#include "base/buf.h"
#include "check.h"
#include "gpu_fixture.h"
#include "hls/arith/philox.h"
#include "vec/gpu/gpu.h"
#include "vec/gpu/vec_cuda.h"
#include <errno.h>
#include <pthread.h>
#include <string.h>

enum { SEED = 77, N_MAX = 70008, PARTS = 5, CANARY = 0x5a, GUARD_BYTES = 16 };

static struct {
    float *x, *want_x, *got_x;
    uint8_t *codes[PARTS], *want, *got;
    uint64_t *acc;
} host;
struct on_gpu {
    const struct vec_ops *ops;
    float *x;
    uint8_t *codes[PARTS], *out;
    void *acc;
};

static const struct mf_fmt formats[] = {{5, 2, 0}, {4, 3, 0},  {4, 3, 1}, {3, 0, 0}, {4, 1, 0},
                                        {2, 5, 2}, {2, 1, 2},  {3, 2, 2}, {5, 2, 1}, {5, 10, 0},
                                        {8, 7, 0}, {8, 23, 0}, {2, 4, 0}};
enum { N_FORMATS = sizeof formats / sizeof formats[0] };
static const size_t lengths[] = {0, 1, 7, 8, 1000, N_MAX - 3};
enum { N_LENGTHS = sizeof lengths / sizeof lengths[0] };

static const char *name_of(struct mf_fmt f)
{
    static char name[32];
    snprintf(name, sizeof name, "e%um%u%s", f.e, f.m, mf_suffix(f));
    return name;
}

static void open_host(void)
{
    host.x = buf_alloc(N_MAX * sizeof(float));
    host.want_x = buf_alloc(N_MAX * sizeof(float));
    host.got_x = buf_alloc(N_MAX * sizeof(float));
    for (int p = 0; p < PARTS; p++)
        host.codes[p] = buf_alloc(N_MAX * 4 + GUARD_BYTES);
    host.want = buf_alloc(N_MAX * 8 + GUARD_BYTES);
    host.got = buf_alloc(N_MAX * 8 + GUARD_BYTES);
    host.acc = buf_alloc(N_MAX * sizeof *host.acc);
    for (size_t i = 0; i < N_MAX; i++) {
        const uint32_t r = philox_u32(SEED, i), bits = (r & 0x80ffffff) | (90 + (r >> 24) % 64)
                                                                              << 23;
        memcpy(&host.x[i], &bits, sizeof bits);
    }
}

static struct on_gpu open_gpu(const struct vec_ops *ops)
{
    struct on_gpu g = {.ops = ops, .x = gpu()->run->alloc(N_MAX * sizeof(float))};
    for (int p = 0; p < PARTS; p++)
        g.codes[p] = ops->alloc(N_MAX * 4 + GUARD_BYTES);
    g.out = ops->alloc(N_MAX * 8 + GUARD_BYTES);
    g.acc = ops->alloc(N_MAX * sizeof(uint64_t));
    return g;
}

static void close_gpu(const struct on_gpu *g)
{
    gpu()->run->free(g->x);
    for (int p = 0; p < PARTS; p++)
        g->ops->free(g->codes[p]);
    g->ops->free(g->out);
    g->ops->free(g->acc);
}

static void copy(void *dst, const void *src, size_t bytes)
{
    struct dev_stream *s = NULL;
    CHECK(gpu()->run->stream_open(false, &s) == 0, "a stream");
    CHECK(gpu()->run->copy(dst, src, bytes, s) == 0 && gpu()->run->wait(s) == 0, "copy %zu bytes",
          bytes);
    gpu()->run->stream_close(s);
}

static void same(const struct on_gpu *g, const char *op, struct mf_fmt f, size_t n, size_t bytes)
{
    copy(host.got, g->out, bytes + GUARD_BYTES);
    CHECK(memcmp(host.got, host.want, bytes) == 0, "%s: %s of %zu %s differs", g->ops->name, op, n,
          name_of(f));
    for (size_t i = 0; i < GUARD_BYTES; i++)
        CHECK(host.got[bytes + i] == CANARY, "%s: %s of %zu %s writes after its end", g->ops->name,
              op, n, name_of(f));
}

static void clear_out(const struct on_gpu *g)
{
    memset(host.got, CANARY, N_MAX * 8 + GUARD_BYTES);
    copy(g->out, host.got, N_MAX * 8 + GUARD_BYTES);
}

static void make_codes(const struct on_gpu *g, struct mf_fmt f, size_t n)
{
    const size_t bytes = vec_bytes(f, n);
    for (int p = 0; p < PARTS; p++) {
        for (size_t i = 0; i < bytes; i++)
            host.codes[p][i] = (uint8_t)philox_u32(SEED + 1u + (uint64_t)p, i);
        copy(g->codes[p], host.codes[p], bytes);
    }
}

static void check_casts(const struct on_gpu *g, struct mf_fmt f, size_t n, enum mf_round round)
{
    const struct vec_cast cast = {
        .fmt = f, .round = round, .overflow = MF_SATURATE, .key = philox_key(SEED, 1, 2, 3, 0)};
    const size_t bytes = vec_bytes(f, n);
    const int shift = 3;
    vec_plain.encode(&cast, host.x, n, 64, shift, host.want);
    clear_out(g);
    g->ops->encode(&cast, g->x, n, 64, shift, g->out);
    same(g, "encode", f, n, bytes);
    clear_out(g);
    const uint32_t want = vec_plain.absmax(host.x, n),
                   got = g->ops->scan_encode(&cast, g->x, n, 64, shift, g->out);
    same(g, "scan_encode", f, n, bytes);
    CHECK(got == want, "%s: scan_encode of %zu: absmax %08x, not %08x", g->ops->name, n, got, want);
    CHECK(g->ops->absmax(g->x, n) == want, "%s: absmax of %zu", g->ops->name, n);

    vec_plain.decode(f, host.want, n, -2, 3.0f, host.want_x);
    copy(g->codes[0], host.want, bytes);
    float *y = gpu()->run->alloc((n + 1) * sizeof *y);
    g->ops->decode(f, g->codes[0], n, -2, 3.0f, y);
    copy(host.got_x, y, n * sizeof *y);
    CHECK(memcmp(host.got_x, host.want_x, n * sizeof(float)) == 0, "%s: decode of %zu %s",
          g->ops->name, n, name_of(f));
    gpu()->run->free(y);
}

static void check_spans(const struct on_gpu *g, struct mf_fmt f)
{
    const struct vec_cast cast = {.fmt = f, .round = MF_STOCHASTIC, .overflow = MF_SATURATE};
    static const size_t n[] = {1001, 0, 4090}, padded[] = {1008, 8, 4096}, from[] = {0, 1016, 2000};
    const size_t all = vec_bytes(f, 1008 + 8 + 4096);
    struct vec_span want[3], got[3];
    for (int pass = 0; pass < 3; pass++) {
        size_t place = 0;
        for (int i = 0; i < 3; i++) {
            want[i] = (struct vec_span){.x = host.x + from[i],
                                        .codes = host.want + place,
                                        .n = n[i],
                                        .padded = padded[i],
                                        .at = (size_t)i * 800,
                                        .key = philox_key(SEED, 7, (uint32_t)i, 3, 0),
                                        .shift = i - 1};
            got[i] = want[i];
            got[i].x = g->x + from[i];
            got[i].codes = g->out + place;
            place += vec_bytes(f, padded[i]);
        }
        clear_out(g);
        if (pass == 0) {
            vec_plain.absmax_all(&vec_plain, want, 3);
            g->ops->absmax_all(g->ops, got, 3);
        } else if (pass == 1) {
            vec_plain.encode_all(&vec_plain, &cast, want, 3);
            g->ops->encode_all(g->ops, &cast, got, 3);
            same(g, "encode_all", f, 3, all);
        } else {
            vec_plain.scan_encode_all(&vec_plain, &cast, want, 3);
            g->ops->scan_encode_all(g->ops, &cast, got, 3);
            same(g, "scan_encode_all", f, 3, all);
        }
        for (int i = 0; i < 3 && pass != 1; i++)
            CHECK(got[i].absmax == want[i].absmax, "%s: absmax of span %d: %08x, not %08x",
                  g->ops->name, i, got[i].absmax, want[i].absmax);
    }
}

/* x begins anywhere, codes on a byte. Bytes between codes stay. */
static void check_outs(const struct on_gpu *g, struct mf_fmt f)
{
    static const size_t n[] = {1001, 0, 1, 30000, 4090, 7},
                        from[] = {3, 1010, 1016, 1024, 40000, 50001};
    enum { OUTS = 6, ALL = 50016 };
    struct vec_out want[OUTS], got[OUTS];
    const float divisor = 3;
    make_codes(g, f, 1024 + 40000);
    memset(host.want_x, CANARY, ALL * sizeof(float));
    memset(host.got_x, CANARY, ALL * sizeof(float));
    float *y = gpu()->run->alloc(ALL * sizeof *y);
    copy(y, host.got_x, ALL * sizeof *y);
    size_t place = 0;
    for (int i = 0; i < OUTS; i++) {
        want[i] = (struct vec_out){.x = host.want_x + from[i],
                                   .codes = host.codes[0] + place,
                                   .n = n[i],
                                   .shift = 4 - 3 * i};
        got[i] = want[i];
        got[i].x = y + from[i];
        got[i].codes = g->codes[0] + place;
        place += vec_bytes(f, n[i]) + 1;
    }
    vec_plain.decode_all(&vec_plain, f, want, OUTS, divisor);
    g->ops->decode_all(g->ops, f, got, OUTS, divisor);
    copy(host.got_x, y, ALL * sizeof *y);
    CHECK(memcmp(host.got_x, host.want_x, ALL * sizeof *y) == 0, "%s: decode_all of %s",
          g->ops->name, name_of(f));
    g->ops->decode_all(g->ops, f, got, 0, divisor);
    gpu()->run->free(y);
}

static void check_not_finite(const struct on_gpu *g)
{
    const uint32_t inf = 0xff800000;
    copy((void *)(g->x + 12345), &inf, sizeof inf);
    CHECK(g->ops->absmax(g->x, N_MAX) >= 0x7f800000, "%s: absmax with an inf", g->ops->name);
    copy((void *)(g->x + 12345), host.x + 12345, sizeof inf);
    CHECK(g->ops->absmax(g->x, N_MAX) < 0x7f800000, "%s: absmax without", g->ops->name);
}

static void check_sums(const struct on_gpu *g, const struct vec_sum *s, size_t n)
{
    const size_t bytes = vec_bytes(s->out, n);
    make_codes(g, s->in, n);
    for (int p = 0; p < PARTS; p++) {
        vec_plain.accumulate(s, host.acc, host.codes[p], n, p == 0);
        g->ops->accumulate(s, g->acc, g->codes[p], n, p == 0);
    }
    vec_plain.finish(s, host.acc, n, s->out, s->out_shift, host.want);
    clear_out(g);
    g->ops->finish(s, g->acc, n, s->out, s->out_shift, g->out);
    same(g, "accumulate, finish", s->in, n, bytes);
    clear_out(g);
    g->ops->sum(s, (const uint8_t *const *)g->codes, PARTS, n, s->out, s->out_shift, g->out);
    same(g, "sum", s->in, n, bytes);
    if (s->rule == VEC_EXACT) {
        const size_t wide = vec_wide_bytes(s, n);
        vec_plain.spill(s, host.acc, n, host.want);
        clear_out(g);
        g->ops->spill(s, g->acc, n, g->out);
        same(g, "spill", s->in, n, wide);
        g->ops->accumulate_wide(s, g->acc, g->out, n, true);
        g->ops->accumulate_wide(s, g->acc, g->out, n, false);
        vec_plain.accumulate_wide(s, host.acc, host.want, n, false);
        vec_plain.finish(s, host.acc, n, s->out, s->out_shift, host.want);
        clear_out(g);
        g->ops->finish(s, g->acc, n, s->out, s->out_shift, g->out);
        same(g, "accumulate_wide", s->in, n, bytes);
    }
    if (s->rule == VEC_NEAREST || s->rule == VEC_TRUNC) {
        vec_plain.add(s, host.codes[0], host.codes[1], n);
        memcpy(host.want, host.codes[0], vec_bytes(s->in, n));
        clear_out(g);
        copy(g->out, g->codes[0], vec_bytes(s->in, n));
        g->ops->add(s, g->out, g->codes[1], n);
        if (n * mf_width(s->in) % 8 == 0) /* else the last byte has unused bits */
            same(g, "add", s->in, n, vec_bytes(s->in, n));
    }
}

static bool rule_fits(enum vec_rule rule, struct mf_fmt f)
{
    if (rule == VEC_EXACT)
        return f.e <= 5;
    return rule != VEC_TRUNC || mf_same(f, mf_e5m2());
}

static void check_table(const struct vec_ops *ops)
{
    struct on_gpu g = open_gpu(ops);
    copy(g.x, host.x, N_MAX * sizeof(float));
    for (int i = 0; i < N_FORMATS; i++) {
        const struct mf_fmt f = formats[i];
        check_spans(&g, f);
        check_outs(&g, f);
        for (int l = 0; l < N_LENGTHS; l++) {
            const size_t n = lengths[l];
            check_casts(&g, f, n, i % 2 ? MF_STOCHASTIC : MF_NEAREST);
            for (int rule = 0; rule < VEC_RULES; rule++)
                if (rule_fits((enum vec_rule)rule, f) && (n < N_MAX / 2 || (i + rule) % 3 == 0)) {
                    const struct vec_sum s = {.rule = (enum vec_rule)rule,
                                              .overflow = MF_SATURATE,
                                              .in = f,
                                              .out = f,
                                              .out_shift = rule == VEC_EXACT ? 2 : 0,
                                              .n_ranks = 2 * PARTS};
                    check_sums(&g, &s, n);
                }
        }
    }
    check_not_finite(&g);
    close_gpu(&g);
}

enum { THREADS = 4, ROUNDS = 20 };
static const struct vec_cast cast = {.fmt = {4, 3, 0}, .round = MF_NEAREST};

static uint8_t wanted[4096]; /* codes by each thread */

static void *one_thread(void *arg)
{
    const struct vec_ops *ops = vec_cuda();
    const float *x = arg;
    uint8_t *codes = ops->alloc(4096);
    long bad = 0;
    for (int i = 0; i < ROUNDS; i++) {
        memset(codes, 0, 4096);
        const uint32_t max = ops->scan_encode(&cast, x, 4096, 0, 0, codes);
        bad += max != vec_plain.absmax(host.x, 4096);
        bad += memcmp(codes, wanted, 4096) != 0;
    }
    ops->free(codes);
    return (void *)bad;
}

static void check_threads(void)
{
    pthread_t threads[THREADS];
    float *x = gpu()->run->alloc(4096 * sizeof *x);
    copy(x, host.x, 4096 * sizeof *x);
    vec_plain.encode(&cast, host.x, 4096, 0, 0, wanted);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, one_thread, x) == 0, "thread %d", i);
    for (int i = 0; i < THREADS; i++) {
        void *bad;
        pthread_join(threads[i], &bad);
        CHECK(bad == NULL, "thread %d: %ld wrong", i, (long)bad);
    }
    gpu()->run->free(x);
}

static void check_copy(const struct vec_ops *ops)
{
    enum { N = 4099 };
    uint8_t *there = ops->alloc(N), *back = (uint8_t *)host.got_x;
    memset(back, 0, N);
    ops->copy(there, host.x, N);
    ops->copy(back, there, N);
    CHECK(memcmp(back, host.x, N) == 0, "%s: copied there and back", ops->name);
    ops->free(there);
}

static void check_open_again(void)
{
    gpu_note(-EIO);
    gpu_note(-ENOMEM);
    CHECK(gpu_failed() == -EIO, "the first failure stays, not %d", gpu_failed());
    CHECK(gpu_open(0) == 0 && gpu() != NULL, "open twice");
    gpu_close();
    CHECK(gpu() != NULL, "open once");
    gpu_close();
    CHECK(gpu() == NULL, "closed");
    gpu_close();
    CHECK(gpu_open(0) == 0 && gpu_failed() == 0, "open again");
    check_threads();
    float *x = gpu()->run->alloc(4096 * sizeof *x); /* this thread's lane is new */
    copy(x, host.x, 4096 * sizeof *x);
    vec_plain.encode(&cast, host.x, 4096, 0, 0, wanted);
    CHECK(vec_cuda()->absmax(x, 4096) == vec_plain.absmax(host.x, 4096), "after opening again");
    gpu()->run->free(x);
}

int main(void)
{
    gpu_fixture_choose();
    if (gpu_open(0) < 0)
        return 1;
    printf("seed %d, %s\n", SEED, gpu_info()->name);
    open_host();
    check_table(vec_cuda());
    check_table(vec_cuda_device());
    check_copy(vec_cuda());
    check_copy(vec_cuda_device());
    check_threads();
    CHECK(gpu_failed() == 0, "a call failed: %d", gpu_failed());
    check_open_again();
    gpu_close();
    DONE();
}
