/* test_gemm_low_gpu.c : products with a narrow accumulator have the CPU's bits. */
#include "gemm_fixture.h"
#include "device/nn/dev_nn.h"
#include "gpu_fixture.h"

static struct {
    const struct dev_run_ops *run;
    const struct dev_nn_ops *nn;
    struct dev_stream *s;
    float *a, *b, *c;
} g;

static void check_shape(const struct gemm_rule *r, const struct gemm_shape *s, int kind,
                        uint64_t key)
{
    const size_t bytes = sizeof gemm_c;
    gemm_fill(r->fmt, kind, key);
    int bad = g.run->copy(g.a, gemm_a, bytes, g.s) | g.run->copy(g.b, gemm_b, bytes, g.s) |
              g.run->copy(g.c, gemm_c, bytes, g.s);
    bad |= g.nn->gemm_low(r, s->ta, s->tb, s->m, s->n, s->k, g.a, gemm_lda(s), g.b, gemm_ldb(s),
                          s->add, g.c, s->n + s->more, g.s);
    bad |= g.run->copy(gemm_c, g.c, bytes, g.s) | g.run->wait(g.s);
    CHECK(bad == 0, "the device");
    gemm_low(r, s->ta, s->tb, s->m, s->n, s->k, gemm_a, gemm_lda(s), gemm_b, gemm_ldb(s), s->add,
             gemm_want, s->n + s->more);
    gemm_compare("gpu", r, s, gemm_c, gemm_want);
}

int main(void)
{
    static const struct mf_fmt formats[] = {{5, 2, 0},  {4, 3, 0}, {5, 10, 0}, {8, 7, 0},
                                            {6, 9, 0},  {4, 3, 1}, {3, 0, 0},  {8, 23, 0},
                                            {5, 17, 0}, {8, 0, 0}, {2, 5, 2},  {5, 2, 1}};
    const struct dev_library *lib = gpu_fixture();
    if (!lib->nn) {
        printf("skip: a GPU library without cuDNN and cuBLAS\n");
        return 77;
    }
    g.run = lib->run, g.nn = lib->nn;
    g.a = g.run->alloc(sizeof gemm_a), g.b = g.run->alloc(sizeof gemm_b),
    g.c = g.run->alloc(sizeof gemm_c);
    if (!g.a || !g.b || !g.c || g.run->stream_open(false, &g.s) < 0)
        return 1;
    printf("seed %d\n", GEMM_SEED);
    uint64_t key = 0;
    for (int f = 0; f < (int)(sizeof formats / sizeof *formats); f++)
        for (int way = 0; way < 4; way++)
            for (int s = 0; s < GEMM_SHAPES; s++, key += 100000) {
                const struct gemm_rule r = {formats[f], way & 1 ? MF_INF : MF_SATURATE, way & 2};
                check_shape(&r, &gemm_shapes[s], (f + way + s) % 4, key);
            }
    g.run->close();
    DONE();
}
