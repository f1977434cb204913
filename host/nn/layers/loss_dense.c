/* loss_dense.c : computes softmax cross-entropy of pixels or time steps, and confusion matrices. */
#include <string.h>
#include "nn/cpu/cpu_ops.h"
#include "nn/model_graph.h"

static struct nn_target dense_target(const struct node *node)
{
    return (struct nn_target){NN_DENSE, node->window.out.h * node->window.out.w};
}

static int dense_head_plan(struct nn_model *m, const struct node *node, size_t *scratch_bytes)
{
    return m->ops->dense_plan(m->ctx, node->window.out.c, scratch_bytes);
}

/* Training makes no confusion matrix, because weights change from batch to batch. */
static void dense_pass(struct nn_model *m, const struct node *node, int batch, real *dy,
                       struct nn_result *result)
{
    const struct nn_shape out = node->window.out;
    const bool first = node == &m->nodes[m->heads[0].node];
    m->ops->dense_loss(m->ctx, batch * out.h * out.w, out.c, dy ? m->loss.smoothing : 0, node->y,
                       m->words.labels, dy, first && !dy ? m->words.confusion : NULL, result,
                       m->scratch);
}

const struct loss_kind loss_dense = {.name = "cross-entropy",
                                     .target = dense_target,
                                     .plan = dense_head_plan,
                                     .confuses = true,
                                     .smooths = true,
                                     .pass = dense_pass};

int cpu_dense_plan(void *ctx, int classes, size_t *scratch_bytes)
{
    (void)ctx, (void)classes;
    *scratch_bytes = 0;
    return 0;
}

static bool counts(int32_t label, int classes)
{
    return label >= 0 && label < classes;
}

/* Return the predicted class: the label if `place` (cpu_softmax_row) is 0, else that of the largest
 * logit; if a logit is nan, a class other than the label. */
static int taken_for(int classes, const real *z, int label, int place)
{
    int best = 0;
    bool all = true; /* no logit is nan */
    for (int j = 0; j < classes; j++) {
        best = z[j] > z[best] ? j : best;
        all = all && z[j] == z[j];
    }
    if (place == 0)
        return label;
    return all ? best : label == 0;
}

void cpu_dense_loss(void *ctx, int rows, int classes, double smoothing, const real *logits,
                    const int32_t *labels, real *dlogits, uint32_t *confusion,
                    struct nn_result *result, void *scratch)
{
    const double k = cpu_scale_of(ctx);
    int n = 0;
    (void)scratch;
    *result = (struct nn_result){.n_labels = 0};
    if (confusion)
        memset(confusion, 0, (size_t)classes * (size_t)classes * sizeof *confusion);
    for (int i = 0; i < rows; i++)
        n += counts(labels[i], classes);
    for (int i = 0; i < rows; i++) {
        const real *z = logits + (size_t)i * (size_t)classes;
        real *dz = dlogits ? dlogits + (size_t)i * (size_t)classes : NULL;
        if (!counts(labels[i], classes)) {
            if (dz)
                memset(dz, 0, (size_t)classes * sizeof *dz);
            continue;
        }
        const int place = cpu_softmax_row(classes, smoothing, z, labels[i], n, k, dz, result);
        if (confusion)
            confusion[labels[i] * classes + taken_for(classes, z, labels[i], place)]++;
    }
}
