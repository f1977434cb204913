/* loss_class.c : softmax cross-entropy over classes. */
#include <math.h>
#include "nn/cpu_ops.h"
#include "nn/model_graph.h"

static void class_pass(struct nn_model *m, const struct node *node, int batch, real *dy,
                       struct nn_result *result)
{
    m->ops->softmax_loss(m->ctx, batch, node->window.out.c, node->y, m->labels, dy, result);
}

const struct loss_kind loss_class = {.name = "class", .pass = class_pass};

/* How many stand before z[label] by size, the first of equals first; if any is nan, NN_TOP or
 * more. */
static int n_before(int classes, const real *z, int label)
{
    int before = 0;
    for (int j = 0; j < classes; j++)
        if (!(j < label ? z[j] < z[label] : z[j] <= z[label]))
            before += z[j] > z[label] || z[j] == z[label] ? 1 : NN_TOP;
    return before;
}

void cpu_softmax_loss(void *ctx, int batch, int classes, const real *logits, const int32_t *labels,
                      real *dlogits, struct nn_result *result)
{
    const struct cpu *cpu = ctx;
    const double k = cpu->scale ? (double)*cpu->scale : 1;
    *result = (struct nn_result){.loss_sum = 0};
    for (int b = 0; b < batch; b++) {
        const real *z = logits + (size_t)b * (size_t)classes;
        real top = z[0];
        double sum = 0;
        for (int j = 1; j < classes; j++)
            top = z[j] > top ? z[j] : top;
        for (int j = 0; j < classes; j++)
            sum += exp((double)(z[j] - top));
        // cppcheck-suppress invalidFunctionArg  // there are classes: sum >= exp(0)
        result->loss_sum += log(sum) - (double)(z[labels[b]] - top);
        const int place = n_before(classes, z, labels[b]);
        result->n_correct += place == 0;
        result->n_top += place < NN_TOP;
        for (int j = 0; dlogits && j < classes; j++) {
            double share = exp((double)(z[j] - top)) / sum;
            dlogits[(size_t)b * (size_t)classes + (size_t)j] =
                (real)((share - (j == labels[b])) / batch * k);
        }
    }
}
