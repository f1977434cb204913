/* test_gpu_cast_spans.c : casts lists of spans on the GPU. */
#include "check.h"
#include "gpu_fixture.h"
#include "vec_inputs.h"
#include "codec/codec_minifloat.h"
#include "device/vec/dev_vec.h"
#include "vec/vec.h"
#include <inttypes.h>

enum { ROOM = 1 << 20, SPANS = 700, GUARD = 32, FILL = 0xa5 };

static const struct dev_library *gpu_lib;
static struct dev_stream *stream;
static float *x, *x_gpu;
static uint8_t *got, *got_gpu, *want; /* [5 * ROOM]; got_gpu: pinned or device */
static struct vec_span *spans, *copy;
static uint64_t n_draws;

static uint32_t draw(uint32_t below)
{
    return philox_u32(2024, n_draws++) % below;
}

static void to_gpu(void)
{
    for (size_t i = 0; i < ROOM; i++)
        x[i] = vec_input((struct mf_fmt){4, 3, 0}, 0, i);
    CHECK(gpu_lib->run->copy(x_gpu, x, ROOM * sizeof *x, stream) == 0, "copy");
    CHECK(gpu_lib->run->wait(stream) == 0, "wait");
}

/* tidy: aligned like layers. Returns the sum of n. */
static size_t make_spans(int n_spans, size_t longest, struct mf_fmt fmt, bool tidy)
{
    size_t at_x = 0, at_code = 0, sum = 0;
    for (int i = 0; i < n_spans; i++) {
        struct vec_span *s = &copy[i];
        const size_t n = draw(4) ? draw((uint32_t)longest + 1) : draw(4),
                     more = draw(3) ? 0 : draw(70);
        const size_t n_here =
            at_x + n + 4 > ROOM || at_code + vec_bytes(fmt, n + more) + 64 > 5 * ROOM ? 0 : n;
        at_x = tidy ? (at_x + 3) / 4 * 4 : at_x + draw(4);
        at_code = tidy ? (at_code + 15) / 16 * 16 : at_code + 1 + draw(17);
        *s = (struct vec_span){.x = x_gpu + at_x,
                               .codes = got_gpu + at_code,
                               .n = n_here,
                               .padded = n_here + more,
                               .at = 8 * (size_t)draw(1000),
                               .key = philox_key(1, (uint32_t)i, 0, 0, 0),
                               .shift = (int)draw(9) - 4,
                               .absmax = 5};
        at_x += n_here;
        at_code += vec_bytes(fmt, n_here + more);
        sum += n_here;
    }
    CHECK(at_code + GUARD <= 5 * (size_t)ROOM, "room for codes");
    memcpy(spans, copy, (size_t)n_spans * sizeof *spans);
    return sum;
}

static void want_spans(const struct vec_cast *cast, int n_spans)
{
    static float padded[ROOM + 128];
    memset(want, FILL, 5 * ROOM);
    for (int i = 0; i < n_spans; i++) {
        const struct vec_span *s = &copy[i];
        struct vec_cast own = *cast;
        own.key = s->key;
        memset(padded, 0, s->padded * sizeof *padded);
        if (s->n > 0)
            memcpy(padded, x + ((const float *)s->x - x_gpu), s->n * sizeof *padded);
        vec_plain.encode(&own, padded, s->padded, s->at, s->shift, want + (s->codes - got_gpu));
    }
}

static void check_codes(const struct vec_cast *cast, const char *what)
{
    CHECK(gpu_lib->run->copy(got, got_gpu, 5 * ROOM, stream) == 0 &&
              gpu_lib->run->wait(stream) == 0,
          "copy back");
    for (size_t i = 0; i < 5 * ROOM && memcmp(got, want, 5 * ROOM) != 0; i++)
        CHECK(got[i] == want[i], "%s e%um%u: byte %zu is %02x, want %02x", what, cast->fmt.e,
              cast->fmt.m, i, got[i], want[i]);
}

static void check_maxima(int n_spans, bool scanned, const char *what)
{
    for (int i = 0; i < n_spans; i++) {
        const struct vec_span *s = &copy[i];
        const uint32_t max = !scanned ? s->absmax
                             : s->n   ? vec_plain.absmax(x + ((const float *)s->x - x_gpu), s->n)
                                      : 0;
        CHECK(spans[i].absmax == max,
              "%s: absmax of span %d of %d, %zu long: %08" PRIx32 ", want %08" PRIx32, what, i,
              n_spans, s->n, spans[i].absmax, max);
        CHECK(spans[i].shift == s->shift && spans[i].n == s->n && spans[i].key == s->key,
              "%s: span %d has changed", what, i);
    }
}

static void clear_maxima(int n_spans)
{
    for (int i = 0; i < n_spans; i++)
        spans[i].absmax = 0;
}

static void check_list(const struct vec_cast *cast, int n_spans, size_t longest, bool tidy)
{
    const struct dev_vec_ops *vec = gpu_lib->vec;
    const size_t sum = make_spans(n_spans, longest, cast->fmt, tidy);
    want_spans(cast, n_spans);
    for (int scan = 0; scan < 2; scan++) {
        memset(got, FILL, 5 * ROOM);
        CHECK(gpu_lib->run->copy(got_gpu, got, 5 * ROOM, stream) == 0, "copy");
        if (scan)
            clear_maxima(n_spans);
        CHECK((scan ? vec->scan_encode : vec->encode)(cast, spans, n_spans, sum, stream) == 0,
              "encode");
        check_codes(cast, scan ? "scan_encode" : "encode");
        check_maxima(n_spans, scan, scan ? "scan_encode" : "encode");
    }
    clear_maxima(n_spans);
    CHECK(vec->absmax(spans, n_spans, sum, stream) == 0 && gpu_lib->run->wait(stream) == 0,
          "absmax");
    check_maxima(n_spans, true, "absmax");
}

static void check_lists(void)
{
    static const struct mf_fmt formats[] = {{5, 2, 0}, {5, 10, 0}, {3, 0, 0}, {8, 7, 0},
                                            {3, 2, 0}, {4, 7, 0},  {8, 23, 0}};
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++)
        for (int tidy = 0; tidy < 2; tidy++) {
            const struct vec_cast cast = {.fmt = formats[f],
                                          .round = f % 2 ? MF_NEAREST : MF_STOCHASTIC};
            const struct vec_cast nearest = {.fmt = formats[f]};
            check_list(&cast, 1, 9000, tidy);
            check_list(&nearest, 7, 20000, tidy);
            check_list(&nearest, 255 + (int)f, 40, tidy);
            check_list(&nearest, 513, 1000, tidy);
        }
    const struct vec_cast trunc = {.fmt = {5, 2, 0}, .trunc = true};
    check_list(&trunc, 20, 5000, true);
    CHECK(gpu_lib->vec->absmax(spans, 0, 0, stream) == 0 &&
              gpu_lib->vec->encode(&trunc, spans, 0, 0, stream) == 0,
          "an empty list");
}

int main(void)
{
    gpu_lib = gpu_fixture_open().lib;
    const struct dev_run_ops *run = gpu_lib->run;
    CHECK(run->stream_open(false, &stream) == 0, "stream");
    x = malloc(ROOM * sizeof *x), got = malloc(5 * ROOM), want = malloc(5 * ROOM),
    copy = malloc(SPANS * sizeof *copy);
    x_gpu = run->alloc(ROOM * sizeof *x);
    spans = run->alloc_pinned(SPANS * sizeof *spans);
    if (!x || !got || !want || !copy)
        return 1;
    got_gpu = run->alloc(5 * ROOM);
    to_gpu();
    check_lists();
    run->free(got_gpu), run->free(x_gpu), run->free_pinned(spans);
    run->stream_close(stream);
    free(x), free(got), free(want), free(copy);
    DONE();
}
