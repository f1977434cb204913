/* layer_attention.c : computes causal self-attention (layers.def has the equations; order
 * of sums: hls/nn/layer.h).
 *
 *     dp = dy v^T      ds = p (dp - sum of p dp) / sqrt(d)
 *     dq = ds k        dk = ds^T q        dv = p^T dy
 *
 * p is kept for backward. Products go by blocks of BLOCK steps, and leave out steps whose p is 0
 * for the whole block. */
#include <assert.h>
#include <string.h>
#include "hls/nn/squash.h"
#include "nn/cpu/cpu_ops.h"
#include "nn/model_graph.h"

int graph_attention(struct nn_model *m, int in, int heads)
{
    struct node *node = graph_append(m, &layer_attention, in);
    assert(m->failed ||
           (heads > 0 && ATTENTION_FALL % heads == 0 && node->window.in.c % (3 * heads) == 0));
    graph_reads(m, NN_SEQUENCES);
    node->heads = heads;
    node->window.out.c = node->window.in.c / 3;
    return graph_index(m, node);
}

static struct nn_attention attention_of(const struct node *node)
{
    return (struct nn_attention){node->window.in.h, node->heads, node->window.out.c / node->heads};
}

/* Return the bytes of p, or of ds, rounded up to a multiple of 64. */
static size_t share_bytes(const struct nn_model *m, const struct node *node)
{
    const size_t steps = (size_t)node->window.in.h;
    const size_t bytes =
        (size_t)m->max_batch * (size_t)node->heads * steps * steps * m->ops->act_bytes(m->ctx);
    return (bytes + 63) / 64 * 64;
}

static int attention_node_plan(struct nn_model *m, const struct node *node, size_t *scratch_bytes)
{
    const struct nn_attention f = attention_of(node);
    const int rc = m->ops->attention_plan(m->ctx, &f, m->max_batch, scratch_bytes);
    *scratch_bytes += share_bytes(m, node);
    return rc;
}

/* The backend's scratch memory lies after ds. */
static void *backend_scratch(const struct nn_model *m, const struct node *node)
{
    return (char *)m->scratch + share_bytes(m, node);
}

static void attention_node_forward(struct nn_model *m, const struct node *node, int batch,
                                   bool train)
{
    (void)train;
    const struct nn_attention f = attention_of(node);
    const real *x = m->nodes[node->in].y;
    m->ops->attention_shares(m->ctx, &f, batch, x, node->kept, backend_scratch(m, node));
    m->ops->attention_mix(m->ctx, &f, batch, x, node->kept, node->y);
}

static void attention_node_backward(struct nn_model *m, const struct node *node, int batch)
{
    const struct nn_attention f = attention_of(node);
    const struct node *in = &m->nodes[node->in];
    m->ops->attention_shares_back(m->ctx, &f, batch, in->y, node->kept, node->dy, m->scratch,
                                  backend_scratch(m, node));
    m->ops->attention_back(m->ctx, &f, batch, in->y, node->kept, m->scratch, node->dy, in->dy);
}

const struct layer_kind layer_attention = {
    .name = "attention",
    .kept_bytes = share_bytes,
    .plan = attention_node_plan,
    .forward = attention_node_forward,
    .backward = attention_node_backward,
};

enum { BLOCK = 64 };

int cpu_attention_plan(void *ctx, const struct nn_attention *f, int max_batch,
                       size_t *scratch_bytes)
{
    (void)ctx, (void)max_batch;
    *scratch_bytes = (size_t)f->steps * sizeof(real);
    return 0;
}

/* one head of a sample. Steps lie `pitch` elements apart in qkv, `pitch` / 3 in y. */
struct head {
    const real *q, *k, *v;
    size_t y, p, qkv; /* where the head begins in y and dy, p and ds, dx */
    int pitch;
};

static struct head head_of(const struct nn_attention *f, const real *x, int i)
{
    const size_t steps = (size_t)f->steps, all = (size_t)(f->heads * f->wide);
    const size_t sample = (size_t)(i / f->heads), h = (size_t)(i % f->heads) * (size_t)f->wide;
    const size_t at = sample * steps * 3 * all + h;
    const real *q = x + at;
    return (struct head){
        q,  q + all,      q + 2 * all, sample * steps * all + h, (size_t)i * steps * steps,
        at, 3 * (int)all,
    };
}

/* to[t][s] = a[t] . b[s] for s <= t, and perhaps some s > t. */
static void dots(struct cpu *cpu, const struct nn_attention *f, const real *a, int a_pitch,
                 const real *b, int b_pitch, real *to)
{
    for (int t = 0; t < f->steps; t += BLOCK) {
        const int n = f->steps - t < BLOCK ? f->steps - t : BLOCK;
        cpu_gemm(cpu, false, true, n, t + n, f->wide, a + (size_t)t * (size_t)a_pitch, a_pitch, b,
                 b_pitch, 0, to + (size_t)t * (size_t)f->steps, f->steps);
    }
}

/* to[t] = sum over s <= t of w[t][s] x[s]; w[t][s] is 0 for s > t. */
static void mix(struct cpu *cpu, const struct nn_attention *f, const real *w, const real *x,
                int x_pitch, real *to, int pitch)
{
    for (int t = 0; t < f->steps; t += BLOCK) {
        const int n = f->steps - t < BLOCK ? f->steps - t : BLOCK;
        cpu_gemm(cpu, false, false, n, f->wide, t + n, w + (size_t)t * (size_t)f->steps, f->steps,
                 x, x_pitch, 0, to + (size_t)t * (size_t)pitch, pitch);
    }
}

/* to[s] = sum over t >= s of w[t][s] x[t]; w[t][s] is 0 for s > t. */
static void mix_back(struct cpu *cpu, const struct nn_attention *f, const real *w, const real *x,
                     int x_pitch, real *to, int pitch)
{
    for (int s = 0; s < f->steps; s += BLOCK) {
        const int n = f->steps - s < BLOCK ? f->steps - s : BLOCK;
        cpu_gemm(cpu, true, false, n, f->wide, f->steps - s, w + (size_t)s * (size_t)(f->steps + 1),
                 f->steps, x + (size_t)s * (size_t)x_pitch, x_pitch, 0,
                 to + (size_t)s * (size_t)pitch, pitch);
    }
}

static inline real larger(real a, real b)
{
    return a > b ? a : b;
}

/* In lanes, so that compilers vectorise it. */
static inline real row_top(size_t n, const real *x)
{
    real lane[ROW_LANES];
    size_t i = 0;
    for (size_t j = 0; j < ROW_LANES; j++)
        lane[j] = x[0];
    for (; i + ROW_LANES <= n; i += ROW_LANES)
        for (size_t j = 0; j < ROW_LANES; j++)
            lane[j] = larger(x[i + j], lane[j]);
    for (; i < n; i++)
        lane[0] = larger(x[i], lane[0]);
    for (size_t j = 1; j < ROW_LANES; j++)
        lane[0] = larger(lane[j], lane[0]);
    return lane[0];
}

/* p[0, n): dot products of step n - 1, then their softmax. */
CPU_HOT static void share_row(size_t n, real root, real slope, real *restrict p)
{
    for (size_t s = 0; s < n; s++)
        p[s] = p[s] * root - slope * (real)(int)(n - 1 - s);
    const real top = row_top(n, p);
    for (size_t s = 0; s < n; s++)
        p[s] = squash_exp(p[s] - top);
    const real sum = cpu_row_sum(n, p);
    for (size_t s = 0; s < n; s++)
        p[s] /= sum;
}

void cpu_attention_shares(void *ctx, const struct nn_attention *f, int batch, const real *x,
                          real *p, void *scratch)
{
    (void)scratch;
    const size_t steps = (size_t)f->steps;
    const real root = 1 / cpu_root((real)f->wide);
    for (int i = 0; i < batch * f->heads; i++) {
        const struct head h = head_of(f, x, i);
        const real slope = attention_slope(f->heads, i % f->heads);
        dots(ctx, f, h.q, h.pitch, h.k, h.pitch, p + h.p);
        for (size_t t = 0; t < steps; t++) {
            real *row = p + h.p + t * steps;
            share_row(t + 1, root, slope, row);
            memset(row + t + 1, 0, (steps - t - 1) * sizeof *row);
        }
    }
}

void cpu_attention_mix(void *ctx, const struct nn_attention *f, int batch, const real *x,
                       const real *p, real *y)
{
    for (int i = 0; i < batch * f->heads; i++) {
        const struct head h = head_of(f, x, i);
        mix(ctx, f, p + h.p, h.v, h.pitch, y + h.y, h.pitch / 3);
    }
}

/* ds[0, n): gradients of p, then those of the dot products. product: scratch [n]. */
CPU_HOT static void share_row_back(size_t n, real root, const real *p, real *restrict ds,
                                   real *restrict product)
{
    for (size_t s = 0; s < n; s++)
        product[s] = p[s] * ds[s];
    const real sum = cpu_row_sum(n, product);
    for (size_t s = 0; s < n; s++)
        ds[s] = p[s] * (ds[s] - sum) * root;
}

void cpu_attention_shares_back(void *ctx, const struct nn_attention *f, int batch, const real *x,
                               const real *p, const real *dy, real *ds, void *scratch)
{
    const size_t steps = (size_t)f->steps;
    const real root = 1 / cpu_root((real)f->wide);
    for (int i = 0; i < batch * f->heads; i++) {
        const struct head h = head_of(f, x, i);
        dots(ctx, f, dy + h.y, h.pitch / 3, h.v, h.pitch, ds + h.p);
        for (size_t t = 0; t < steps; t++) {
            real *row = ds + h.p + t * steps;
            share_row_back(t + 1, root, p + h.p + t * steps, row, scratch);
            memset(row + t + 1, 0, (steps - t - 1) * sizeof *row);
        }
    }
}

void cpu_attention_back(void *ctx, const struct nn_attention *f, int batch, const real *x,
                        const real *p, const real *ds, const real *dy, real *dx)
{
    const size_t all = (size_t)(f->heads * f->wide);
    for (int i = 0; i < batch * f->heads; i++) {
        const struct head h = head_of(f, x, i);
        real *dq = dx + h.qkv;
        mix(ctx, f, ds + h.p, h.k, h.pitch, dq, h.pitch);
        mix_back(ctx, f, ds + h.p, h.q, h.pitch, dq + all, h.pitch);
        mix_back(ctx, f, p + h.p, dy + h.y, h.pitch / 3, dq + 2 * all, h.pitch);
    }
}
