/* test_reducer_mpi.c : tests a reducer's means of a step's gradients. */
/* RANKS: 1 2 6 LONG: 4 */
#include "base/err.h"
#include "reduce/bucket.h"
#include "reducer_fixture.h"

static void test_skip(void)
{
    static const float bad[] = {INFINITY, -INFINITY, NAN};
    struct codec codec;
    struct reducer *r =
        open_reducer(&(struct codec_spec){.format = "e4m3", .scale = "aps"}, "auto", 300, &codec);
    t.layers[N_LAYERS - 1].fp32 = true;
    struct reducer *with_fp32 =
        open_reducer(&(struct codec_spec){.format = "e4m3", .scale = "aps"}, "auto", 300, &codec);
    t.layers[N_LAYERS - 1].fp32 = false;
    for (int i = 0; i < 3 * N_LAYERS; i++) {
        const int l = i % N_LAYERS, where = i % t.n_ranks;
        make_grads(9, false);
        t.grads[where][l][shape[l].n - 1] = bad[i % 3];
        const struct reducer_step s = run(i % 2 ? r : with_fp32, 9);
        CHECK(s.skipped, "layer %d of rank %d", l, where);
        CHECK(mine_unchanged(), "layer %d of rank %d: gradients changed", l, where);
        CHECK(s.sent_bytes == (t.n_ranks > 1 ? N_LAYERS : 0), "%d bytes", (int)s.sent_bytes);
    }
    make_grads(9, false);
    CHECK(!run(r, 10).skipped && !mine_unchanged(), "and the next step is taken");
    reducer_close(with_fp32);
    reducer_close(r);
}

static bool is_fp32_mean(int l)
{
    for (size_t i = 0; i < shape[l].n; i++) {
        float sum = 0;
        for (int r = 0; r < t.n_ranks; r++)
            sum += t.grads[r][l][i];
        sum /= (float)t.n_ranks;
        if (memcmp(&sum, &t.mine[l][i], sizeof sum) != 0)
            return false;
    }
    return true;
}

static void test_fp32(void)
{
    struct codec codec;
    static float first[N_LAYERS][N_MAX];
    uint64_t want = 0;
    t.layers[4].fp32 = t.layers[N_LAYERS - 1].fp32 = t.layers[N_LAYERS - 2].fp32 = true;
    struct reducer *r =
        open_reducer(&(struct codec_spec){.format = "e3m0", .scale = "aps"}, "auto", 300, &codec);
    make_grads(20, false);
    struct reducer_step s = run(r, 20);
    memcpy(first, t.mine, sizeof first);
    for (int l = 0; l < N_LAYERS; l++) {
        CHECK(is_fp32_mean(l) == (t.layers[l].fp32 || l == 1), "layer %d", l);
        want += (shape[l].n + 7) / 8 * 8 * (t.layers[l].fp32 ? 32 : 4) / 8;
    }
    CHECK(s.code_bytes == want, "%d bytes, not %d", (int)s.code_bytes, (int)want);
    reducer_force_fp32(r, true);
    s = run(r, 20);
    want = 0;
    for (int l = 0; l < N_LAYERS; l++) {
        CHECK(is_fp32_mean(l), "forced: layer %d", l);
        want += (shape[l].n + 7) / 8 * 32;
    }
    CHECK(s.code_bytes == want, "forced: %d bytes, not %d", (int)s.code_bytes, (int)want);
    reducer_force_fp32(r, false);
    run(r, 20);
    CHECK(memcmp(first, t.mine, sizeof first) == 0, "as before");
    reducer_close(r);
    t.layers[4].fp32 = t.layers[N_LAYERS - 1].fp32 = t.layers[N_LAYERS - 2].fp32 = false;
}

static uint64_t direct_bytes(size_t n, unsigned in_bits, unsigned out_bits)
{
    const size_t units = n / 8, p = (size_t)t.n_ranks, me = (size_t)t.rank,
                 mine = 8 * (units / p + (me < units % p));
    return (n - mine) * in_bits / 8 + (p - 1) * mine * out_bits / 8;
}

static void test_bucket_sizes(const char *format, unsigned bits, unsigned out_bits, const char *sum,
                              const char *round)
{
    static const size_t bucket_bytes[] = {1, 8, 100, 500, 1 << 20};
    static float first[N_LAYERS][N_MAX];
    make_grads(30, false);
    for (int i = 0; i < 5; i++) {
        struct codec codec;
        struct bucket buckets[N_LAYERS];
        struct codec_layer placed[N_LAYERS];
        int bucket_of[N_LAYERS];
        struct reducer *r = open_reducer(
            &(struct codec_spec){.format = format, .scale = "aps", .sum = sum, .round = round},
            "auto", bucket_bytes[i], &codec);
        const struct codec codecs[2] = {codec, codec};
        const int n = bucket_cut(t.layers, N_LAYERS, codecs, false, bucket_bytes[i], buckets,
                                 placed, bucket_of);
        uint64_t code = 0, fp32 = 0, sent = t.n_ranks > 1 ? N_LAYERS : 0;
        for (int b = 0; b < n; b++)
            sent += t.n_ranks > 1 ? direct_bytes(buckets[b].n, bits, out_bits) : 0;
        for (int l = 0; l < N_LAYERS; l++) {
            code += (shape[l].n + 7) / 8 * bits;
            fp32 += shape[l].n * 4;
        }
        const struct reducer_step s = run(r, 30);
        CHECK(s.code_bytes == code && s.fp32_bytes == fp32 && s.sent_bytes == sent,
              "%s in buckets of %zu: %d %d %d, not %d %d %d", format, bucket_bytes[i],
              (int)s.code_bytes, (int)s.fp32_bytes, (int)s.sent_bytes, (int)code, (int)fp32,
              (int)sent);
        if (i == 0)
            memcpy(first, t.mine, sizeof first);
        CHECK(memcmp(first, t.mine, sizeof first) == 0, "%s %s in buckets of %zu: other bits",
              format, sum, bucket_bytes[i]);
        reducer_close(r);
    }
}

static size_t direct_scratch(const struct reduce_op *f, size_t n, int n_ranks, int group)
{
    return algo_direct.scratch_bytes(f, n, n_ranks, group);
}
static int n_looked;
/* Also checks for zero codes after every layer, up to the next multiple of 8. */
static int look_and_run(struct comm *c, const struct algo_call *call)
{
    n_looked++;
    const size_t width = vec_bytes(codec_sum(call->codec)->in, 1);
    const uint8_t *at = call->codes;
    for (int l = N_LAYERS - 1; l >= 0; l--) {
        const size_t used = width * shape[l].n, taken = width * ((shape[l].n + 7) / 8 * 8);
        for (size_t i = used; i < taken; i++)
            CHECK(at[i] == 0, "byte %zu in the gap behind layer %d", i - used, l);
        at += taken;
    }
    CHECK((size_t)(at - call->codes) == width * call->n, "%zu elements", call->n);
    return algo_direct.run(c, call);
}

static void test_padding(void)
{
    static const struct algo spy = {
        .name = "spy", .scratch_bytes = direct_scratch, .run = look_and_run};
    struct codec codec;
    struct reducer *r;
    const struct reducer_spec spec = {.comm = t.c,
                                      .codec = &codec,
                                      .algo = &spy,
                                      .bucket_bytes = 1 << 20,
                                      .layers = t.layers,
                                      .n_layers = N_LAYERS};
    if (codec_parse(&(struct codec_spec){.format = "e5m2", .scale = "aps"}, &codec) < 0 ||
        codec_settle(&codec, t.n_ranks, &(struct codec_adder){.name = "spy"}) < 0 ||
        reducer_open(&spec, &r) < 0)
        exit(1);
    make_grads(40, false);
    for (int i = 0; i < 4; i++) { /* each step leaves its codes in the next one's gaps */
        reducer_force_fp32(r, i % 2 != 0);
        run(r, 40);
    }
    CHECK(n_looked == 4, "%d of 4 steps ran the algorithm", n_looked);
    reducer_close(r);
}

static void refuse(const struct reducer_spec *spec, const char *what)
{
    struct reducer *r = NULL;
    CHECK(reducer_open(spec, &r) == -EINVAL && !r, "%s", what);
}

static void test_refusals(void)
{
    struct codec codec, other;
    struct reducer_layer empty = {.name = "empty", .n = 0};
    if (codec_parse(&(struct codec_spec){0}, &codec) < 0 ||
        codec_settle(&codec, t.n_ranks, &(struct codec_adder){.name = "test"}) < 0 ||
        codec_parse(&(struct codec_spec){0}, &other) < 0 ||
        codec_settle(&other, t.n_ranks + 1, &(struct codec_adder){.name = "test"}) < 0)
        exit(1);
    const struct reducer_spec fine = {.comm = t.c,
                                      .codec = &codec,
                                      .algo = &algo_direct,
                                      .bucket_bytes = 100,
                                      .layers = t.layers,
                                      .n_layers = N_LAYERS};
    struct reducer_spec bad[5] = {fine, fine, fine, fine, fine};
    bad[0].bucket_bytes = 0;
    bad[1].n_layers = 0;
    bad[2].layers = &empty, bad[2].n_layers = 1;
    bad[3].codec = &other;
    bad[4].algo = &algo_group_scatter, bad[4].group = t.n_ranks + 1;
    err_hold();
    refuse(&bad[0], "no bytes in a bucket");
    refuse(&bad[1], "no layers");
    refuse(&bad[2], "an empty layer");
    refuse(&bad[3], "a codec for other ranks");
    refuse(&bad[4], "groups");
    err_release(false);
    reducer_close(NULL);
}

int main(void)
{
    reducer_fixture_open();
    test_padding();
    test_skip();
    test_fp32();
    test_bucket_sizes("e4m3", 8, 8, "exact", "nearest");
    test_bucket_sizes("e5m2", 8, 8, "fp32", "stochastic");
    test_bucket_sizes("e3m0", 4, 8, "auto", "stochastic");
    test_bucket_sizes("e6m9", 16, 16, "nearest", "zero");
    test_bucket_sizes("e2m2", 5, 5, "kahan", "nearest");
    test_refusals();
    comm_close(t.c);
    DONE();
}
