/* gemm_dnnl.c : the table of libnarrowcast_dnnl.so: products of bf16 matrices by oneDNN, of API
 * versions 2 and 3. */
#include "nn/cpu/gemm_bf16.h"
#include <dnnl.h>
#include <stdlib.h>
#include <string.h>

enum { SHAPES = 64 }; /* kept; more of a network's shapes are planned again */

struct product {
    struct dnnl_shape shape;
    dnnl_primitive_t run; /* NULL: free */
    dnnl_memory_t a, b, c;
};

struct dnnl {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    struct product kept[SHAPES];
    int next;
};

#define TRY_DNNL(call)                    \
    do {                                  \
        const dnnl_status_t rc_ = (call); \
        if (rc_ != dnnl_success)          \
            return rc_;                   \
    } while (0)

typedef dnnl_memory_desc_t desc;

#if DNNL_VERSION_MAJOR < 3
static void desc_close(desc *d)
{
    (void)d;
}
static dnnl_status_t desc_open(desc *d, const dnnl_dims_t dims, dnnl_data_type_t type,
                               const dnnl_dims_t strides)
{
    return dnnl_memory_desc_init_by_strides(d, 2, dims, type, strides);
}
static dnnl_status_t memory_open(dnnl_memory_t *out, const desc *d, dnnl_engine_t engine)
{
    return dnnl_memory_create(out, d, engine, DNNL_MEMORY_NONE);
}
static dnnl_status_t product_desc(dnnl_primitive_desc_t *out, dnnl_engine_t engine, const desc *a,
                                  const desc *b, const desc *c, dnnl_primitive_attr_t attr)
{
    dnnl_matmul_desc_t op;
    TRY_DNNL(dnnl_matmul_desc_init(&op, a, b, NULL, c));
    return dnnl_primitive_desc_create(out, &op, attr, engine, NULL);
}
static dnnl_status_t append_sum(dnnl_post_ops_t ops)
{
    return dnnl_post_ops_append_sum(ops, 1);
}
#else
static void desc_close(desc *d)
{
    dnnl_memory_desc_destroy(*d);
}
static dnnl_status_t desc_open(desc *d, const dnnl_dims_t dims, dnnl_data_type_t type,
                               const dnnl_dims_t strides)
{
    return dnnl_memory_desc_create_with_strides(d, 2, dims, type, strides);
}
static dnnl_status_t memory_open(dnnl_memory_t *out, const desc *d, dnnl_engine_t engine)
{
    return dnnl_memory_create(out, *d, engine, DNNL_MEMORY_NONE);
}
static dnnl_status_t product_desc(dnnl_primitive_desc_t *out, dnnl_engine_t engine, const desc *a,
                                  const desc *b, const desc *c, dnnl_primitive_attr_t attr)
{
    return dnnl_matmul_primitive_desc_create(out, engine, *a, *b, NULL, *c, attr);
}
static dnnl_status_t append_sum(dnnl_post_ops_t ops)
{
    return dnnl_post_ops_append_sum(ops, 1, 0, dnnl_data_type_undef);
}
#endif

static void product_close(struct product *p)
{
    if (p->run)
        dnnl_primitive_destroy(p->run);
    if (p->a)
        dnnl_memory_destroy(p->a);
    if (p->b)
        dnnl_memory_destroy(p->b);
    if (p->c)
        dnnl_memory_destroy(p->c);
    *p = (struct product){.run = NULL};
}

/* rows x cols, in memory as it is, or with rows and columns exchanged */
static dnnl_status_t matrix(desc *d, int rows, int cols, int ld, bool exchanged,
                            dnnl_data_type_t type)
{
    const dnnl_dims_t dims = {rows, cols}, strides = {exchanged ? 1 : ld, exchanged ? ld : 1};
    return desc_open(d, dims, type, strides);
}

static dnnl_status_t add_attr(const struct dnnl_shape *s, dnnl_primitive_attr_t attr)
{
    dnnl_post_ops_t ops;
    if (!s->add)
        return dnnl_success;
    TRY_DNNL(dnnl_post_ops_create(&ops));
    dnnl_status_t rc = append_sum(ops);
    if (rc == dnnl_success)
        rc = dnnl_primitive_attr_set_post_ops(attr, ops);
    dnnl_post_ops_destroy(ops);
    return rc;
}

static dnnl_status_t plan(struct dnnl *g, const struct dnnl_shape *s, const desc d[3],
                          struct product *p)
{
    dnnl_primitive_attr_t attr;
    dnnl_primitive_desc_t pd;
    TRY_DNNL(memory_open(&p->a, &d[0], g->engine));
    TRY_DNNL(memory_open(&p->b, &d[1], g->engine));
    TRY_DNNL(memory_open(&p->c, &d[2], g->engine));
    TRY_DNNL(dnnl_primitive_attr_create(&attr));
    dnnl_status_t rc = add_attr(s, attr);
    if (rc == dnnl_success)
        rc = product_desc(&pd, g->engine, &d[0], &d[1], &d[2], attr);
    dnnl_primitive_attr_destroy(attr);
    TRY_DNNL(rc);
    rc = dnnl_primitive_create(&p->run, pd);
    dnnl_primitive_desc_destroy(pd);
    return rc;
}

static dnnl_status_t product_open(struct dnnl *g, const struct dnnl_shape *s, struct product *p)
{
    desc d[3];
    TRY_DNNL(matrix(&d[0], s->m, s->k, s->ta ? s->m : s->k, s->ta, dnnl_bf16));
    dnnl_status_t rc = matrix(&d[1], s->k, s->n, s->tb ? s->k : s->n, s->tb, dnnl_bf16);
    if (rc == dnnl_success) {
        rc = matrix(&d[2], s->m, s->n, s->ldc, false, dnnl_f32);
        if (rc == dnnl_success) {
            rc = plan(g, s, d, p);
            desc_close(&d[2]);
        }
        desc_close(&d[1]);
    }
    desc_close(&d[0]);
    if (rc != dnnl_success)
        product_close(p);
    else
        p->shape = *s;
    return rc;
}

static bool same(const struct dnnl_shape *s, const struct dnnl_shape *t)
{
    return s->ta == t->ta && s->tb == t->tb && s->add == t->add && s->m == t->m && s->n == t->n &&
           s->k == t->k && s->ldc == t->ldc;
}

static dnnl_status_t find(struct dnnl *g, const struct dnnl_shape *s, struct product **out)
{
    for (int i = 0; i < SHAPES; i++)
        if (g->kept[i].run && same(s, &g->kept[i].shape)) {
            *out = &g->kept[i];
            return dnnl_success;
        }
    *out = &g->kept[g->next];
    g->next = (g->next + 1) % SHAPES;
    product_close(*out);
    return product_open(g, s, *out);
}

static int multiply(void *ctx, const struct dnnl_shape *s, const uint16_t *a, const uint16_t *b,
                    float *c)
{
    struct dnnl *g = ctx;
    struct product *p;
    TRY_DNNL(find(g, s, &p));
    TRY_DNNL(dnnl_memory_set_data_handle(p->a, (void *)(uintptr_t)a));
    TRY_DNNL(dnnl_memory_set_data_handle(p->b, (void *)(uintptr_t)b));
    TRY_DNNL(dnnl_memory_set_data_handle(p->c, c));
    const dnnl_exec_arg_t args[] = {
        {DNNL_ARG_SRC, p->a}, {DNNL_ARG_WEIGHTS, p->b}, {DNNL_ARG_DST, p->c}};
    TRY_DNNL(dnnl_primitive_execute(p->run, g->stream, 3, args));
    return dnnl_stream_wait(g->stream);
}

static void close_all(void *ctx)
{
    struct dnnl *g = ctx;
    for (int i = 0; i < SHAPES; i++)
        product_close(&g->kept[i]);
    if (g->stream)
        dnnl_stream_destroy(g->stream);
    if (g->engine)
        dnnl_engine_destroy(g->engine);
    free(g);
}

/* of the OpenMP that oneDNN uses, if it does */
extern void omp_set_num_threads(int n) __attribute__((weak));

static void *open_all(int n_threads)
{
    struct dnnl *g = calloc(1, sizeof *g);
    if (!g)
        return NULL;
    if (omp_set_num_threads)
        omp_set_num_threads(n_threads);
    if (dnnl_engine_create(&g->engine, dnnl_cpu, 0) == dnnl_success &&
        dnnl_stream_create(&g->stream, g->engine, dnnl_stream_default_flags) == dnnl_success)
        return g;
    close_all(g);
    return NULL;
}

__attribute__((visibility("default"))) const struct gemm_dnnl narrowcast_dnnl = {
    .version = GEMM_DNNL_VERSION, .open = open_all, .close = close_all, .multiply = multiply};
