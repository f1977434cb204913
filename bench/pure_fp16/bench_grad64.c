/* bench_grad64.c : compares dumped gradients with fp64's at the same weights and images, by layer.
 *
 * DIR is from `narrowcast train --dump-gradients DIR` with weights and the same options, without
 * dropout, --augment, --image and --micro. Prints means of |g - g64| / |g64| over steps and ranks.
 * */
#include "tests/lib/nn_double.h"
#include "base/err.h"
#include "base/opt/opt.h"
#include "bench/measure.h"
#include "nn/data/dataset.h"
#include "bench/codecs/dump.h"

struct options {
    const char *dir, *model, *block, *data;
    uint64_t batch, seed, train_samples;
};

#define AT(field) offsetof(struct options, field)
static const struct opt opts[] = {
    {"model", "NAME", "resnet8", "The option of the run that wrote DIR.", TEXT_AT(model)},
    {"block", "FORM", "plain", "The option of the run that wrote DIR.", TEXT_AT(block)},
    {"data", "SPEC", "synthetic", "The option of the run that wrote DIR.", TEXT_AT(data)},
    {"train-samples", "N", "0", "The option of the run that wrote DIR.",
     SIZE_AT(train_samples, 0, 1e9)},
    {"batch", "N", "120", "The option of the run that wrote DIR: images in a step, over all ranks.",
     SIZE_AT(batch, 1, 1 << 20)},
    {"seed", "N", "1", "The option of the run that wrote DIR.", SIZE_AT(seed, 0, 0)},
};

static const struct opt_command command = {
    .name = "bench_grad64",
    .args = "DIR",
    .alone = true,
    .min_args = 1,
    .max_args = 1,
    .about = "Compares the gradients that narrowcast train --dump-gradients DIR wrote with fp64 "
             "gradients of the same weights and images.",
    .opts = opts,
    .n_opts = sizeof opts / sizeof *opts,
};

struct bench {
    const struct options *o;
    struct dump dump;
    struct dataset *data;
    struct nn_model *model;
    int share;
    float *flat;               /* [n] of the dump */
    double *x;                 /* [share] images */
    int32_t *labels, *lengths; /* [share] */
    uint32_t *order;           /* [n_train] */
    double *l2;                /* [n_layers + 1] sums of relative errors; last: all */
};

static int open_bench(struct bench *b)
{
    const struct options *o = b->o;
    static struct nn_block block;
    const struct nn_setup setup = {.block = &block};
    TRY(dump_open(&b->dump, o->dir));
    TRY(dataset_open(o->data, o->train_samples, &b->data));
    if (b->data->samples != &sample_images)
        return ERR(-EINVAL, "--data %s: want images with one label each", o->data);
    TRY(nn_block_spec(o->block, &block));
    b->share = (int)(o->batch / (uint64_t)b->dump.n_ranks);
    if (b->share < 1 || o->batch % (uint64_t)b->dump.n_ranks || o->batch > b->data->n_train)
        return ERR(-EINVAL,
                   "--batch %llu: must be that of the dump: a multiple of its %d ranks, at most "
                   "%zu images",
                   (unsigned long long)o->batch, b->dump.n_ranks, b->data->n_train);
    const struct nn_shape shape = dataset_shape(b->data);
    TRY(nn_model_open(&nn_cpu, &setup, o->model, shape, b->data->n_classes, b->share, 1,
                      &b->model));
    if (b->dump.n != b->model->n_weights)
        return ERR(-EINVAL, "cannot use \"%s\": it has %zu weights, model '%s' has %zu", o->dir,
                   b->dump.n, o->model, b->model->n_weights);
    b->flat = buf_alloc(b->dump.n * sizeof *b->flat);
    b->x = buf_alloc(batch_elements(shape, b->share) * sizeof *b->x);
    b->labels = buf_alloc((size_t)b->share * sizeof *b->labels);
    b->lengths = buf_alloc((size_t)b->share * sizeof *b->lengths);
    b->order = buf_alloc(b->data->n_train * sizeof *b->order);
    b->l2 = buf_alloc(((size_t)b->dump.n_layers + 1) * sizeof *b->l2);
    return b->flat && b->x && b->labels && b->lengths && b->order && b->l2 ? 0 : -ENOMEM;
}

/* Add |flat - grads| / |grads| of n elements to *l2. */
static void judge(struct bench *b, size_t at, size_t n, double *l2)
{
    double error = 0, all = 0;
    for (size_t i = at; i < at + n; i++) {
        const double d = (double)b->flat[i] - b->model->grads[i];
        error += d * d;
        all += b->model->grads[i] * b->model->grads[i];
    }
    *l2 += all > 0 ? sqrt(error / all) : 0;
}

static int judge_rank(struct bench *b, uint64_t step, int rank)
{
    const uint64_t per_epoch = b->data->n_train / b->o->batch;
    const uint32_t *index =
        b->order + step % per_epoch * b->o->batch + (size_t)rank * (size_t)b->share;
    dataset_batch(b->data, false, index, b->share, NULL, b->x, b->labels, b->lengths);
    const struct nn_batch batch = {
        .n = b->share, .x = b->x, .labels = b->labels, .lengths = b->lengths};
    (void)nn_model_train(b->model, &batch, 0, NULL, NULL);
    TRY(dump_read_rank(&b->dump, step, rank, b->flat));
    for (int l = 0; l < b->dump.n_layers; l++)
        judge(b, b->dump.layers[l].offset, b->dump.layers[l].n, &b->l2[l]);
    judge(b, 0, b->dump.n, &b->l2[b->dump.n_layers]);
    return 0;
}

static int judge_step(struct bench *b, uint64_t step)
{
    const uint64_t per_epoch = b->data->n_train / b->o->batch;
    dataset_order(b->o->seed, step / per_epoch, b->data->n_train, b->order);
    TRY(dump_read_flat(&b->dump, step, "weights", b->flat));
    for (size_t i = 0; i < b->dump.n; i++)
        b->model->weights[i] = (double)b->flat[i];
    for (int rank = 0; rank < b->dump.n_ranks; rank++)
        TRY(judge_rank(b, step, rank));
    return 0;
}

static void print(const struct bench *b)
{
    const double n = (double)b->dump.n_steps * b->dump.n_ranks;
    puts("| layer | weights | L2 error, % |\n|---|---|---|");
    for (int l = 0; l < b->dump.n_layers; l++)
        printf("| %s | %zu | %.4f |\n", b->dump.layers[l].name, b->dump.layers[l].n,
               100 * b->l2[l] / n);
    printf("| all | %zu | %.4f |\n", b->dump.n, 100 * b->l2[b->dump.n_layers] / n);
}

static int run(struct bench *b)
{
    TRY(open_bench(b));
    for (uint64_t step = b->dump.first; step < b->dump.first + b->dump.n_steps; step++)
        TRY(judge_step(b, step));
    print(b);
    const double mean = b->l2[b->dump.n_layers] / ((double)b->dump.n_steps * b->dump.n_ranks);
    return mean < 0.5 ? 0
                      : ERR(-EINVAL,
                            "an error of %.0f %%: the options must be those of the run that wrote "
                            "\"%s\"",
                            100 * mean, b->o->dir);
}

static void bench_close(struct bench *b)
{
    free(b->flat), free(b->x), free(b->labels), free(b->lengths), free(b->order), free(b->l2);
    nn_model_close(b->model);
    dataset_close(b->data);
    dump_close(&b->dump);
}

int main(int argc, char **argv)
{
    struct options o = {0};
    struct opt_parsed parsed;
    const int done = measure_options(&command, argc, argv, &o, &parsed);
    if (done >= 0)
        return done;
    o.dir = parsed.args[0];
    nn_cpu_threads(1);
    struct bench b = {.o = &o};
    const int rc = run(&b);
    bench_close(&b);
    (void)check_bad; /* for tests */
    return rc < 0;
}
