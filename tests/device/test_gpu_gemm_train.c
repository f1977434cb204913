/* test_gpu_gemm_train.c : conv2d, linear and training steps with --gemm, also with --quant, have
 * nn_cpu's bits on the GPU. The first rule with all convolutions, the others with a third of them
 * each, with `long` with all. */
#include "gpu_layers.h"
#include "gpu_models.h"
#include "nn/round/round_ops.h"
#include <string.h>

static const struct gemm_rule rules[] = {
    {{5, 2, 0}, MF_SATURATE, false}, {{4, 3, 1}, MF_SATURATE, true}, {{3, 2, 0}, MF_INF, false},
    {{5, 10, 0}, MF_INF, true},      {{8, 17, 0}, MF_INF, false},
};
enum { RULES = sizeof rules / sizeof *rules };
static struct {
    bool all;
    int rule, n_windows;
} turn;

static void use(struct layers *g, const struct gemm_rule *rule)
{
    const struct nn_setup setup = {.gemm = rule};
    layers_math(g, NN_FP32);
    nn_cpu.close(g->cpu);
    if (g->nn->gemm(g->d, rule) < 0 || nn_cpu.open(&setup, &g->cpu) < 0)
        exit(1);
}

static float *nans(size_t n)
{
    float *x = layers_memory(n * sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = NAN;
    return x;
}

enum data_gradient { NO_DX, DX, DX_ADDED };

struct conv_case {
    struct nn_window g;
    int batch;
    size_t n_x, n_y, n_w;
    bool bias;
    enum data_gradient dx;
};

struct tensors {
    float *x, *w, *bias, *dy, *y, *dx, *dw, *dbias;
    void *scratch;
};

static void pass(const struct conv_case *c, struct layers *g, const struct tensors *t)
{
    const bool add = c->dx == DX_ADDED;
    float *bias = c->bias ? t->bias : NULL, *dbias = c->bias ? t->dbias : NULL,
          *dx = c->dx == NO_DX ? NULL : t->dx;
    CHECK(g->nn->conv_forward(g->d, &c->g, c->batch, t->x, t->w, bias, t->y, t->scratch) == 0,
          "forward");
    CHECK(g->nn->conv_backward(g->d, &c->g, c->batch, t->x, t->w, t->dy, dx, add, t->dw, dbias,
                               t->scratch) == 0,
          "backward");
}

static void pass_cpu(const struct conv_case *c, struct layers *g, const struct tensors *t)
{
    const bool add = c->dx == DX_ADDED;
    float *bias = c->bias ? t->bias : NULL, *dbias = c->bias ? t->dbias : NULL,
          *dx = c->dx == NO_DX ? NULL : t->dx;
    nn_cpu.conv_forward(g->cpu, &c->g, c->batch, t->x, t->w, bias, t->y, t->scratch);
    nn_cpu.conv_backward(g->cpu, &c->g, c->batch, t->x, t->w, t->dy, dx, add, t->dw, dbias,
                         t->scratch);
}

static void compare(struct layers *g, const struct conv_case *c, const struct tensors *cpu,
                    const struct tensors *gpu)
{
    const size_t n_bias = (size_t)c->g.out.c;
    char name[96];
    snprintf(name, sizeof name,
             "conv %dx%dx%dx%d -> %d, k %d, stride %d, pad %d, groups %d, way %d: ", c->batch,
             c->g.in.h, c->g.in.w, c->g.in.c, c->g.out.c, c->g.k, c->g.stride, c->g.pad,
             c->g.groups, (int)c->dx);
    const size_t end = strlen(name), left = sizeof name - end;
    snprintf(name + end, left, "y");
    layers_same_floats(g, name, layers_get(g, gpu->y, c->n_y), cpu->y, c->n_y);
    snprintf(name + end, left, "dw");
    layers_same_floats(g, name, layers_get_float(g, gpu->dw), cpu->dw, c->n_w);
    snprintf(name + end, left, "dx");
    layers_same_floats(g, name, layers_get(g, gpu->dx, c->n_x), cpu->dx, c->n_x);
    snprintf(name + end, left, "dbias");
    layers_same_floats(g, name, layers_get_float(g, gpu->dbias), cpu->dbias, n_bias);
}

static void check_case(struct layers *g, const struct conv_case *c, size_t scratch_bytes,
                       bool as_graph)
{
    const size_t n_bias = (size_t)c->g.out.c;
    struct dev_graph *graph = NULL;
    size_t bytes;
    if (nn_cpu.conv_plan(g->cpu, &c->g, true, true, c->batch, &bytes) < 0)
        exit(1);
    struct tensors cpu = {.x = layers_random(g, c->n_x),
                          .w = layers_random(g, c->n_w),
                          .scratch = layers_memory(bytes)};
    cpu.bias = layers_random(g, n_bias), cpu.dy = layers_random(g, c->n_y), cpu.y = nans(c->n_y);
    cpu.dx = c->dx == DX_ADDED ? layers_random(g, c->n_x) : nans(c->n_x);
    cpu.dw = nans(c->n_w), cpu.dbias = nans(n_bias);
    char *junk = layers_memory(scratch_bytes);
    memset(junk, 0xff, scratch_bytes); /* nan shows reads before the first write */
    const struct tensors gpu = {
        .x = layers_put(g, cpu.x, c->n_x),
        .w = layers_put_float(g, cpu.w, c->n_w),
        .bias = layers_put_float(g, cpu.bias, n_bias),
        .dy = layers_put(g, cpu.dy, c->n_y),
        .y = layers_put(g, cpu.y, c->n_y),
        .dx = layers_put(g, cpu.dx, c->n_x),
        .dw = layers_put_float(g, cpu.dw, c->n_w),
        .dbias = layers_put_float(g, cpu.dbias, n_bias),
        .scratch = layers_hold(g, junk, 0, scratch_bytes),
    };
    pass_cpu(c, g, &cpu);
    CHECK(!as_graph || g->run->graph_begin(g->s) == 0, "graph");
    pass(c, g, &gpu);
    if (as_graph && (g->run->graph_end(g->s, &graph) < 0 || g->run->graph_launch(graph, g->s) < 0))
        exit(1);
    compare(g, c, &cpu, &gpu);
    free(layers_fetch(g, gpu.scratch)); /* checks its guard bytes */
    if (graph)
        g->run->graph_close(graph);
    layers_drop(g);
    free(cpu.x), free(cpu.w), free(cpu.bias), free(cpu.dy), free(cpu.y), free(cpu.dx), free(cpu.dw),
        free(cpu.dbias);
    free(cpu.scratch), free(junk);
}

/* Ways 0 to 2 with max_batch images, way 3 with one. */
static void check_window(struct layers *g, struct nn_window window, int max_batch, int first_way,
                         int n_ways)
{
    const struct nn_shape in = window.in, out = window.out;
    struct conv_case c = {.g = window,
                          .n_w = (size_t)(out.c * window.k * window.k * (in.c / window.groups))};
    size_t bytes;
    if ((turn.n_windows++ + turn.rule) % 3 != 0 && turn.rule > 0 && !turn.all)
        return;
    CHECK(g->nn->conv_plan(g->d, &c.g, true, true, max_batch, &bytes) == 0, "plan");
    for (int way = first_way; way < first_way + n_ways; way++) {
        c.batch = way == 3 ? 1 : max_batch;
        c.n_x = (size_t)(c.batch * in.h * in.w * in.c),
        c.n_y = (size_t)(c.batch * out.h * out.w * out.c);
        c.bias = way % 2 == 0;
        c.dx = way == 3 ? DX : (enum data_gradient)way;
        g->skew = (size_t)way % 2;
        check_case(g, &c, bytes, way == 2);
    }
}

static void check_dilated(struct layers *g, struct nn_shape in, int out_c, int k, int stride,
                          int pad, int groups, int dilation)
{
    const int reach = (k - 1) * dilation + 1;
    const struct nn_shape out = {(in.h + 2 * pad - reach) / stride + 1,
                                 (in.w + 2 * pad - reach) / stride + 1, out_c};
    check_window(g, (struct nn_window){in, out, k, stride, pad, groups, 0, dilation}, 2, 0, 4);
}

static void check_groups(struct layers *g, struct nn_shape in, int out_c, int k, int stride,
                         int pad, int groups, int max_batch, int first_way, int n_ways)
{
    const struct nn_shape out = {(in.h + 2 * pad - k) / stride + 1,
                                 (in.w + 2 * pad - k) / stride + 1, out_c};
    check_window(g, (struct nn_window){in, out, k, stride, pad, groups, groups > 1 ? 40 : 0, 1},
                 max_batch, first_way, n_ways);
}

static void check_conv(struct layers *g, struct nn_shape in, int out_c, int k, int stride, int pad,
                       int max_batch, int first_way, int n_ways)
{
    check_groups(g, in, out_c, k, stride, pad, 1, max_batch, first_way, n_ways);
}

static void check_convs(struct layers *g)
{
    check_conv(g, (struct nn_shape){7, 6, 5}, 9, 3, 1, 0, 2, 0, 4);
    check_conv(g, (struct nn_shape){5, 6, 7}, 9, 1, 1, 0, 2, 0, 4);
    check_conv(g, (struct nn_shape){7, 7, 8}, 6, 1, 2, 0, 2, 0, 4);
    /* pad = k: rows of dy cannot give dx */
    check_conv(g, (struct nn_shape){4, 5, 3}, 4, 1, 1, 1, 2, 0, 4);
    check_conv(g, (struct nn_shape){9, 8, 3}, 8, 7, 2, 3, 2, 0, 4);
    check_groups(g, (struct nn_shape){7, 6, 10}, 8, 3, 1, 1, 2, 2, 0, 4);
    check_groups(g, (struct nn_shape){8, 7, 6}, 9, 5, 2, 2, 3, 2, 0, 4);
    check_dilated(g, (struct nn_shape){7, 6, 5}, 9, 3, 1, 2, 1, 2);
    check_dilated(g, (struct nn_shape){9, 8, 4}, 6, 3, 2, 2, 2, 3);
}

static void check_blocks(struct layers *g)
{
    /* 2 blocks, 3 when transposed */
    check_conv(g, (struct nn_shape){9, 8, 8}, 12, 5, 1, 2, 3, 0, 4);
    /* the first of 2 blocks ends within an image */
    check_conv(g, (struct nn_shape){15, 13, 8}, 8, 5, 2, 2, 4, 0, 4);
    /* 3 blocks of 40 pixels; the rule would give 24 */
    check_groups(g, (struct nn_shape){7, 6, 256}, 2, 3, 1, 1, 2, 2, 0, 4);
}

/* More blocks than there are partial sums; more pixels than a chunk of rows. */
static void check_chunks(struct layers *g)
{
    use(g, &rules[0]);
    check_conv(g, (struct nn_shape){7, 7, 512}, 512, 1, 1, 0, 3, 1, 1);
    check_conv(g, (struct nn_shape){128, 127, 1}, 2, 3, 2, 1, 17, 1, 1);
}

static void check_linear(struct layers *g, int batch, int in, int out, bool with_bias)
{
    const size_t n_x = (size_t)(batch * in), n_y = (size_t)(batch * out), n_w = (size_t)(in * out),
                 n_b = (size_t)out;
    float *x = layers_random(g, n_x), *w = layers_random(g, n_w), *b = layers_random(g, n_b);
    float *dy = layers_random(g, n_y);
    float *y = nans(n_y), *dx = nans(n_x), *dw = nans(n_w), *db = nans(n_b);
    void *gx = layers_put(g, x, n_x), *gdy = layers_put(g, dy, n_y), *gy = layers_put(g, y, n_y);
    float *gw = layers_put_float(g, w, n_w), *gb = layers_put_float(g, b, n_b),
          *gdw = layers_put_float(g, dw, n_w);
    float *gdb = layers_put_float(g, db, n_b);
    void *gdx = layers_put(g, dx, n_x);
    CHECK(g->nn->linear_forward(g->d, batch, in, out, gx, gw, with_bias ? gb : NULL, gy) == 0 &&
              g->nn->linear_backward(g->d, batch, in, out, gx, gw, gdy, with_bias ? gdx : NULL, gdw,
                                     with_bias ? gdb : NULL) == 0,
          "linear");
    nn_cpu.linear_forward(g->cpu, batch, in, out, x, w, with_bias ? b : NULL, y);
    nn_cpu.linear_backward(g->cpu, batch, in, out, x, w, dy, with_bias ? dx : NULL, dw,
                           with_bias ? db : NULL);
    layers_same_floats(g, "linear y", layers_get(g, gy, n_y), y, n_y);
    layers_same_floats(g, "linear dx", layers_get(g, gdx, n_x), dx, n_x);
    layers_same_floats(g, "linear dw", layers_get_float(g, gdw), dw, n_w);
    layers_same_floats(g, "linear dbias", layers_get_float(g, gdb), db, n_b);
    layers_drop(g);
    free(x), free(w), free(b), free(dy), free(y), free(dx), free(dw), free(db);
}

/* Rules need fp32 activations, no LSTM and no attention, and can be removed. */
static void check_rule(struct layers *g)
{
    const float x[] = {1.0f / 3, 1.0f / 7};
    const struct nn_attention attention = {4, 2, 3};
    const struct nn_lstm lstm = {.steps = 4, .in = 2, .cells = 3, .out = 2};
    size_t bytes;
    layers_math(g, NN_FP16);
    CHECK(g->nn->gemm(g->d, &rules[0]) == -EINVAL, "a rule for 16-bit activations was taken");
    CHECK(g->nn->gemm(g->d, NULL) == 0, "no rule was refused");
    use(g, &rules[0]);
    CHECK(g->nn->attention_plan(g->d, &attention, 1, &bytes) == -EINVAL, "attention by a rule");
    CHECK(g->nn->lstm_plan(g->d, &lstm, 1, &bytes) == -EINVAL, "an lstm by a rule");
    g->nn->gemm(g->d, NULL);
    CHECK(g->nn->attention_plan(g->d, &attention, 1, &bytes) == 0, "attention without a rule");
    float *gx = layers_put_float(g, x, 2), *y = layers_put_float(g, x, 1);
    CHECK(g->nn->linear_forward(g->d, 1, 2, 1, gx, gx, NULL, y) == 0, "linear");
    float *got = layers_get_float(g, y);
    CHECK(fabs((double)got[0] - (1.0 / 9 + 1.0 / 49)) < 1e-7, "without a rule: %g", (double)got[0]);
    free(got);
    layers_drop(g);
}

/* A loss for nn_cuda's table, computed by nn_cpu: exponentials may differ in the last bit. */
static void loss_on_cpu(void *ctx, int batch, int classes, double smoothing, const real *logits,
                        const int32_t *labels, real *dlogits, struct nn_result *result)
{
    const size_t n = (size_t)(batch * classes);
    real *z = layers_memory(n * sizeof *z), *dz = layers_memory(n * sizeof *dz);
    int32_t *of = layers_memory((size_t)batch * sizeof *of);
    struct nn_result found;
    void *cpu;
    if (nn_cpu.open(NULL, &cpu) < 0)
        exit(1);
    nn_cuda.download(ctx, z, logits, n * sizeof *z);
    nn_cuda.download(ctx, of, labels, (size_t)batch * sizeof *of);
    nn_cuda.download(ctx, &found, result, sizeof found);
    nn_cpu.softmax_loss(cpu, batch, classes, smoothing, z, of, dlogits ? dz : NULL, &found);
    nn_cuda.upload(ctx, result, &found, sizeof found);
    if (dlogits)
        nn_cuda.upload(ctx, dlogits, dz, n * sizeof *dz);
    nn_cpu.close(cpu);
    free(z), free(of), free(dz);
}

static void check_model(const char *name, int batch, const struct gemm_rule *rule,
                        const char *quant)
{
    const struct nn_shape in = {28, 28, 1};
    struct nn_ops ops = nn_cuda;
    ops.softmax_loss = loss_on_cpu;
    struct round_setup on_cpu = {.below = NULL}, on_gpu;
    const bool rounds = round_spec(quant, &on_cpu) == 1;
    on_gpu = on_cpu;
    on_cpu.below = &nn_cpu;
    on_gpu.below = &ops;
    const struct nn_setup setup = {.gemm = rule, .round = &on_cpu},
                          gpu_setup = {.gemm = rule, .round = &on_gpu};
    struct images d = images_open(in, batch);
    struct nn_model *cpu = model_open(rounds ? &nn_round : &nn_cpu, &setup, name, in, batch);
    struct nn_model *gpu = model_open(rounds ? &nn_round : &ops, &gpu_setup, name, in, batch + 1),
                    *own = model_open(&nn_cpu, NULL, name, in, batch);
    gpu->no_records = true;
    const struct answer a = answer_of(cpu, &d), b = answer_of(gpu, &d), c = answer_of(own, &d);
    CHECK(a.r.loss_sum == b.r.loss_sum && a.r.n_correct == b.r.n_correct,
          "%s: loss %.9g, on the cpu %.9g", name, b.r.loss_sum, a.r.loss_sum);
    for (int k = 0; k < cpu->n_params; k++) {
        const struct nn_param *p = &cpu->params[k];
        const size_t bytes = p->n * sizeof(real);
        CHECK(!memcmp(a.grads + p->offset, b.grads + p->offset, bytes),
              "%s: gradient of %s differs", name, p->name);
        CHECK(memcmp(a.grads + p->offset, c.grads + p->offset, bytes),
              "%s: gradient of %s knows no rule", name, p->name);
    }
    printf("%s, e%dm%d, quant %s: %d tensors of the gradient, loss %.6f\n", name, rule->fmt.e,
           rule->fmt.m, quant, cpu->n_params, a.r.loss_sum);
    free(a.grads), free(b.grads), free(c.grads);
    nn_model_close(cpu), nn_model_close(gpu), nn_model_close(own);
    images_close(&d);
}

/* Played steps have the bits of separate calls, including rounding. */
static void check_records(void)
{
    struct round_setup round;
    if (round_spec("act=e4m3,weight=e4m3,error=e5m2", &round) != 1)
        exit(1);
    round.below = &nn_cuda;
    const struct nn_setup setup = {.round = &round};
    const struct nn_shape in = {12, 11, 3};
    struct images d = images_open(in, 3);
    struct nn_model *m = model_open(&nn_round, &setup, "kinds", in, 3);
    const struct answer first = answer_of(m, &d);
    for (int i = 0; i < 2; i++) {
        const struct answer again = answer_of(m, &d);
        CHECK(again.r.loss_sum == first.r.loss_sum &&
                  !memcmp(again.grads, first.grads, m->n_weights * sizeof(real)),
              "a recorded step has other bits");
        free(again.grads);
    }
    CHECK(m->n_records == 1 && m->records[0].record && !m->no_records, "no step was recorded");
    free(first.grads);
    nn_model_close(m);
    images_close(&d);
}

int main(int argc, char **argv)
{
    turn.all = argc > 1 && !strcmp(argv[1], "long");
    setenv("NARROWCAST_CONV", "first", 0);
    struct layers g;
    layers_open(&g, 31);
    for (int r = 0; r < RULES; r++) {
        use(&g, &rules[r]);
        turn.rule = r;
        check_convs(&g);
        if (r % 2 == 0)
            check_blocks(&g);
        check_linear(&g, 1, 10, 3, true);
        check_linear(&g, 5, 70, 67, false);
        check_linear(&g, 33, 33, 17, true);
    }
    turn.rule = 0;
    check_chunks(&g);
    check_rule(&g);
    check_model("lenet5", 3, &rules[0], "none");
    check_model("lenet5", 2, &rules[3], "none");
    check_model("mlp", 5, &rules[1], "none");
    check_model("lenet5", 2, &rules[3], "act=e4m3,weight=e4m3,error=e5m10");
    check_model("mlp", 5, &rules[4], "act=e5m2,error=e6m9,overflow=inf");
    check_records();
    layers_close(&g);
    (void)layers_maths;
    DONE();
}
