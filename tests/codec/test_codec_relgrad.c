/* test_codec_relgrad.c : compares relgrad with relgrad_slow.h: 10^6 elements of 8 ranks, every
 * instruction set, split anywhere. */
#include "check.h"
#include "codec/codec_kind.h"
#include "comm/algo/algo.h"
#include "hls/card/crc32c.h"
#include "hls/arith/philox.h"
#include "relgrad_slow.h"
#include "vec/vec_isa.h"
#include <string.h>

enum { SEED = 17, N_MAX = 999983, P_MAX = SLOW_RANKS, STEP = 3, LAYER = 2 };

static struct {
    float *grads[P_MAX], *weights, *mean;
    uint8_t *codes[P_MAX], *nodes[P_MAX], *sum, *cut;
    struct vec_ops tables[VEC_ISAS];
    int n_tables;
} t;

static double unit(uint64_t key, uint64_t i)
{
    return (double)philox_u32(key, i) * 0x1p-32;
}

/* Weights over five decades, one in 50 zero. Gradients correlate with them, over six decades,
 * one in 1,000 far out. */
static void make_inputs(void)
{
    const uint64_t key = philox_key(SEED, 1, 0, 0, 0);
    for (size_t i = 0; i < N_MAX; i++) {
        const double w = pow(10, 5 * unit(key, 3 * i) - 5);
        const bool zero = unit(key, 3 * i + 1) < 0.02;
        t.weights[i] = (float)(zero ? 0 : unit(key, 3 * i + 2) < 0.5 ? -w : w);
        for (uint32_t r = 0; r < P_MAX; r++) {
            const uint64_t own = philox_key(SEED, 2, r, 0, 0);
            const double u = unit(own, 3 * i), size = pow(10, 6 * unit(own, 3 * i + 1) - 6) * w,
                         far = unit(own, 3 * i + 2) < 1e-3 ? 1e6 : 1;
            t.grads[r][i] = (float)(i % 97 == r ? 0 : (2 * u - 1) * size * far * (1 + r));
        }
    }
    t.grads[1][5] = 3e38f; /* their ratio, or product, is infinite */
    t.grads[2][6] = -3e38f;
}

static void *memory(size_t bytes)
{
    void *p = calloc(1, bytes);
    if (!p)
        abort();
    return p;
}

static void open_all(void)
{
    for (int r = 0; r < P_MAX; r++) {
        t.grads[r] = memory(N_MAX * sizeof(float));
        t.codes[r] = memory(N_MAX + 8);
        t.nodes[r] = memory(N_MAX + 8);
    }
    t.weights = memory(N_MAX * sizeof(float));
    t.mean = memory(N_MAX * sizeof(float));
    t.sum = memory(N_MAX + 8);
    t.cut = memory(N_MAX + 8);
    for (int i = 0; i < VEC_ISAS; i++)
        t.n_tables += vec_isa_table((enum vec_isa)i, &t.tables[t.n_tables]);
}

struct run {
    const char *word, *algo, *sum;
    size_t n, padded;
    float q;
    struct slow_step slow;
    struct codec codec;
    struct codec_layer layer;
};

static bool same(float a, float b)
{
    return memcmp(&a, &b, sizeof a) == 0 || (a == 0 && b == 0);
}

/* Zero sums are +0 here, and of either sign in the paper. */
static bool same_sum(uint8_t a, uint8_t b)
{
    return a == b || ((a & 0x7f) == 0 && (b & 0x7f) == 0);
}

static void encode(const struct run *r, uint32_t rank, size_t from, size_t to, uint8_t *codes)
{
    const struct codec_part part = {.layer = &r->layer, .at = from};
    const size_t end = to < r->n ? to : r->n;
    struct vec_span span = {.x = t.grads[rank] + from,
                            .codes = codes + from,
                            .n = end > from ? end - from : 0,
                            .padded = to - from,
                            .at = from,
                            .key = codec_key(&r->codec, STEP, LAYER, rank)};
    codec_encode_all(&r->codec, &span, &part, 1);
}

/* Overwrites earlier results first, so that every instruction set has to write its own. */
static void go(const struct run *r)
{
    const struct codec_call call = {.codec = &r->codec, .layers = &r->layer, .n_layers = 1};
    const struct reduce_op f = codec_reduce_op(&call);
    const int n_nodes = r->slow.n_ranks / r->slow.node;
    const struct codec_part part = {.layer = &r->layer};
    const uint8_t *parts[P_MAX];
    for (int k = 0; k < n_nodes; k++)
        memset(t.nodes[k], 0xa5, r->padded);
    memset(t.sum, 0xa5, r->padded);
    memset(t.mean, 0xa5, r->n * sizeof *t.mean);
    for (int p = 0; p < r->slow.n_ranks; p++) {
        memset(t.codes[p], 0xa5, r->padded);
        encode(r, (uint32_t)p, 0, r->padded, t.codes[p]);
        parts[p] = t.codes[p];
    }
    if (n_nodes > 1 && r->slow.rule != SLOW_EXACT)
        for (int k = 0; k < n_nodes; k++) {
            f.ops->sum(&f, 0, parts + k * r->slow.node, r->slow.node, r->padded, false, t.nodes[k]);
            parts[k] = t.nodes[k];
        }
    f.ops->sum(&f, 0, parts, n_nodes > 1 && r->slow.rule != SLOW_EXACT ? n_nodes : r->slow.n_ranks,
               r->padded, true, t.sum);
    const struct vec_out out = codec_out(&r->codec, t.sum, r->n, 0, t.mean);
    codec_decode_all(&r->codec, &out, &part, 1);
}

static uint32_t crc_of(const struct run *r)
{
    uint32_t crc = crc32c(t.sum, r->padded);
    crc = crc32c_more(crc, (const uint8_t *)t.mean, r->n * sizeof *t.mean);
    for (int p = 0; p < r->slow.n_ranks; p++)
        crc = crc32c_more(crc, t.codes[p], r->padded);
    for (int k = 0; k < r->slow.n_ranks / r->slow.node; k++)
        crc = crc32c_more(crc, t.nodes[k], r->padded);
    return crc;
}

static void check_elements(const struct run *r)
{
    const char *isa = t.tables[0].name;
    const int n_nodes = r->slow.n_ranks / r->slow.node;
    for (size_t i = 0; i < r->padded; i++) {
        float grads[P_MAX] = {0};
        for (int p = 0; p < r->slow.n_ranks && i < r->n; p++)
            grads[p] = t.grads[p][i];
        const struct slow_element want = slow_element(&r->slow, grads, i < r->n ? t.weights[i] : 0);
        for (int p = 0; p < r->slow.n_ranks; p++)
            CHECK(t.codes[p][i] == want.sent[p],
                  "%s, %s, %s: rank %d sends %02x for %zu, want %02x", isa, r->word, r->algo, p,
                  t.codes[p][i], i, want.sent[p]);
        for (int k = 0; k < n_nodes && n_nodes > 1 && r->slow.rule != SLOW_EXACT; k++)
            CHECK(same_sum(t.nodes[k][i], want.nodes[k]),
                  "%s, %s: node %d has %02x of %zu, want %02x", isa, r->algo, k, t.nodes[k][i], i,
                  want.nodes[k]);
        CHECK(same_sum(t.sum[i], want.sum), "%s, %s, %s: sum %zu is %02x, want %02x", isa, r->algo,
              r->sum, i, t.sum[i], want.sum);
        if (i < r->n)
            CHECK(same(t.mean[i], want.mean), "%s, %s, %s: mean %zu is %a, want %a", isa, r->algo,
                  r->sum, i, (double)t.mean[i], (double)want.mean);
    }
}

static void check_cut(const struct run *r)
{
    const size_t cuts[] = {0, 8, 1032, r->padded / 16 * 8, r->padded};
    memset(t.cut, 0xa5, r->padded);
    for (size_t k = 0; k + 1 < sizeof cuts / sizeof *cuts; k++)
        if (cuts[k] < cuts[k + 1] && cuts[k + 1] <= r->padded)
            encode(r, 1, cuts[k], cuts[k + 1], t.cut);
    if (r->padded > 2100)
        CHECK(memcmp(t.cut, t.codes[1], r->padded) == 0, "%s: codes depend on the cut", r->algo);
}

static void check_run(const char *word, const char *algo_word, const char *sum, int n_ranks,
                      size_t n, float q)
{
    const struct codec_spec spec = {.codec = word, .sum = sum};
    struct run r = {.word = word, .algo = algo_word, .sum = sum, .n = n, .padded = (n + 7) / 8 * 8};
    const struct algo *algo;
    int group;
    if (codec_parse(&spec, &r.codec) < 0 || algo_find(algo_word, n_ranks, &algo, &group) < 0 ||
        algo_settle(algo, group, n_ranks, &r.codec) < 0)
        exit(1);
    r.codec.seed = SEED;
    r.layer = (struct codec_layer){.index = LAYER, .n = n, .weights = t.weights, .max = q};
    r.slow = (struct slow_step){.n_ranks = n_ranks,
                                .node = group ? group : n_ranks,
                                .rule = !strcmp(sum, "trunc")     ? SLOW_TRUNC
                                        : !strcmp(sum, "nearest") ? SLOW_NEAREST
                                                                  : SLOW_EXACT,
                                .q = q,
                                .eps = strstr(word, "gradient")    ? 0
                                       : strstr(word, "eps=0.001") ? 1e-3f
                                                                   : 1e-5f};
    uint32_t first = 0;
    for (int i = 0; i < t.n_tables; i++) {
        r.codec.ops = &t.tables[i];
        go(&r);
        const uint32_t crc = crc_of(&r);
        if (i == 0)
            check_elements(&r);
        first = i ? first : crc;
        CHECK(crc == first, "%s, %s, %s: other bits by %s than by %s", word, algo_word, sum,
              t.tables[i].name, t.tables[0].name);
        check_cut(&r);
    }
}

static float check_quantile(uint32_t rank, size_t n, const char *word, int percent, uint32_t most)
{
    static float sizes[16384];
    struct codec codec;
    if (codec_parse(&(struct codec_spec){.codec = word}, &codec) < 0)
        exit(1);
    codec.seed = SEED;
    const uint64_t key = codec_key(&codec, STEP, LAYER, rank),
                   draws = philox_key(key, 0x73616d70, 0, 0, 0);
    const struct codec_layer layer = {.index = LAYER, .n = n, .weights = t.weights};
    const struct codec_part part = {.layer = &layer};
    struct vec_span span = {.x = t.grads[rank], .n = n, .padded = n, .key = key};
    const size_t n_samples = n < most ? n : most;
    for (size_t k = 0; k < n_samples; k++) {
        const size_t i = n <= most ? k : (size_t)(((uint64_t)n * philox_u32(draws, k)) >> 32);
        sizes[k] = fminf(fabsf(t.grads[rank][i]) / (fabsf(t.weights[i]) + 1e-5f), 0x1.fffffep127f);
    }
    const float want = slow_quantile(sizes, n_samples, percent);
    float got;
    codec_absmax_all(&codec, &span, &part, 1);
    memcpy(&got, &span.absmax, sizeof got);
    CHECK(same(got, want), "%s: the quantile of %zu is %a, want %a", word, n, (double)got,
          (double)want);
    return got;
}

/* Skips nan; test_mf_add.c counts codes with nan. */
static void check_rules_differ(void)
{
    int differ = 0;
    for (int a = 0; a < 256; a++)
        for (int b = 0; b < 256; b++)
            if ((a & 0x7c) != 0x7c && (b & 0x7c) != 0x7c)
                differ += slow_add((uint8_t)a, (uint8_t)b, SLOW_TRUNC) !=
                          slow_add((uint8_t)a, (uint8_t)b, SLOW_NEAREST);
    CHECK(differ == 15112, "trunc and nearest differ on %d pairs of finite codes", differ);
}

int main(void)
{
    printf("seed %d\n", SEED);
    open_all();
    make_inputs();
    check_rules_differ();
    const float q = check_quantile(0, N_MAX, "relgrad", 95, 1024);
    check_quantile(3, 1024, "relgrad", 95, 1024);
    check_quantile(3, 1025, "relgrad", 95, 1024);
    check_quantile(1, 1, "relgrad", 95, 1024);
    check_quantile(2, 20, "relgrad", 95, 1024);
    check_quantile(2, 19999, "relgrad:q=0.5,samples=16384", 50, 16384);
    check_quantile(2, 100, "relgrad:q=1", 100, 1024);
    check_run("relgrad", "group-scatter:4", "trunc", 8, N_MAX, q);
    check_run("relgrad", "group-scatter:2", "trunc", 8, N_MAX, q);
    check_run("relgrad", "direct", "trunc", 7, 40009, q); /* divided by 7, in this order */
    check_run("relgrad", "group-scatter:2", "trunc", 6, 40009, q);
    static const size_t sizes[] = {1, 7, 8, 1001, 4099};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int s = 0; s < 3; s++) {
            static const char *const sums[] = {"trunc", "nearest", "exact"};
            check_run("relgrad:eps=0.001", "direct", sums[s], 8, sizes[i], q);
            check_run("relgrad", "direct", sums[s], 7, sizes[i], q / 3);
            check_run("relgrad", "group-scatter:3", sums[s], 6, sizes[i], q);
            check_run("relgrad", "group-scatter:8", sums[s], 8, sizes[i], q * 100);
            check_run("relgrad", "group-scatter:1", sums[s], 5, sizes[i], q);
            check_run("relgrad", "self", sums[s], 1, sizes[i], q);
            check_run("relgrad:of=gradient", "group-scatter:4", sums[s], 8, sizes[i], 1e-3f);
            check_run("relgrad", "group-scatter:2", sums[s], 8, sizes[i], 0);
        }
    DONE();
}
