/* loss_ctc.c : computes the CTC loss from forward and backward variables in logarithms. States are
 * the labels with a blank around each (Graves, Fernandez, Gomez, Schmidhuber 2006).
 *
 *   labels a b b    states  - a - b - b -     transitions: to itself, to the next state, over
 *                           0 1 2 3 4 5 6     a blank to the state after it if its label differs
 *   a(t, s) = log p(t, s) + log sum of a(t - 1, s'), s' -> s       paths up to and including step t
 *   b(t, s) = log sum of b(t + 1, s') p(t + 1, s'), s -> s'        paths after step t
 *   gradient at step t of class k:
 *       p(t, k) - sum over states of k of exp(a + b - log p(transcript)) */
#include <math.h>
#include "nn/cpu/cpu_ops.h"
#include "nn/model_graph.h"

static struct nn_shape steps_of(const struct node *node)
{
    const struct nn_shape s = node->window.out;
    return (struct nn_shape){s.h * s.w, 1, s.c};
}

/* A transcript has at most as many labels as steps. */
static struct nn_target ctc_target(const struct node *node)
{
    const int steps = steps_of(node).h;
    return (struct nn_target){NN_TRANSCRIPT, steps < CTC_LABELS_MAX ? steps : CTC_LABELS_MAX};
}

static int ctc_head_plan(struct nn_model *m, const struct node *node, size_t *scratch_bytes)
{
    const struct nn_shape s = steps_of(node);
    return m->ops->ctc_plan(m->ctx, m->max_batch, s.h, s.c, m->target.n, scratch_bytes);
}

static void ctc_pass(struct nn_model *m, const struct node *node, int batch, real *dy,
                     struct nn_result *result)
{
    const struct nn_shape s = steps_of(node);
    m->ops->ctc_loss(m->ctx, batch, s.h, s.c, m->target.n, node->y, m->words.lengths,
                     m->words.labels, dy, result, m->scratch);
}

const struct loss_kind loss_ctc = {
    .name = "ctc", .target = ctc_target, .plan = ctc_head_plan, .pass = ctc_pass};

/* a sample's tables, in scratch */
struct ctc {
    int steps, classes, n_labels, n_states;
    const real *z;         /* [steps][classes] */
    const int32_t *labels; /* [n_labels] */
    double *a;             /* [steps][n_states] */
    double *b, *b_next;    /* [n_states] at a time step; at the next one */
    double *log_sum;       /* [steps] of exp(z) */
    double *share;         /* [classes] a class's share of the paths at a time step */
};

int cpu_ctc_plan(void *ctx, int max_batch, int steps, int classes, int targets,
                 size_t *scratch_bytes)
{
    (void)ctx, (void)max_batch;
    const size_t states = 2 * (size_t)targets + 1, t = (size_t)steps;
    *scratch_bytes = ((t + 2) * states + t + (size_t)classes) * sizeof(double) +
                     (t + (size_t)targets + 1) * sizeof(int32_t);
    return 0;
}

static double log_p(const struct ctc *c, int t, int state)
{
    const int k = state & 1 ? c->labels[state / 2] : 0;
    return (double)c->z[(size_t)t * (size_t)c->classes + (size_t)k] - c->log_sum[t];
}

/* True if a path can skip the blank before this state. */
static bool leaps(const struct ctc *c, int state)
{
    return state & 1 && state > 1 && c->labels[state / 2] != c->labels[state / 2 - 1];
}

/* Return log(e^x + e^y + e^z), or nan if one is nan. */
static double log_sum3(double x, double y, double z)
{
    const double top = fmax(x, fmax(y, z));
    return top == -(double)INFINITY ? x + y + z
                                    : top + log(exp(x - top) + exp(y - top) + exp(z - top));
}

static void sum_exps(struct ctc *c)
{
    for (int t = 0; t < c->steps; t++) {
        const real *z = c->z + (size_t)t * (size_t)c->classes;
        double top = (double)z[0], sum = 0;
        for (int k = 1; k < c->classes; k++)
            top = (double)z[k] > top ? (double)z[k] : top;
        for (int k = 0; k < c->classes; k++)
            sum += exp((double)z[k] - top);
        c->log_sum[t] = top + log(sum);
    }
}

static double paths_forward(struct ctc *c)
{
    const double none = -(double)INFINITY;
    const int n = c->n_states;
    for (int s = 0; s < n; s++)
        c->a[s] = s < 2 ? log_p(c, 0, s) : none;
    for (int t = 1; t < c->steps; t++) {
        double *a = c->a + (size_t)t * (size_t)n;
        const double *before = a - n;
        for (int s = 0; s < n; s++)
            a[s] = log_p(c, t, s) + log_sum3(before[s], s > 0 ? before[s - 1] : none,
                                             leaps(c, s) ? before[s - 2] : none);
    }
    const double *last = c->a + (size_t)(c->steps - 1) * (size_t)n;
    return log_sum3(last[n - 1], n > 1 ? last[n - 2] : none, none);
}

static void step_back(struct ctc *c, int t)
{
    const double none = -(double)INFINITY;
    const int n = c->n_states;
    double *b = c->b_next;
    c->b_next = c->b;
    c->b = b;
    if (t == c->steps - 1) {
        for (int s = 0; s < n; s++)
            b[s] = s >= n - 2 ? 0 : none;
        return;
    }
    for (int s = 0; s < n; s++)
        c->b_next[s] += log_p(c, t + 1, s);
    for (int s = 0; s < n; s++)
        b[s] = log_sum3(c->b_next[s], s + 1 < n ? c->b_next[s + 1] : none,
                        s + 2 < n && leaps(c, s + 2) ? c->b_next[s + 2] : none);
}

static void paths_backward(struct ctc *c, double log_all, int batch, double scale, real *dz)
{
    for (int t = c->steps - 1; t >= 0; t--) {
        const real *z = c->z + (size_t)t * (size_t)c->classes;
        const double *a = c->a + (size_t)t * (size_t)c->n_states;
        step_back(c, t);
        for (int k = 0; k < c->classes; k++)
            c->share[k] = 0;
        for (int s = 0; s < c->n_states; s++)
            c->share[s & 1 ? c->labels[s / 2] : 0] += exp(a[s] + c->b[s] - log_all);
        for (int k = 0; k < c->classes; k++)
            dz[(size_t)t * (size_t)c->classes + (size_t)k] =
                (real)((exp((double)z[k] - c->log_sum[t]) - c->share[k]) / batch * scale);
    }
}

static bool has_path(const struct ctc *c)
{
    int need = c->n_labels;
    for (int i = 1; i < c->n_labels; i++)
        need += c->labels[i] == c->labels[i - 1];
    return c->steps > 0 && need <= c->steps;
}

/* Write the likeliest path's transcript to found [steps] and return its length. */
static int decode(const struct ctc *c, int32_t *found)
{
    int n = 0, before = 0;
    for (int t = 0; t < c->steps; t++) {
        const real *z = c->z + (size_t)t * (size_t)c->classes;
        int best = 0;
        for (int k = 1; k < c->classes; k++)
            best = z[k] > z[best] ? k : best;
        if (best && best != before)
            found[n++] = best;
        before = best;
    }
    return n;
}

/* Levenshtein distance. row: scratch [n_want + 1]. */
static int edits(const int32_t *found, int n_found, const int32_t *want, int n_want, int32_t *row)
{
    for (int j = 0; j <= n_want; j++)
        row[j] = j;
    for (int i = 0; i < n_found; i++) {
        int diagonal = row[0];
        row[0] = i + 1;
        for (int j = 0; j < n_want; j++) {
            const int changed = diagonal + (found[i] != want[j]), above = row[j + 1] + 1,
                      beside = row[j] + 1;
            diagonal = row[j + 1];
            row[j + 1] = changed < above ? changed : above;
            row[j + 1] = row[j + 1] < beside ? row[j + 1] : beside;
        }
    }
    return row[n_want];
}

static struct ctc open_sample(int steps, int classes, int targets, int length, const real *z,
                              const int32_t *labels, void *scratch)
{
    struct ctc c = {.steps = length, .classes = classes, .z = z, .labels = labels, .a = scratch};
    const size_t states = 2 * (size_t)targets + 1;
    while (c.n_labels < targets && labels[c.n_labels] >= 0)
        c.n_labels++;
    c.n_states = 2 * c.n_labels + 1;
    c.b = c.a + (size_t)steps * states;
    c.b_next = c.b + states;
    c.log_sum = c.b_next + states;
    c.share = c.log_sum + steps;
    return c;
}

void cpu_ctc_loss(void *ctx, int batch, int steps, int classes, int targets, const real *logits,
                  const int32_t *lengths, const int32_t *labels, real *dlogits,
                  struct nn_result *result, void *scratch)
{
    *result = (struct nn_result){.loss_sum = 0};
    for (int i = 0; i < batch; i++) {
        const size_t at = (size_t)i * (size_t)steps * (size_t)classes;
        struct ctc c = open_sample(steps, classes, targets, lengths[i], logits + at,
                                   labels + (size_t)i * (size_t)targets, scratch);
        void *rest = c.share + classes;
        int32_t *found = rest, *row = found + steps;
        real *dz = dlogits ? dlogits + at : NULL;
        for (size_t j = 0; dz && j < (size_t)steps * (size_t)classes; j++)
            dz[j] = 0;
        const int n_edits = edits(found, decode(&c, found), c.labels, c.n_labels, row);
        result->n_edits += n_edits;
        result->n_labels += c.n_labels;
        result->n_correct += n_edits ? 0 : c.n_labels;
        if (!has_path(&c))
            continue;
        sum_exps(&c);
        const double log_all = paths_forward(&c);
        result->loss_sum -= log_all;
        if (dz)
            paths_backward(&c, log_all, batch, cpu_scale_of(ctx), dz);
    }
}
