/* test_codec_ternary_mpi.c : compares TernGrad through the reducer with plain loops. */
/* RANKS: 1 4 6 LONG: 2 */
#include "codec_refused.h"
#include "check.h"
#include "codec/codec_kind.h"
#include "hls/arith/philox.h"
#include "open_reducer.h"
#include "vec/list/vec_levels.h"
#include <math.h>
#include <string.h>

enum { N_LAYERS = 7, N_MAX = 90001, MAX_RANKS = 6, SEED = 3, N_DRAWS = 4000 };
static const size_t sizes[N_LAYERS] = {600, 9, 1, 40, 257, N_MAX, 64};

static struct {
    struct comm *c;
    const char *word;
    int n_ranks, rank;
    float *all[MAX_RANKS][N_LAYERS], *got[N_LAYERS], *want[N_LAYERS];
    float clip[MAX_RANKS][N_LAYERS], max[N_LAYERS];
} t;

static void make_grads(void)
{
    static const double scale[N_LAYERS] = {1, 0, 0.3, 0x1p-140, 0x1p126, 1e-3, 5};
    for (uint32_t l = 0; l < N_LAYERS; l++) {
        t.got[l] = floats(sizes[l]);
        t.want[l] = floats(sizes[l]);
        for (uint32_t r = 0; r < (uint32_t)t.n_ranks; r++) {
            const uint64_t key = philox_key(SEED, l, r, 0, 9);
            t.all[r][l] = floats(sizes[l]);
            for (size_t i = 0; i < sizes[l]; i++) {
                const double u = (double)(int32_t)philox_u32(key, i) * 0x1p-31;
                t.all[r][l][i] = (float)(scale[l] * u * u * u * u * u * (1 + r) / t.n_ranks);
            }
        }
    }
}

/* Clips at `times` standard deviations, accurate to some ulps; the largest code shows the exact
 * limit. */
static void work_out_scales(const char *word, double times)
{
    t.word = word;
    for (int l = 0; l < N_LAYERS; l++) {
        t.max[l] = 0;
        for (int r = 0; r < t.n_ranks; r++) {
            double squares = 0, max = 0;
            for (size_t i = 0; i < sizes[l]; i++) {
                const double x = (double)t.all[r][l][i];
                squares += x * x;
                max = fmax(max, fabs(x));
            }
            const double clip = times * sqrt(squares / (double)sizes[l]);
            struct vec_span span = {.x = t.all[r][l], .n = sizes[l]};
            struct codec codec;
            if (codec_parse(&(struct codec_spec){.codec = word}, &codec) < 0)
                exit(1);
            codec_absmax_all(&codec, &span, NULL, 1);
            memcpy(&t.clip[r][l], &span.absmax, sizeof(float));
            CHECK(fabs((double)t.clip[r][l] - fmin(clip, max)) <= 1e-5 * fmin(clip, max) + 0x1p-149,
                  "%s, layer %d: clipped at %g, want %g", word, l, (double)t.clip[r][l],
                  fmin(clip, max));
            t.max[l] = fmaxf(t.max[l], t.clip[r][l]);
        }
    }
}

static void work_out(uint32_t step)
{
    for (uint32_t l = 0; l < N_LAYERS; l++) {
        const struct level_grid grid = level_grid_of((struct level_scheme){2, 0}, t.max[l]);
        for (size_t i = 0; i < sizes[l]; i++) {
            int sum = 0;
            for (uint32_t r = 0; r < (uint32_t)t.n_ranks; r++) {
                const float x = t.all[r][l][i], size = fminf(fabsf(x), t.clip[r][l]);
                const uint64_t key = philox_key(SEED, step, l, r, 0x63617374);
                const uint32_t up = level_code_sign(2, grid, size, 0, philox_u32(key, i));
                sum += x < 0 ? -(int)up : (int)up;
            }
            t.want[l][i] = (float)sum / (float)t.n_ranks * t.max[l];
        }
    }
}

static struct reducer *open_reducer(const char *algo_word, size_t bucket_bytes, bool overlap)
{
    const struct reducer_words words = {{.codec = t.word}, algo_word, bucket_bytes, overlap, SEED};
    struct reducer_layer layers[N_LAYERS];
    for (int l = 0; l < N_LAYERS; l++)
        layers[l] = (struct reducer_layer){.name = "layer", .n = sizes[l]};
    return open_reducer_of(t.c, &words, layers, N_LAYERS, NULL);
}

static struct reducer_step run(struct reducer *r, uint32_t step)
{
    struct reducer_step report = {.skipped = true};
    for (int l = 0; l < N_LAYERS; l++)
        memcpy(t.got[l], t.all[t.rank][l], sizes[l] * sizeof(float));
    CHECK(reducer_run(r, step, t.got, &report) == 0 && !report.skipped, "step %u", step);
    return report;
}

static void check_run(const char *algo, size_t bucket_bytes, bool overlap)
{
    struct reducer *r = open_reducer(algo, bucket_bytes, overlap);
    uint64_t bytes = 0;
    for (int l = 0; l < N_LAYERS; l++)
        bytes += (sizes[l] + 7) / 8 * 2;
    for (uint32_t step = 0; step < 3; step++) {
        const struct reducer_step report = run(r, step);
        CHECK(report.code_bytes == bytes, "%llu bytes", (unsigned long long)report.code_bytes);
        work_out(step);
        for (int l = 0; l < N_LAYERS; l++)
            for (size_t i = 0; i < sizes[l]; i++)
                CHECK(memcmp(&t.got[l][i], &t.want[l][i], sizeof(float)) == 0,
                      "%s, %s, messages of %zu, overlap %d: step %u, layer %d: element %zu is %a, "
                      "want %a",
                      t.word, algo, bucket_bytes, overlap, step, l, i, (double)t.got[l][i],
                      (double)t.want[l][i]);
    }
    struct reducer_step report = {.skipped = false};
    if (t.rank == 0)
        t.got[6][3] = NAN;
    CHECK(reducer_run(r, 9, t.got, &report) == 0 && report.skipped, "a step with nan");
    reducer_close(r);
}

/* The samples' mean must be the clipped gradient, within five sigma. */
static void check_mean(void)
{
    enum { L = 0 };
    const struct level_grid grid = level_grid_of((struct level_scheme){2, 0}, t.max[L]);
    for (size_t i = 0; i < sizes[L]; i++) {
        const float size = fminf(fabsf(t.all[0][L][i]), t.clip[0][L]);
        const double p = (double)(size / t.max[L]);
        double ups = 0;
        for (uint32_t d = 0; d < N_DRAWS; d++)
            ups += level_code_sign(2, grid, size, 0, philox_u32(SEED + d, i));
        CHECK(fabs(ups / N_DRAWS - p) <= 5 * sqrt(p * (1 - p) / N_DRAWS) + 4.0 / N_DRAWS,
              "element %zu: %g, want %g", i, ups / N_DRAWS, p);
    }
}

static void check_refusals(void)
{
    static const char *const algos[] = {"ring", "group-master:1", "native"};
    check_refused("ternary", algos, sizeof algos / sizeof algos[0], t.n_ranks,
                  "need one of self direct group-scatter:K gather gather-sum");
}

int main(void)
{
    t.c = open_ranks(SEED, &t.n_ranks, &t.rank);
    make_grads();
    work_out_scales("ternary", 2.5);
    check_mean();
    if (t.rank == 0)
        check_refusals();
    check_run(t.n_ranks == 1 ? "self" : "direct", 1 << 20, false);
    check_run("direct", 300, true);
    check_run("gather", 5000, false);
    check_run("group-scatter:1", 1 << 20, false);
    if (t.n_ranks % 2 == 0)
        check_run("group-scatter:2", 2000, true);
    work_out_scales("ternary:clip=1.5", 1.5);
    check_run("direct", 300, true);
    comm_close(t.c);
    DONE();
}
