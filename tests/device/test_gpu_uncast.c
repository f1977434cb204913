/* test_gpu_uncast.c : casts from codes to floats have the plain backend's bits. */
#include "check.h"
#include "gpu_fixture.h"
#include "vec_inputs.h"
#include "device/vec/dev_vec.h"
#include "vec/vec.h"
#include <inttypes.h>

enum { TILE = 4096 /* of a block, in elements */ };
enum { N = 70000, GUARD = 16, SPANS = 600, FILL = 0x5a };

static const struct dev_library *gpu_lib;
static struct dev_stream *stream;
static float *x_gpu, *x;
static uint8_t *codes;
static struct vec_out *spans;
static uint64_t n_draws;

static void check(struct mf_fmt fmt, size_t n, size_t off_code, size_t off_x, int shift,
                  float divisor)
{
    static float want[N], old[N + 2 * GUARD];
    const struct dev_run_ops *run = gpu_lib->run;
    vec_plain.decode(fmt, codes + off_code, n, shift, divisor, want);
    for (size_t i = 0; i < N + 2 * GUARD; i++)
        old[i] = (float)(i % 1000) * 0.001f - 0.5f;
    const size_t all = n + 2 * GUARD;
    CHECK(run->copy(x_gpu, old, all * sizeof *x, stream) == 0, "copy");
    const int rc =
        gpu_lib->vec->decode(fmt, codes + off_code, n, shift, divisor, x_gpu + off_x, stream);
    CHECK(rc == 0 && run->copy(x, x_gpu, all * sizeof *x, stream) == 0 && run->wait(stream) == 0,
          "decode: %d", rc);
    for (size_t i = 0; i < all; i++) {
        const bool here = i >= off_x && i < off_x + n;
        const float w = here ? want[i - off_x] : old[i];
        CHECK(bits_of(x[i]) == bits_of(w),
              "e%um%u%s shift %d / %g, %zu codes at byte %zu to %zu: element %zu is %08" PRIx32
              ", want %08" PRIx32,
              fmt.e, fmt.m, mf_suffix(fmt), shift, (double)divisor, n, off_code, off_x, i,
              bits_of(x[i]), bits_of(w));
    }
}

static void fill_codes(struct mf_fmt fmt, size_t n, size_t off)
{
    const unsigned width = mf_width(fmt);
    memset(codes + off, 0, vec_bytes(fmt, n));
    for (size_t i = 0; i < n; i++) {
        const uint32_t r = philox_u32(3, i);
        /* of wide formats also the ends of the exponent's range */
        const uint32_t any =
            i % 3 ? r
                  : (r & ((1u << fmt.m) - 1)) | (i % 2 ? 0 : mf_inf(fmt) - (i % 5 == 0 ? 1 : 0));
        const uint64_t code = (width <= 12 ? (uint32_t)i : any) & (((uint64_t)1 << width) - 1);
        for (unsigned b = 0; b < width; b++)
            if (code >> b & 1)
                codes[off + (i * width + b) / 8] |= (uint8_t)(1u << (i * width + b) % 8);
    }
}

static void check_formats(void)
{
    static const int shifts[] = {0, 7, -30, 100, -100, 127, -149, 300, -300, 1 << 20, -(1 << 20)};
    static const float divisors[] = {1,      8,        3,        0x1p-3f,   7e30f,
                                     1e-30f, 0x1p126f, 0x1p127f, 0x1p-127f, 1000};
    size_t round = 0;
    for (unsigned e = 1; e <= 8; e++)
        for (unsigned m = 0; m <= 23; m++)
            for (unsigned fn = 0; fn <= (e < 8 && m > 0); fn++) {
                const struct mf_fmt fmt = {(uint8_t)e, (uint8_t)m, (uint8_t)fn};
                const size_t n = mf_width(fmt) > 12 ? 700 : ((size_t)1 << mf_width(fmt)) + 3,
                             tiles = TILE * (1 + round % 2) + round % 40;
                fill_codes(fmt, n, round % 4);
                for (size_t s = 0; s < sizeof shifts / sizeof *shifts; s++, round++)
                    check(fmt, n, (round - s) % 4, 0, shifts[s], divisors[round % 10]);
                check(fmt, n, (round - sizeof shifts / sizeof *shifts) % 4, 3, 0, 1);
                fill_codes(fmt, tiles, round % 4);
                check(fmt, tiles, round % 4, round % 3, shifts[e], divisors[round % 10]);
            }
}

static void check_shapes(void)
{
    static const struct mf_fmt formats[] = {{5, 2, 0},  {3, 0, 0}, {5, 10, 0},
                                            {8, 23, 0}, {3, 2, 0}, {4, 8, 0}};
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
        for (size_t n = 0; n < 40; n++) {
            fill_codes(formats[f], n, n % 5);
            check(formats[f], n, n % 5, n % 3, 1, 3);
        }
        for (size_t off = 0; off < 8; off++) {
            fill_codes(formats[f], 5000 + 13 * off, off);
            check(formats[f], 5000 + 13 * off, off, off / 2, 0, 1);
        }
        fill_codes(formats[f], N - 1, 0);
        check(formats[f], N - 1, 0, 0, -3, 4);
    }
}

static uint32_t draw(uint32_t below)
{
    return philox_u32(11, n_draws++) % below;
}

/* few_shifts: neighbours often share one. */
static size_t make_spans(struct mf_fmt fmt, int n_spans, size_t longest, bool few_shifts,
                         float divisor, float *want)
{
    static const int far[] = {0, -3, 9, -149, 127, 300, -300, 1 << 20};
    /* around these shifts the largest values leave fp32's range, but not with a divisor */
    const int large = 127 - mf_bias(fmt) - mf_uses_top(fmt);
    size_t at_x = draw(4), at_code = draw(4), sum = 0;
    memset(want, FILL, N * sizeof *want);
    for (int i = 0; i < n_spans; i++) {
        const size_t n = draw(4) ? draw((uint32_t)longest + 1) : draw(4), bytes = vec_bytes(fmt, n);
        const bool room = at_x + n + 4 <= N && at_code + bytes + 4 <= 4 * N;
        const int shift = few_shifts ? (int)draw(2) - 1
                          : draw(8)  ? (int)draw(20) - 10 + (i % 2 ? large : 0)
                                     : far[draw(8)];
        spans[i] = (struct vec_out){
            .x = x_gpu + at_x, .codes = codes + at_code, .n = room ? n : 0, .shift = shift};
        vec_plain.decode(fmt, codes + at_code, spans[i].n, shift, divisor, want + at_x);
        sum += spans[i].n;
        if (room)
            at_x += n + draw(4), at_code += bytes + draw(6);
    }
    return sum;
}

static void check_list(struct mf_fmt fmt, int n_spans, size_t longest, bool few_shifts,
                       float divisor)
{
    static float want[N];
    static struct vec_out was[SPANS];
    const struct dev_run_ops *run = gpu_lib->run;
    const size_t sum = make_spans(fmt, n_spans, longest, few_shifts, divisor, want);
    memcpy(was, spans, (size_t)n_spans * sizeof *spans);
    memset(x, FILL, N * sizeof *x);
    CHECK(run->copy(x_gpu, x, N * sizeof *x, stream) == 0, "copy");
    const int rc = gpu_lib->vec->decode_all(fmt, divisor, spans, n_spans, sum, stream);
    CHECK(rc == 0 && run->copy(x, x_gpu, N * sizeof *x, stream) == 0 && run->wait(stream) == 0,
          "decode_all: %d", rc);
    for (size_t i = 0; i < N && memcmp(x, want, sizeof want) != 0; i++)
        CHECK(bits_of(x[i]) == bits_of(want[i]),
              "e%um%u%s / %g, %d spans of up to %zu: element %zu is %08" PRIx32 ", want %08" PRIx32,
              fmt.e, fmt.m, mf_suffix(fmt), (double)divisor, n_spans, longest, i, bits_of(x[i]),
              bits_of(want[i]));
    CHECK(memcmp(was, spans, (size_t)n_spans * sizeof *spans) == 0, "the list has changed");
}

static void check_lists(void)
{
    static const struct mf_fmt formats[] = {{5, 2, 0},  {4, 3, 1},  {3, 0, 0}, {5, 10, 0},
                                            {8, 7, 0},  {8, 23, 0}, {3, 2, 0}, {4, 8, 0},
                                            {6, 14, 0}, {2, 5, 2},  {5, 2, 1}, {6, 9, 2}};
    for (size_t i = 0; i < 4 * N + GUARD; i++)
        codes[i] = (uint8_t)philox_u32(12, i);
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++)
        for (int few = 0; few < 2; few++) {
            check_list(formats[f], 1, N - 8, few, 1);
            check_list(formats[f], 9, 13000, few, 8);
            check_list(formats[f], 255 + (int)f % 4, 300, few, 3);
            check_list(formats[f], SPANS - 1, 120, few, 1000);
        }
    CHECK(gpu_lib->vec->decode_all(formats[0], 1, spans, 0, 0, stream) == 0, "an empty list");
    for (int i = 0; i < 3; i++)
        spans[i].n = 0;
    CHECK(gpu_lib->vec->decode_all(formats[0], 1, spans, 3, 0, stream) == 0 &&
              gpu_lib->run->wait(stream) == 0,
          "a list of nothing");
}

int main(void)
{
    gpu_lib = gpu_fixture_open().lib;
    const struct dev_run_ops *run = gpu_lib->run;
    CHECK(run->stream_open(false, &stream) == 0, "stream");
    x_gpu = run->alloc((N + 2 * GUARD) * sizeof *x_gpu);
    codes = run->alloc_pinned(4 * N + GUARD);
    spans = run->alloc_pinned(SPANS * sizeof *spans);
    x = malloc((N + 2 * GUARD) * sizeof *x);
    if (!x || !spans)
        return 1;
    check_formats();
    check_shapes();
    check_lists();
    run->free(x_gpu), run->free_pinned(codes), run->free_pinned(spans);
    run->stream_close(stream);
    free(x);
    DONE();
}
