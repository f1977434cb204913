/* test_gpu_pure.c : in pure fp16, the GPU's weights, gradients, velocities, statistics and
 * activations have 2 bytes; other allocations are named temporaries. Libraries add halves, except
 * the emulated cuDNN with badly aligned tensors, and cuBLAS in attention's scores. Needs the
 * emulator: EMU_LOG. */
#include "gpu_fixture.h"
#include "gpu_models.h"
#include "device/nn/dev_nn.h"
#include "nn/optim/optim.h"
#include "nn/round/round_ops.h"
#include <unistd.h>

enum {
    ALLOCATIONS = 4096,
    LINE = 256,
    BATCH = 4,
    OPTIM_SCRATCH = DEV_OPTIM_SCRATCH * sizeof(float)
};

static char log_path[] = "/tmp/narrowcast_pure.XXXXXX";

static struct {
    struct {
        void *p;
        size_t bytes;
    } live[ALLOCATIONS];
    int n_live, n_gemms, n_convs;
    /* adding in float, or with tensors of other types */
    int wide_gemms, wide_convs, wide_tensors;
} noted;

static void drop(const void *p)
{
    for (int i = 0; i < noted.n_live; i++)
        if (noted.live[i].p == p)
            noted.live[i] = noted.live[--noted.n_live];
}

static long read_log(long from)
{
    FILE *f = fopen(log_path, "r");
    char line[LINE], sums[16], tensors[16];
    void *p;
    size_t bytes;
    if (!f || fseek(f, from, SEEK_SET))
        exit(1);
    while (fgets(line, sizeof line, f)) {
        if (sscanf(line, "alloc %p %zu", &p, &bytes) == 2 && noted.n_live < ALLOCATIONS) {
            noted.live[noted.n_live].p = p;
            noted.live[noted.n_live++].bytes = bytes;
        } else if (sscanf(line, "free %p", &p) == 1) {
            drop(p);
        } else if (sscanf(line, "gemm %15s", sums) == 1) {
            noted.n_gemms++;
            noted.wide_gemms += strcmp(sums, "half") != 0;
        } else if (sscanf(line, "conv %15s %15s", sums, tensors) == 2) {
            noted.n_convs++;
            noted.wide_convs += strcmp(sums, "half") != 0;
            noted.wide_tensors += strcmp(tensors, "half") != 0;
        } else {
            CHECK(false, "the emulator notes: %s", line);
        }
    }
    from = ftell(f);
    fclose(f);
    return from;
}

/* Removes the allocation. Returns 1 if it is missing or has another size. */
static int known(const char *what, int i, const void *p, size_t bytes, bool say)
{
    int k = 0;
    while (k < noted.n_live && noted.live[k].p != p)
        k++;
    const size_t got = k < noted.n_live ? noted.live[k].bytes : 0;
    CHECK(!say || got == (bytes ? bytes : 1), "%s %d has %zu bytes, not %zu", what, i, got, bytes);
    drop(p);
    return got != (bytes ? bytes : 1);
}

static int some(const char *what, size_t bytes, bool say)
{
    for (int k = 0; k < noted.n_live; k++)
        if (noted.live[k].bytes == bytes) {
            noted.live[k] = noted.live[--noted.n_live];
            return 0;
        }
    CHECK(!say, "no allocation of %zu bytes, %s", bytes, what);
    return 1;
}

static int check_memory(const struct nn_model *m, const real *velocity, const real *sum, bool say)
{
    int bad = 0;
    bad += known("weights", 0, m->weights, 2 * m->n_weights, say);
    bad += known("gradients of weights", 0, m->own_grads, 2 * m->n_weights, say);
    bad += known("running statistics", 0, m->own_stats, 2 * m->n_stats, say);
    bad += known("velocities", 0, velocity, 2 * m->n_weights, say);
    bad += known("sums of micro-batches", 0, sum, 2 * m->n_weights, say);
    for (int i = 0; i < m->n_nodes; i++)
        bad += known("output of node", i, m->nodes[i].y,
                     2 * batch_elements(m->nodes[i].window.out, m->max_batch), say);
    for (int b = 0; b < m->n_buffers; b++)
        bad += known("gradient in buffer", b, m->buffers[b].p, 2 * m->buffers[b].n, say);
    /* wider: batch norm's means and 1/std; temporaries of passes */
    for (int i = 1; i < m->n_nodes; i++)
        if (m->nodes[i].kept && m->nodes[i].kind == &layer_batch_norm)
            bad += known("mean and 1/std of node", i, m->nodes[i].kept,
                         2 * sizeof(float) * (size_t)m->nodes[i].window.in.c, say);
    for (int i = 1; i < m->n_nodes; i++) {
        const size_t steps = (size_t)m->nodes[i].window.in.h, heads = (size_t)m->nodes[i].heads,
                     bytes = 2 * (size_t)m->max_batch * heads * steps * steps;
        if (m->nodes[i].kind == &layer_attention)
            bad += known("p of node", i, m->nodes[i].kept, (bytes + 63) / 64 * 64, say);
    }
    drop(m->scratch);
    bad += known("words of a pass", 0, m->words_block, m->words_all, say);
    bad +=
        some("the list of tensors", ((size_t)m->n_params + 1) * sizeof(struct optim_tensor), say);
    bad += some("the step's numbers", sizeof(struct optim_step), say);
    bad += some("cuBLAS's own", 32 << 20, say);
    bad += some("norms of LARS", ((size_t)m->n_params + 1) * OPTIM_SCRATCH, say);
    for (int k = 0; k < noted.n_live; k++)
        CHECK(!say, "%zu bytes that nobody knows", noted.live[k].bytes);
    return bad + noted.n_live;
}

/* Two micro-batches a step; the last steps are played. */
static int train(const char *name, struct nn_shape in, const struct nn_setup *setup, bool say)
{
    static long at;
    const struct optim_options o = {
        .kind = OPTIM_lars, .momentum = 0.9, .weight_decay = 0.01, .trust = 0.02, .bias_rate = 1};
    struct images d = images_open(in, BATCH);
    const struct nn_batch batch = {.n = BATCH, .x = d.x, .labels = d.labels};
    memset(&noted, 0, sizeof noted);
    struct nn_model *m = model_open(&nn_cuda, setup, name, in, BATCH);
    void *ctx = nn_model_ctx(m);
    struct optim *optim;
    size_t n = m->n_weights;
    if (optim_open(&nn_cuda, ctx, &o, m->params, m->n_params, n, &optim) < 0)
        exit(1);
    real *sum = nn_cuda.alloc(ctx, n * nn_cuda.weight_bytes(ctx));
    for (uint64_t step = 0; step < 3; step++) {
        const struct nn_result r = nn_model_train(m, &batch, step, NULL, NULL);
        CHECK(isfinite(r.loss_sum), "%s: loss %g", name, r.loss_sum);
        nn_cuda.add_divide(ctx, n, m->grads, NULL, 1, sum);
        (void)nn_model_train(m, &batch, step + 9, NULL, NULL);
        nn_cuda.add_divide(ctx, n, sum, m->grads, 2, m->grads);
        optim_step(optim, m->weights, m->grads, 0.1);
    }
    (void)nn_model_eval(m, &batch);
    CHECK(nn_model_failed(m) == 0 && m->n_records > 0, "%s: failed, or nothing was recorded", name);
    at = read_log(at);
    const int n_known = noted.n_live, bad = check_memory(m, optim_state(optim, 0), sum, say);
    printf("%-10s %d allocations, %d bad; %d gemms, %d add in float; %d convs, %d add in float\n",
           name, n_known, bad, noted.n_gemms, noted.wide_gemms, noted.n_convs, noted.wide_convs);
    nn_cuda.free(ctx, sum);
    optim_close(optim);
    nn_model_close(m);
    images_close(&d);
    at = read_log(at);
    return bad;
}

/* scales: of layers; NULL: one for all */
static void check_pure(const char *name, struct nn_shape in, const char *block,
                       const struct scale_setup *scales, bool lies_well)
{
    struct nn_block form;
    struct nn_setup setup = {.math = NN_FP16_PURE,
                             .scaled = true,
                             .loss_scale = scales ? 0 : 16,
                             .adaptive = scales,
                             .block = &form};
    CHECK(nn_block_spec(block, &form) == 0, "%s", block);
    (void)train(name, in, &setup, true);
    /* attention: one of two products forward, one of four backward */
    CHECK(strcmp(name, "gpt") ? noted.wide_gemms == 0
                              : noted.wide_gemms > 0 && 2 * noted.wide_gemms < noted.n_gemms,
          "%s: %d of %d products add in float", name, noted.wide_gemms, noted.n_gemms);
    CHECK(noted.n_gemms > 0, "%s: no products", name);
    CHECK(noted.wide_tensors == 0 && (noted.n_convs > 0 || !strcmp(name, "mlp")),
          "%s: %d of %d convolutions read or write others than halves", name, noted.wide_tensors,
          noted.n_convs);
    CHECK(lies_well ? noted.wide_convs == 0 : noted.wide_convs < noted.n_convs,
          "%s: %d of %d convolutions add in float", name, noted.wide_convs, noted.n_convs);
}

int main(void)
{
    const int file = mkstemp(log_path);
    if (file < 0 || close(file) || setenv("EMU_LOG", log_path, 1) ||
        setenv("NARROWCAST_CONV", "first", 1))
        return 1;
    gpu_fixture_choose();
    nn_cpu_threads(1);
    if (gpu_open(0) < 0)
        return 1;
    if (strcmp(gpu_info()->name, "emulated")) {
        unlink(log_path);
        SKIP("a real GPU does not tell what was asked of it");
    }
    check_pure("resnet8", (struct nn_shape){28, 28, 3}, "swap", NULL, true);
    check_pure("mlp", (struct nn_shape){28, 28, 1}, "plain", NULL, true);
    check_pure("kinds", (struct nn_shape){12, 11, 3}, "plain", NULL, false);
    check_pure("branches", (struct nn_shape){9, 10, 3}, "plain", NULL, false);
    check_pure("gpt", (struct nn_shape){9, 1, 7}, "plain", NULL, false);
    struct scale_choice c;
    CHECK(scale_spec("adaptive", &c) == 0, "adaptive");
    scale_format(&c.adaptive.rule, mf_half());
    check_pure("resnet8", (struct nn_shape){28, 28, 3}, "swap", &c.adaptive, true);
    const struct nn_setup mixed = {.math = NN_FP16, .loss_scale = 16};
    CHECK(train("lenet5", (struct nn_shape){28, 28, 1}, &mixed, false) > 5 && noted.wide_gemms > 0,
          "mixed precision passes");
    gpu_close();
    unlink(log_path);
    DONE();
}
