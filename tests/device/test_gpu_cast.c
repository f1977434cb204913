/* test_gpu_cast.c : casts from floats to codes on the GPU have the plain backend's bits. */
#include "check.h"
#include "gpu_fixture.h"
#include "vec_inputs.h"
#include "device/vec/dev_vec.h"
#include "vec/vec.h"
#include <inttypes.h>

enum { N = 1 << 12, GUARD = 64 };

static const struct dev_library *gpu_lib;
static struct dev_stream *stream;
static float *x_gpu;
static uint8_t *codes;
static struct vec_span *spans;

static void check_block(const struct vec_cast *cast, const float *x, size_t n, size_t at, int shift)
{
    static uint8_t want[4 * N + GUARD];
    const size_t bytes = vec_bytes(cast->fmt, n);
    const struct dev_vec_ops *vec = gpu_lib->vec;
    memset(want, 0xa5, sizeof want);
    vec_plain.encode(cast, x, n, at, shift, want);
    CHECK(gpu_lib->run->copy(x_gpu, x, n * sizeof *x, stream) == 0, "copy");
    for (int scan = 0; scan < 2; scan++) {
        struct vec_cast on_gpu = *cast;
        on_gpu.key = 0; /* the span's own key counts */
        memset(codes, 0xa5, 4 * N + GUARD);
        *spans = (struct vec_span){.x = x_gpu,
                                   .codes = codes,
                                   .n = n,
                                   .padded = n,
                                   .at = at,
                                   .key = cast->key,
                                   .shift = shift,
                                   .absmax = scan ? 0 : 7};
        const int rc = (scan ? vec->scan_encode : vec->encode)(&on_gpu, spans, 1, n, stream);
        CHECK(rc == 0 && gpu_lib->run->wait(stream) == 0, "cast: %d", rc);
        CHECK(spans->absmax == (scan ? vec_plain.absmax(x, n) : 7), "absmax %08" PRIx32,
              spans->absmax);
        for (size_t i = 0; i < bytes + GUARD && memcmp(want, codes, bytes + GUARD) != 0; i++)
            CHECK(want[i] == codes[i],
                  "e%um%u%s round %d overflow %d trunc %d shift %d: byte %zu of %zu is %02x, want "
                  "%02x, of %08" PRIx32,
                  cast->fmt.e, cast->fmt.m, mf_suffix(cast->fmt), (int)cast->round,
                  (int)cast->overflow, cast->trunc, shift, i, bytes, codes[i], want[i],
                  bits_of(x[i < bytes ? i * n / bytes : 0]));
    }
}

static void check_boundaries(struct vec_cast cast, int shift, size_t n, size_t at)
{
    static float x[N];
    for (size_t i = 0; i < n; i++)
        x[i] = vec_input(cast.fmt, shift, at + i);
    check_block(&cast, x, n, at, shift);
}

/* Casts a whole tile. Fractions are random or near the format's boundaries. Inf or nan would move
 * neighbours to another path. */
static void check_exponents(struct vec_cast cast, int shift)
{
    static float x[N];
    for (uint32_t i = 0; i < N; i++) {
        const uint32_t r = philox_u32(99, i), exponent = i / 16 % 255,
                       unit = cast.fmt.m < 23 ? 1u << (22 - cast.fmt.m) : 1;
        const uint32_t fraction = i % 4 == 3 ? r : (r & ~(unit - 1)) + i % 4 - 1;
        x[i] = float_of((r & 0x80000000) | exponent << 23 | (fraction & 0x7fffff));
    }
    check_block(&cast, x, N, 0, shift);
}

static void check_named(void)
{
    static const struct mf_fmt named[] = {{5, 2, 0},  {4, 3, 0}, {4, 3, 1}, {3, 0, 0},
                                          {5, 10, 0}, {8, 7, 0}, {2, 1, 2}, {2, 5, 2},
                                          {5, 2, 1},  {6, 1, 0}, {6, 9, 0}};
    static const int shifts[] = {0,    1,   -1,   10,  -17,  60,  -60,  112,    126,
                                 -126, 127, -127, 140, -149, 300, -300, 1 << 20};
    for (size_t f = 0; f < sizeof named / sizeof *named; f++)
        for (size_t s = 0; s < sizeof shifts / sizeof *shifts; s++)
            for (int overflow = MF_SATURATE; overflow <= MF_INF; overflow++) {
                const struct vec_cast cast = {.fmt = named[f],
                                              .overflow = (enum mf_overflow)overflow};
                struct vec_cast draws = cast;
                draws.round = MF_STOCHASTIC;
                draws.key = s;
                check_exponents(cast, shifts[s]);
                check_exponents(draws, shifts[s]);
                if (shifts[s] < 1000)
                    check_boundaries(cast, shifts[s], 512, s);
            }
    for (size_t s = 0; s < sizeof shifts / sizeof *shifts; s++) {
        const struct vec_cast trunc = {.fmt = {5, 2, 0}, .trunc = true};
        check_exponents(trunc, shifts[s]);
    }
}

static void check_all_formats(void)
{
    size_t at = 0;
    for (unsigned e = 1; e <= 8; e++)
        for (unsigned m = 0; m <= 23; m++)
            for (unsigned fn = 0; fn <= (e < 8 && m > 0); fn++)
                for (unsigned way = 0; way < 6; way++, at += 8) {
                    const struct vec_cast cast = {.fmt = {(uint8_t)e, (uint8_t)m, (uint8_t)fn},
                                                  .round = (enum mf_round)(way % 3),
                                                  .overflow = (enum mf_overflow)(way / 3),
                                                  .key = 0x123456789abcdefull + way};
                    check_boundaries(cast, (int)(at / 8 % 41) - 20, 300 + at % 77, at << 20);
                    check_boundaries(cast, 0, 1 + at % 40, at);
                }
}

static void check_lower_halves(void)
{
    static const struct mf_fmt formats[] = {{5, 2, 0},  {4, 3, 1}, {3, 0, 0},
                                            {5, 10, 0}, {3, 2, 0}, {2, 3, 2}};
    static float x[N];
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++)
        for (size_t at = 0; at < (size_t)9 << 32; at += (size_t)4 << 32) {
            const struct vec_cast cast = {
                .fmt = formats[f], .round = MF_STOCHASTIC, .key = 0xfedcba987654321ull + f};
            for (size_t i = 0; i < N; i++)
                x[i] = vec_rest(cast.fmt, vec_rest_near(philox_round_u32(cast.key, at + i), i), -3);
            check_block(&cast, x, N, at, -3);
        }
}

int main(void)
{
    gpu_lib = gpu_fixture_open().lib;
    const struct dev_run_ops *run = gpu_lib->run;
    CHECK(run->stream_open(false, &stream) == 0, "stream");
    x_gpu = run->alloc(N * sizeof *x_gpu);
    codes = run->alloc_pinned(4 * N + GUARD);
    spans = run->alloc_pinned(sizeof *spans);
    check_named();
    check_all_formats();
    check_lower_halves();
    run->free(x_gpu), run->free_pinned(codes), run->free_pinned(spans);
    run->stream_close(stream);
    DONE();
}
