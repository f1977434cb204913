/* test_gpu_cast_all.c : casts all 2^32 floats on a real GPU in six formats. `long`: also several
 * shifts and overflow to inf. */
#include "check.h"
#include "gpu_fixture.h"
#include "vec_inputs.h"
#include "device/vec/dev_vec.h"
#include "vec/vec.h"
#include <inttypes.h>
#include <pthread.h>

enum { CHUNK = 1 << 26, THREADS_MAX = 64 };

static float *x;
static uint8_t *got;
static struct vec_span *spans;
static int n_threads;

struct part {
    pthread_t thread;
    const struct vec_cast *cast; /* NULL: makes the floats from `first` on */
    uint32_t first;
    int shift;
    size_t from, n;
    size_t n_bad, bad;
    uint8_t want;
};

static void *check_part(void *arg)
{
    enum { BLOCK = 1 << 12 };
    struct part *p = arg;
    uint8_t want[2 * BLOCK];
    p->n_bad = 0;
    for (size_t i = p->from; i < p->from + p->n; i += BLOCK) {
        if (!p->cast) {
            for (size_t k = i; k < i + BLOCK; k++)
                x[k] = float_of(p->first + (uint32_t)k);
            continue;
        }
        const size_t at = vec_bytes(p->cast->fmt, i), bytes = vec_bytes(p->cast->fmt, BLOCK);
        vec_plain.encode(p->cast, x + i, BLOCK, i, p->shift, want);
        for (size_t k = 0; k < bytes && memcmp(want, got + at, bytes) != 0; k++)
            if (want[k] != got[at + k] && p->n_bad++ == 0)
                p->bad = at + k, p->want = want[k];
    }
    return NULL;
}

/* Returns the number of differing bytes; *bad: one of them. */
static size_t in_threads(const struct vec_cast *cast, uint32_t first, int shift, struct part *bad)
{
    static struct part parts[THREADS_MAX];
    size_t n_bad = 0;
    for (int t = 0; t < n_threads; t++) {
        const size_t from = (size_t)t * (CHUNK / THREADS_MAX) * (size_t)(THREADS_MAX / n_threads);
        const size_t to = t == n_threads - 1
                              ? CHUNK
                              : from + CHUNK / THREADS_MAX * (size_t)(THREADS_MAX / n_threads);
        parts[t] = (struct part){
            .cast = cast, .first = first, .shift = shift, .from = from, .n = to - from};
        if (pthread_create(&parts[t].thread, NULL, check_part, &parts[t]) != 0)
            abort();
    }
    for (int t = 0; t < n_threads; t++) {
        pthread_join(parts[t].thread, NULL);
        n_bad += parts[t].n_bad;
        *bad = parts[t].n_bad ? parts[t] : *bad;
    }
    return n_bad;
}

static void check_cast(const struct gpu_fixture *g, struct dev_stream *stream, const float *x_gpu,
                       uint8_t *codes_gpu, const struct vec_cast *cast, uint32_t first, int shift)
{
    struct part bad = {0};
    *spans = (struct vec_span){
        .x = x_gpu, .codes = codes_gpu, .n = CHUNK, .padded = CHUNK, .shift = shift};
    const int rc = g->lib->vec->encode(cast, spans, 1, CHUNK, stream);
    CHECK(rc == 0 && g->lib->run->copy(got, codes_gpu, vec_bytes(cast->fmt, CHUNK), stream) == 0 &&
              g->lib->run->wait(stream) == 0,
          "cast: %d", rc);
    const size_t n_bad = in_threads(cast, first, shift, &bad);
    CHECK(n_bad == 0,
          "e%um%u%s overflow %d shift %d: %zu bytes differ, one of them of %08" PRIx32
          ": %02x, want %02x",
          cast->fmt.e, cast->fmt.m, mf_suffix(cast->fmt), (int)cast->overflow, shift, n_bad,
          first + (uint32_t)(bad.bad * 8 / mf_width(cast->fmt)), got[bad.bad], bad.want);
}

int main(int argc, char **argv)
{
    static const struct mf_fmt six[] = {{5, 2, 0}, {4, 3, 0},  {4, 3, 1},
                                        {3, 0, 0}, {5, 10, 0}, {8, 7, 0}};
    static const int shifts[] = {0, 9, -7, 100, -100};
    const bool all = argc > 1 && !strcmp(argv[1], "long");
    const struct gpu_fixture g = gpu_fixture_open();
    if (g.emulated)
        SKIP("all 2^32 floats take a real GPU; test_gpu_cast has a choice of them");
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    n_threads = cpus < 1 ? 1 : cpus > THREADS_MAX ? THREADS_MAX : (int)cpus;
    const struct dev_run_ops *run = g.lib->run;
    struct dev_stream *stream;
    x = run->alloc_pinned(CHUNK * sizeof *x), got = run->alloc_pinned(2 * CHUNK);
    spans = run->alloc_pinned(sizeof *spans);
    float *x_gpu = run->alloc(CHUNK * sizeof *x);
    uint8_t *codes_gpu = run->alloc(2 * CHUNK);
    if (run->stream_open(false, &stream) < 0 || !x || !got || !spans || !x_gpu || !codes_gpu) {
        puts("cannot allocate memory on the GPU, or pinned memory");
        return 1;
    }
    for (uint64_t first = 0; first < (uint64_t)1 << 32; first += CHUNK) {
        struct part none;
        in_threads(NULL, (uint32_t)first, 0, &none);
        CHECK(run->copy(x_gpu, x, CHUNK * sizeof *x, stream) == 0 && run->wait(stream) == 0,
              "copy");
        for (size_t f = 0; f < sizeof six / sizeof *six; f++)
            for (size_t s = 0; s < (all ? sizeof shifts / sizeof *shifts : 1); s++)
                for (int overflow = MF_SATURATE; overflow <= (all ? MF_INF : MF_SATURATE);
                     overflow++) {
                    const struct vec_cast cast = {.fmt = six[f],
                                                  .overflow = (enum mf_overflow)overflow};
                    check_cast(&g, stream, x_gpu, codes_gpu, &cast, (uint32_t)first, shifts[s]);
                }
    }
    run->free(x_gpu), run->free(codes_gpu);
    run->free_pinned(x), run->free_pinned(got), run->free_pinned(spans);
    run->stream_close(stream);
    DONE();
}
