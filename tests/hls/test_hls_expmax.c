/* test_hls_expmax.c : compares the HLS core for exponents with the codec's. */
#include "check.h"
#include "codec/codec_minifloat.h"
#include "hls/core/expmax.h"
#include "hls/arith/philox.h"
#include <string.h>

enum { SEED = 3, MAX_N = 200, GARBAGE = 0x7fc00000 };
static uint64_t drawn;
static struct beat x[MAX_N / 16 + 2];
static float plain[MAX_N];

static uint32_t draw(void)
{
    return philox_u32(SEED, drawn++);
}

static uint32_t value(unsigned kind)
{
    uint32_t sign = draw() & 0x80000000, frac = draw() & 0x7fffff;
    switch (kind) {
    case 0:
        return sign | (draw() % 0x7f800000);
    case 1:
        return sign | 0x7e800000 | (draw() & 0xffffff);
    case 2:
        return sign | (frac >> draw() % 24);
    case 3:
        return sign;
    case 4: /* powers of two: ceil is an equality */
        return sign | draw() % 255 << 23;
    default:
        return draw() % 8 ? sign | draw() % 0x7f800000
                          : sign | 0x7f800000 | (draw() % 2 ? frac : 0);
    }
}

int main(void)
{
    printf("seed %d\n", SEED);
    static const uint32_t ranks[] = {1, 2, 3, 5, 8, 64, 1000, 65536};
    for (unsigned round = 0; round < 20000; round++) {
        uint32_t n = draw() % MAX_N, p = ranks[draw() % 8];
        for (uint32_t i = 0; i < 16 * (MAX_N / 16 + 2); i++)
            x[i / 16].w[i % 16] = i < n ? value(round % 6) : GARBAGE;
        for (uint32_t i = 0; i < n; i++)
            memcpy(&plain[i], &x[i / 16].w[i % 16], sizeof *plain);
        struct codec codec = {.kind = &codec_minifloat, .n_ranks = (int)p};
        minifloat_set(&codec, &(struct minifloat){.scale = CODEC_APS, .share = (int)p});
        uint32_t want_max = vec_plain.absmax(plain, n), max = 1, status = 1;
        int32_t e = 1000;
        expmax_kernel(x, n, p, &e, &max, &status);
        CHECK(max == want_max || (max >= 0x7f800000 && want_max >= 0x7f800000),
              "n %u: largest %x, want %x", n, max, want_max);
        CHECK(e == codec_exponent(&codec, want_max), "n %u, %u ranks: exponent %d, largest %x", n,
              p, e, want_max);
        CHECK(status == 0, "refused");
        expmax_kernel(x, n, 0, &e, &max, &status);
        CHECK(status == EXPMAX_REFUSED && e == 0, "no ranks were taken");
    }
    DONE();
}
