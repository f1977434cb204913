/* test_codec_nvfp4_mpi.c : compares NVFP4 through the reducer with plain loops, which add ranks in
 * the opposite order. */
/* RANKS: 1 3 8 LONG: 2 5 */
#include "base/bits.h"
#include "capture.h"
#include "codec_refused.h"
#include "check.h"
#include "hls/arith/block.h"
#include "hls/arith/philox.h"
#include "open_reducer.h"
#include <math.h>
#include <string.h>

enum { N_LAYERS = 7, N_MAX = 50001, MAX_RANKS = 8, SEED = 99, BLOCK = NVFP4_BLOCK, BYTES = 9 };
static const size_t sizes[N_LAYERS] = {600, 9, 1, 40, 257, N_MAX, 64};

static struct {
    struct comm *c;
    int n_ranks, rank;
    float *all[MAX_RANKS][N_LAYERS], *got[N_LAYERS], *want[N_LAYERS];
} t;

static size_t bytes_of(size_t n)
{
    return (n + BLOCK - 1) / BLOCK * BYTES;
}

/* Ranks' gradients differ by powers of two, and so do the scales of their blocks. */
static void make_grads(int step)
{
    static const float scale[N_LAYERS] = {1, 0, 0.3f, 0x1p-120f, 0x1p120f, 1e-3f, 5};
    for (uint32_t l = 0; l < N_LAYERS; l++)
        for (uint32_t r = 0; r < (uint32_t)t.n_ranks; r++) {
            const uint64_t key = philox_key(SEED, l, r, (uint32_t)step, 9);
            for (size_t i = 0; i < sizes[l]; i++) {
                const float u = (float)(int32_t)philox_u32(key, i) * 0x1p-31f;
                t.all[r][l][i] = scale[l] * u * u * u * ldexpf(1, -(int)r * (step + 1));
            }
        }
}

static float largest(uint32_t l)
{
    float max = 0;
    for (int r = 0; r < t.n_ranks; r++)
        for (size_t i = 0; i < sizes[l]; i++)
            max = fmaxf(max, fabsf(t.all[r][l][i]));
    return max;
}

/* Returns the smallest t with max <= 2688 * 2^t. */
static int tensor_exponent(float max)
{
    int e = -126;
    while (max > 0 && (double)max > ldexp(2688, e))
        e++;
    return max > 0 ? e : 0;
}

static void mean_of_block(uint8_t *const *words, size_t block, int e, float *mean)
{
    int64_t sums[BLOCK] = {0}, max = 0;
    for (int r = t.n_ranks; r-- > 0;) {
        const uint8_t *from = words[r] + block * BYTES;
        for (int i = 0; i < BLOCK; i++) {
            const uint32_t element = from[1 + i / 2] >> (i % 2 * 4) & 15;
            const float x = float_of(nvfp4_dec(element, nvfp4_one(from[0], block_num(1, 0))));
            sums[i] += (int64_t)ldexpf(x, 10);
        }
    }
    for (int i = 0; i < BLOCK; i++)
        max = llabs(sums[i]) > max ? llabs(sums[i]) : max;
    const struct mf_num ranks = block_num((uint32_t)t.n_ranks, 0);
    const uint32_t scale = nvfp4_scale(nvfp4_sum((uint32_t)max), ranks);
    for (int i = 0; i < BLOCK; i++) {
        const uint32_t word =
            nvfp4_enc(nvfp4_sum((uint32_t)(int32_t)sums[i]), nvfp4_one(scale, ranks));
        mean[i] = float_of(nvfp4_dec(word, nvfp4_one(scale, block_num(1, e))));
    }
}

static void settle(struct codec *c, int n_ranks)
{
    if (codec_parse(&(struct codec_spec){.codec = "nvfp4"}, c) ||
        codec_settle(c, n_ranks, &(struct codec_adder){.name = "test"}))
        exit(1);
}

static void work_out(void)
{
    uint8_t *words[MAX_RANKS];
    struct codec c;
    settle(&c, t.n_ranks);
    for (int r = 0; r < t.n_ranks; r++)
        words[r] = malloc(bytes_of(N_MAX));
    for (uint32_t l = 0; l < N_LAYERS; l++) {
        const int e = tensor_exponent(largest(l));
        for (int r = 0; r < t.n_ranks; r++)
            codec_encode(&c, 0, l, 0, t.all[r][l], sizes[l], -e, words[r]);
        if (t.n_ranks == 1) /* a mean of one rank is that rank's words */
            codec_decode(&c, words[0], sizes[l], -e, t.want[l]);
        for (size_t i = 0; i < sizes[l] && t.n_ranks > 1; i += BLOCK) {
            float mean[BLOCK];
            const size_t n = sizes[l] - i < BLOCK ? sizes[l] - i : BLOCK;
            mean_of_block(words, i / BLOCK, e, mean);
            memcpy(t.want[l] + i, mean, n * sizeof(float));
        }
    }
    for (int r = 0; r < t.n_ranks; r++)
        free(words[r]);
}

/* In the second step, guessed exponents are wrong. */
static void check_run(const char *algo, size_t bucket_bytes, bool overlap)
{
    const struct reducer_words words = {{.codec = "nvfp4"}, algo, bucket_bytes, overlap, SEED};
    struct reducer_layer layers[N_LAYERS];
    struct reducer_step report;
    uint64_t bytes = 0;
    for (int l = 0; l < N_LAYERS; l++) {
        layers[l] = (struct reducer_layer){.name = "layer", .n = sizes[l]};
        bytes += bytes_of(sizes[l]);
    }
    struct reducer *r = open_reducer_of(t.c, &words, layers, N_LAYERS, NULL);
    for (int step = 0; step < 3; step++) {
        make_grads(step % 2);
        work_out();
        for (int l = 0; l < N_LAYERS; l++)
            memcpy(t.got[l], t.all[t.rank][l], sizes[l] * sizeof(float));
        CHECK(reducer_run(r, (uint32_t)step, t.got, &report) == 0 && !report.skipped, "%s", algo);
        CHECK(report.code_bytes == bytes, "%llu bytes", (unsigned long long)report.code_bytes);
        for (int l = 0; l < N_LAYERS; l++)
            CHECK(memcmp(t.got[l], t.want[l], sizes[l] * sizeof(float)) == 0,
                  "%s, messages of %zu, overlap %d: step %d, layer %d is not the mean", algo,
                  bucket_bytes, overlap, step, l);
    }
    if (t.rank == t.n_ranks - 1)
        t.got[5][100] = NAN, t.got[0][3] = -INFINITY;
    CHECK(reducer_run(r, 9, t.got, &report) == 0 && report.skipped, "a step with nan");
    reducer_close(r);
}

static void check_sums(void)
{
    uint8_t words[BYTES];
    float x[BLOCK], mean[BLOCK], sum[BLOCK];
    struct codec c;
    settle(&c, 780);
    for (int i = 0; i < BLOCK; i++)
        x[i] = (float)i - 7.3f;
    codec_encode(&c, 0, 0, 0, x, BLOCK, 3, words);
    codec_decode(&c, words, BLOCK, 3, mean);
    CHECK(codec_set_sums(&c) == 0, "gives no sums");
    codec_decode(&c, words, BLOCK, 3, sum);
    for (int i = 0; i < BLOCK; i++)
        CHECK(sum[i] == mean[i] * 780 && fabsf(mean[i] - x[i]) < 1.4f, "%g, %g", (double)sum[i],
              (double)mean[i]);
}

static void check_refusals(void)
{
    static const char *const algos[] = {"ring", "group-master:1", "group-scatter:1", "native"};
    check_refused("nvfp4", algos, sizeof algos / sizeof algos[0], t.n_ranks,
                  "cannot add codec \"nvfp4\": need one of self direct gather gather-sum");
    const struct vec_ops gpu = {.name = "as on a GPU"};
    struct capture capture;
    struct codec c;
    settle(&c, 2);
    c.ops = &gpu;
    capture_begin(&capture);
    const int rc = codec_settle(&c, 2, &(struct codec_adder){.name = "test"});
    const char *text = capture_end(&capture);
    CHECK(rc == -EINVAL && strstr(text, "codec \"nvfp4\" has no kernels for GPUs: need --device"),
          "%d, \"%s\"", rc, text);
}

int main(void)
{
    t.c = open_ranks(SEED, &t.n_ranks, &t.rank);
    for (uint32_t l = 0; l < N_LAYERS; l++) {
        t.want[l] = floats(sizes[l]), t.got[l] = floats(sizes[l]);
        for (int r = 0; r < t.n_ranks; r++)
            t.all[r][l] = floats(sizes[l]);
    }
    if (t.rank == 0)
        check_refusals(), check_sums();
    check_run(t.n_ranks == 1 ? "self" : "direct", 1 << 20, false);
    check_run("direct", 300, true);
    check_run("gather", 5000, false);
    check_run("gather-sum", 20000, false);
    comm_close(t.c);
    DONE();
}
