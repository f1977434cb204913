/* loss_class.c : computes softmax cross-entropy over classes. */
#include <math.h>
#include "nn/cpu/cpu_ops.h"
#include "nn/model_graph.h"

static void class_pass(struct nn_model *m, const struct node *node, int batch, real *dy,
                       struct nn_result *result)
{
    m->ops->softmax_loss(m->ctx, batch, node->window.out.c, dy ? m->loss.smoothing : 0, node->y,
                         m->words.labels, dy, result);
}

static struct nn_target class_target(const struct node *node)
{
    (void)node;
    return (struct nn_target){NN_CLASS, 1};
}

const struct loss_kind loss_class = {
    .name = "cross-entropy", .target = class_target, .smooths = true, .pass = class_pass};

static int n_before(int classes, const real *z, int label)
{
    int before = 0;
    for (int j = 0; j < classes; j++)
        if (!(j < label ? z[j] < z[label] : z[j] <= z[label]))
            before += z[j] > z[label] || z[j] == z[label] ? 1 : NN_TOP;
    return before;
}

static double smoothed(int classes, double smoothing, const real *z, real top, int label)
{
    double sum = 0;
    for (int j = 0; j < classes; j++)
        sum += (double)(z[j] - top);
    return (1 - smoothing) * (double)(z[label] - top) + smoothing * (sum / classes);
}

int cpu_softmax_row(int classes, double smoothing, const real *z, int label, int n, double k,
                    real *dz, struct nn_result *result)
{
    const double rest = smoothing / classes, own = 1 - smoothing + rest;
    real top = z[0];
    double sum = 0;
    for (int j = 1; j < classes; j++)
        top = z[j] > top ? z[j] : top;
    for (int j = 0; j < classes; j++)
        sum += exp((double)(z[j] - top));
    result->loss_sum += log(sum) - (smoothing > 0 ? smoothed(classes, smoothing, z, top, label)
                                                  : (double)(z[label] - top));
    const int place = n_before(classes, z, label);
    result->n_labels++;
    result->n_correct += place == 0;
    result->n_top += place < NN_TOP;
    for (int j = 0; dz && j < classes; j++) {
        double share = exp((double)(z[j] - top)) / sum;
        dz[j] = (real)((share - (j == label ? own : rest)) / n * k);
    }
    return place;
}

void cpu_softmax_loss(void *ctx, int batch, int classes, double smoothing, const real *logits,
                      const int32_t *labels, real *dlogits, struct nn_result *result)
{
    const double k = cpu_scale_of(ctx);
    *result = (struct nn_result){.n_labels = 0};
    for (int b = 0; b < batch; b++) {
        const size_t at = (size_t)b * (size_t)classes;
        cpu_softmax_row(classes, smoothing, logits + at, labels[b], batch, k,
                        dlogits ? dlogits + at : NULL, result);
    }
}
