/* gemm_bf16.c : rounds matrices to bf16, and passes them to oneDNN's library. */
#include "nn/cpu/cpu_ops.h"
#include "base/bits.h"
#include "base/err.h"
#include "base/plugin.h"
#include "vec/vec_isa.h"
#include <stdlib.h>

#ifdef VEC_X86
#include <cpuid.h>
#endif

struct gemm_bf16 {
    const struct gemm_dnnl *library;
    void *dnnl;
    uint16_t *room; /* of a, then b; grows */
    size_t n_room;
    bool warned;
};

/* oneDNN would also emulate bf16, slowly. */
static bool cpu_has_bf16(void)
{
#ifdef VEC_X86
    unsigned a, b, c, d;
    return vec_isa_here(VEC_AVX512) && __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a >> 5 & 1);
#else
    return false;
#endif
}

/* Makes room for n elements. The old ones are lost. */
static bool grow(struct gemm_bf16 *g, size_t n)
{
    if (n <= g->n_room)
        return true;
    free(g->room);
    g->room = aligned_alloc(64, (n * sizeof *g->room + 63) / 64 * 64);
    g->n_room = g->room ? n : 0;
    return g->room != NULL;
}

/* to = x without gaps between rows, rounded to nearest even. A loop of its own, because rows may be
 * short: casts (host/vec) prepare more for each call. */
CPU_HOT static void round_rows(size_t rows, size_t cols, const float *x, size_t ld, uint16_t *to)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++) {
            const uint32_t u = bits_of(x[i * ld + j]);
            const uint32_t rounded = (u + 0x7fff + (u >> 16 & 1)) >> 16;
            to[i * cols + j] = (uint16_t)((u & 0x7fffffff) > 0x7f800000 ? 0x7fff : rounded);
        }
}

static int multiply(struct gemm_bf16 *g, const struct dnnl_shape *s, const float *a, int lda,
                    const float *b, int ldb, float *c)
{
    const size_t m = (size_t)s->m, n = (size_t)s->n, k = (size_t)s->k,
                 a_n = (m * k + 31) / 32 * 32; /* b is aligned, too */
    if (!grow(g, a_n + k * n))
        return -ENOMEM;
    round_rows(s->ta ? k : m, s->ta ? m : k, a, (size_t)lda, g->room);
    round_rows(s->tb ? n : k, s->tb ? k : n, b, (size_t)ldb, g->room + a_n);
    return g->library->multiply(g->dnnl, s, g->room, g->room + a_n, c);
}

static int load(const struct gemm_dnnl **out)
{
    static const struct plugin plugin = {
        "libnarrowcast_dnnl.so", "NARROWCAST_DNNL", "where oneDNN is (Debian: libdnnl-dev)",
        "narrowcast_dnnl",       GEMM_DNNL_VERSION, NULL};
    char why[PLUGIN_WHY_BYTES];
    const void *table;
    const int rc = plugin_load(&plugin, &table, why);
    if (rc)
        return ERR(rc, "cannot multiply in bf16: %s", why);
    *out = table;
    return 0;
}

static int start(struct gemm_bf16 *g, int n_threads)
{
    const float one = 1;
    float product = 0;
    const struct dnnl_shape shape = {.m = 1, .n = 1, .k = 1, .ldc = 1};
    TRY(load(&g->library));
    g->dnnl = g->library->open(n_threads);
    if (!g->dnnl || multiply(g, &shape, &one, 1, &one, 1, &product) != 0 || product != 1)
        return ERR(-EIO, "cannot multiply in bf16: oneDNN does not start");
    return 0;
}

int gemm_bf16_open(int n_threads, struct gemm_bf16 **out)
{
    if (!cpu_has_bf16())
        return ERR(-ENODEV, "--precision bf16 needs a GPU, or a CPU with AVX512-BF16 (Intel from "
                            "Sapphire Rapids on, AMD from Zen 4 on)");
    struct gemm_bf16 *g = calloc(1, sizeof *g);
    if (!g)
        return ERR(-ENOMEM, "cannot open the cpu backend: no memory");
    const int rc = start(g, n_threads);
    if (rc) {
        gemm_bf16_close(g);
        return rc;
    }
    *out = g;
    return 0;
}

void gemm_bf16_close(struct gemm_bf16 *g)
{
    if (g && g->dnnl)
        g->library->close(g->dnnl);
    if (g)
        free(g->room);
    free(g);
}

bool gemm_bf16(struct gemm_bf16 *g, bool ta, bool tb, int m, int n, int k, const float *a, int lda,
               const float *b, int ldb, bool add, float *c, int ldc)
{
    const struct dnnl_shape shape = {ta, tb, add, m, n, k, ldc};
    if (m == 0 || n == 0 || k == 0) /* oneDNN would divide by it */
        return false;
    const int rc = multiply(g, &shape, a, lda, b, ldb, c);
    if (rc == 0)
        return true;
    if (!g->warned)
        err_warn("a product in bf16 failed (code %d): such products are made in fp32", rc);
    g->warned = true;
    return false;
}
