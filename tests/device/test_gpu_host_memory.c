/* test_gpu_host_memory.c : kernels must not read or add to host memory, which is slow. They may
 * only mark final gradients there. Needs the emulator: EMU_HOST, EMU_LOG. */
#include "gpu_fixture.h"
#include "gpu_models.h"
#include "nn/data/feed.h"
#include "nn/optim/optim.h"
#include "nn/round/round_ops.h"
#include "vec/list/vec_counts.h"
#include "vec/gpu/vec_cuda.h"
#include "vec/list/vec_levels.h"
#include "vec/list/vec_ratio.h"
#include "vec/list/vec_signs.h"
#include <unistd.h>

enum { BATCH = 4, STEPS = 4, LINE = 256 };

static char log_path[] = "/tmp/narrowcast_host.XXXXXX";

static int check_log(const char *what)
{
    static long from;
    FILE *f = fopen(log_path, "r");
    char line[LINE], how[16], kernel[64];
    int n_marks = 0, n_allocs = 0;
    if (!f || fseek(f, from, SEEK_SET))
        exit(1);
    while (fgets(line, sizeof line, f)) {
        n_allocs += strncmp(line, "host alloc", 10) == 0;
        if (sscanf(line, "host %15s %63s", how, kernel) != 2 || !strcmp(how, "alloc"))
            continue;
        const bool mark = !strcmp(how, "write") && !strcmp(kernel, "k_signal");
        CHECK(mark, "%s: %s", what, line);
        n_marks += mark;
    }
    from = ftell(f);
    fclose(f);
    printf("%s: %d allocations of the host's, %d marks\n", what, n_allocs, n_marks);
    return n_marks;
}

static void hear(void *ctx, int first, int n)
{
    *(int *)ctx += first < 0 ? 0 : n;
}

/* Rates, labels and keys change between steps; later steps are played. */
static void train(const char *what, struct nn_model *m, struct nn_shape in)
{
    const struct optim_options options = {.kind = OPTIM_lars, .momentum = 0.9, .trust = 0.01};
    struct images d = images_open(in, BATCH);
    const struct nn_target target = nn_model_target(m);
    int32_t *labels = calloc((size_t)BATCH * (size_t)target.n, sizeof *labels),
            lengths[BATCH] = {in.h, in.h, in.h - 1, in.h - 2};
    size_t n;
    real *w = nn_model_weights(m, &n);
    struct optim *o;
    int told = 0;
    if (!labels || optim_open(&nn_cuda, nn_model_ctx(m), &options, m->params, m->n_params, n, &o))
        exit(1);
    for (int step = 0; step < STEPS; step++) {
        const bool tells = step >= STEPS / 2;
        for (int i = 0; i < BATCH * target.n; i++)
            labels[i] = 1 + (i + step) % (CLASSES - 1);
        const struct nn_batch b = {.n = BATCH, .x = d.x, .labels = labels, .lengths = lengths};
        nn_model_watch(m, step == 1);
        const struct nn_result r =
            nn_model_train(m, &b, (uint64_t)step, tells ? hear : NULL, &told);
        CHECK(r.loss_sum > 0, "%s: a loss of %g", what, r.loss_sum);
        optim_step(o, w, nn_model_grads(m), 0.1 / (1 + step));
        nn_model_loss_scale_update(m, true);
    }
    const struct nn_batch b = {.n = BATCH, .x = d.x, .labels = labels, .lengths = lengths};
    CHECK(nn_model_eval(m, &b).loss_sum > 0, "%s: an evaluation", what);
    CHECK(nn_model_failed(m) == 0 && told == STEPS / 2 * m->n_params, "%s: told of %d", what, told);
    optim_close(o);
    nn_model_close(m);
    images_close(&d);
    free(labels);
    CHECK(check_log(what) > 0, "%s: no mark was seen, so nothing was", what);
}

static void check_network(const char *name, struct nn_shape in, const struct nn_setup *setup)
{
    char what[64];
    snprintf(what, sizeof what, "%s, math %d%s", name, setup ? (int)setup->math : 0,
             setup && setup->adaptive ? ", layers' own scales" : "");
    train(what, model_open(&nn_cuda, setup, name, in, BATCH), in);
}

static void check_sequences(const char *what, const struct loss_kind *loss)
{
    const struct nn_shape in = {9, 1, 6};
    struct nn_model *m = malloc(sizeof *m);
    if (!m || graph_init(m, &nn_cuda, in, BATCH) < 0)
        exit(1);
    graph_scale_open(m, NULL);
    const int x = graph_lstm(m, 0, "lstm", 8, 4);
    graph_head(m, graph_conv(m, x, "classifier", CLASSES, 1, 1, 0, true), loss, 1);
    if (nn_cuda.open(NULL, &m->ctx) < 0 || graph_plan(m, 4) < 0)
        exit(1);
    train(what, m, in);
}

static void check_feed(void)
{
    const struct dataset_augment augment = {.how = {.crop = 3, .flip = 1, .cutout = 5}, .seed = 7};
    struct dataset *data;
    struct nn_model *m;
    struct feed *f;
    uint32_t order[40];
    if (dataset_open("synthetic:40,5", 0, &data) ||
        nn_model_open(&nn_cuda, NULL, "mlp", (struct nn_shape){data->h, data->w, data->c},
                      data->n_classes, BATCH, 1, &m) ||
        feed_open(m, data, &augment, BATCH, &f))
        exit(1);
    dataset_order(2, 9, 40, order);
    feed_next(f, 0, order, BATCH);
    for (int step = 0; step < STEPS; step++) {
        feed_next(f, 0, order + BATCH * (step + 1), BATCH);
        CHECK(feed_train(f, 3, NULL, NULL).loss_sum > 0, "a batch of bytes");
    }
    feed_close(f);
    nn_model_close(m);
    dataset_close(data);
    check_log("a feed of bytes");
}

enum { N = 3000, PARTS = 70, SPANS = 3 };

static void check_vectors(void)
{
    const struct vec_ops *v = vec_cuda_device();
    const struct vec_cast cast = {.fmt = {5, 2, 0}, .key = 3};
    const struct vec_sum exact = {
        .rule = VEC_EXACT, .in = cast.fmt, .out = cast.fmt, .n_ranks = PARTS};
    const struct vec_sum nearest = {.rule = VEC_NEAREST, .in = cast.fmt, .out = cast.fmt};
    float *x = v->alloc_floats(N * sizeof *x), *y = v->alloc_floats(N * sizeof *y);
    uint8_t *codes = v->alloc(4 * N), *part = v->alloc(4 * N);
    const uint8_t *parts[PARTS];
    struct vec_span spans[SPANS];
    struct vec_out outs[SPANS];
    if (!x || !y || !codes || !part)
        exit(1);
    for (int i = 0; i < SPANS; i++) {
        spans[i] = (struct vec_span){
            .x = x + i * 1000, .codes = codes + i * 1000, .n = 1000, .padded = 1000, .shift = 10};
        outs[i] = (struct vec_out){.x = y + i * 1000, .codes = codes + i * 1000, .n = 1000};
    }
    for (int p = 0; p < PARTS; p++)
        parts[p] = part;
    v->absmax_all(v, spans, SPANS);
    v->encode_all(v, &cast, spans, SPANS);
    v->scan_encode_all(v, &cast, spans, SPANS);
    v->decode_all(v, cast.fmt, outs, SPANS, 4);
    v->sum(&exact, parts, 8, N, cast.fmt, 0, codes);
    v->sum(&exact, parts, PARTS, N, cast.fmt, 0, codes);
    v->sum(&nearest, parts, 3, N, cast.fmt, 0, codes);
    v->peak(cast.fmt, codes, N);
    check_log("casts, sums");

    const struct levels_rule levels = {.scheme = {4, 0}, .bucket = 64};
    const struct draw_span draw = {
        .x = x, .codes = part, .n = N, .padded = N, .scale = 1, .clip = 2};
    v->level_lists->encode(v, &levels, spans, 1);
    v->level_lists->decode(v, &levels, outs, 1, 2);
    v->level_lists->sum(v, &levels, parts, 3, spans, 1, codes);
    v->level_lists->clipped(v, 2.5f, spans, SPANS);
    v->level_lists->draw(v, &draw, 1);
    check_log("levels");

    struct signs_span signs = {.x = x, .codes = codes, .n = N, .padded = N, .rule = {64, 1}};
    const struct signs_out means = {.x = y, .codes = codes, .n = N, .rule = {64, 1}};
    v->sign_lists->encode(v, &signs, 1, true);
    v->sign_lists->decode(v, &means, 1, 2);
    v->sign_lists->sum(v, parts, 3, &signs, 1, codes);
    check_log("signs");

    const struct counts_rule counts = {.n_ranks = 3, .bits = 4};
    const struct counts_out counted = {.x = y, .codes = codes, .n = N, .max = 1};
    v->counts->sum(&counts, parts, 3, N, codes);
    v->counts->decode(&counts, &counted, 1);
    check_log("counts");

    const struct relative_rule rule = {.eps = 1e-3f, .share = 2, .samples = 100};
    const struct relative_part with[SPANS] = {{.rank = 50}, {.rank = 50}, {.rank = 50}};
    v->ratio_lists->quantile(v, &rule, spans, with, SPANS);
    v->ratio_lists->encode(v, &rule, &cast, spans, with, SPANS, true);
    v->ratio_lists->decode(v, &rule, cast.fmt, outs, with, SPANS, 2);
    v->ratio_lists->divide(v, &cast, codes, N, 3);
    check_log("multiples of a quantile");
    CHECK(gpu_failed() == 0, "a launch failed");
    v->free_floats(x), v->free_floats(y), v->free(codes), v->free(part);
}

int main(void)
{
    const int file = mkstemp(log_path);
    if (file < 0 || close(file) || setenv("EMU_LOG", log_path, 1) || setenv("EMU_HOST", "1", 1))
        return 1;
    gpu_fixture_choose();
    nn_cpu_threads(1);
    if (gpu_open(0) < 0)
        return 1;
    if (strcmp(gpu_info()->name, "emulated")) {
        unlink(log_path);
        SKIP("a real GPU does not tell what its kernels read");
    }
#ifndef __x86_64__
    unlink(log_path);
    SKIP("faults of this processor do not say what they are");
#endif
    struct scale_choice scales;
    if (scale_spec("adaptive:1e-3,2", &scales) < 0)
        return 1;
    scale_format(&scales.adaptive.rule, mf_half());
    const struct nn_setup fp16 = {.math = NN_FP16, .loss_scale = 64, .watched = true},
                          adaptive = {.math = NN_FP16, .adaptive = &scales.adaptive},
                          pure = {.math = NN_FP16_PURE};
    puts("seeds: images 1, weights 4 1, data 5, order 2, augmentation 7");
    check_network("kinds", (struct nn_shape){12, 11, 3}, NULL);
    check_network("kinds", (struct nn_shape){12, 11, 3}, &fp16);
    check_network("kinds", (struct nn_shape){12, 11, 3}, &adaptive);
    check_network("branches", (struct nn_shape){9, 10, 3}, &pure);
    check_network("gpt", (struct nn_shape){9, 1, 7}, &fp16);
    check_sequences("transcripts", &loss_ctc);
    check_sequences("a label each step", &loss_dense);
    check_feed();
    check_vectors();
    gpu_close();
    unlink(log_path);
    DONE();
}
