/* test_grad_counts.c : compares --stats's counts and errors with plain loops over mf.h. */
#include "base/bits.h"
#include "app/train/grad_stats.h"
#include "check.h"
#include "codec/codec.h"
#include "hls/arith/philox.h"
#include "vec/round_off.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { SEED = 3, N = 3000 };

static void fill(float *x, uint64_t key, bool finite)
{
    for (uint64_t i = 0; i < N; i++) {
        uint32_t bits = philox_u32(key, i);
        if (i % 4)
            x[i] = ldexpf((float)(int32_t)bits, (int)(philox_u32(key + 1, i) % 40) - 55);
        else
            memcpy(x + i, &bits, sizeof bits);
        if (i % 50 == 7)
            x[i] = i % 100 == 7 ? 0.0f : -0.0f;
        if (finite && !isfinite(x[i]))
            x[i] = 1;
    }
}

static void check_bins(const float *x)
{
    static struct grad_counts got, want;
    memset(&got, 0, sizeof got);
    for (size_t at = 0; at < N; at += 700)
        grad_counts_add(&got, x + at, N - at < 700 ? N - at : 700);
    double all = got.zero + got.not_finite;
    for (int e = 0; e < GRAD_BINS; e++) {
        const double least = ldexp(1, e + GRAD_EXPONENT_MIN);
        for (int i = 0; i < N; i++)
            want.bins[e] += fabs((double)x[i]) >= least && fabs((double)x[i]) < 2 * least;
        CHECK(got.bins[e] == want.bins[e], "2^%d: %g values, want %g", e + GRAD_EXPONENT_MIN,
              got.bins[e], want.bins[e]);
        all += got.bins[e];
    }
    for (int i = 0; i < N; i++)
        want.zero += x[i] == 0, want.not_finite += !isfinite(x[i]);
    CHECK(got.zero == want.zero && got.zero > 0, "%g zeros, want %g", got.zero, want.zero);
    CHECK(got.not_finite == want.not_finite && got.not_finite > 0, "%g not finite, want %g",
          got.not_finite, want.not_finite);
    CHECK(all == N, "%g values in all", all);
}

/* These values do not depend on the user's overflow rule. */
static void check_cast(const float *x, struct mf_fmt fmt, int shift, enum mf_round round,
                       bool trunc)
{
    struct codec_lost got = {.underflow = 0};
    uint64_t underflow = 0, saturate = 0;
    const double most = (double)float_of(mf_dec(fmt, mf_max(fmt), 0)),
                 before = (double)float_of(mf_dec(fmt, mf_max(fmt) - 1, 0));
    for (enum mf_overflow overflow = MF_SATURATE; overflow <= MF_INF; overflow++) {
        const struct vec_cast cast = {
            .fmt = fmt, .round = round, .overflow = overflow, .trunc = trunc, .key = 5};
        got = (struct codec_lost){.underflow = 0};
        underflow = saturate = 0;
        for (size_t at = 0; at < N; at += 1000)
            codec_lost_add(&got, &cast, shift, x + at, 1000, at);
        for (uint64_t i = 0; i < N; i++) {
            const uint32_t b = bits_of(x[i]), random = philox_round_u32(5, i);
            const uint32_t code =
                trunc ? mf_e5m2_trunc_enc(b, shift) : mf_enc(fmt, b, shift, round, MF_INF, random);
            const struct mf_num v = mf_unpack(fmt, code);
            if (x[i] == 0 || !isfinite(x[i]))
                continue;
            underflow += v.kind == MF_FINITE && v.sig == 0;
            if (trunc)
                saturate += ldexp(fabs((double)x[i]), shift) >= 65504 + 16;
            else if (fmt.flavour == MF_NUMBERS) /* nearest: half a unit beyond the largest */
                saturate += ldexp(fabs((double)x[i]), shift) >= most + (most - before) / 2;
            else
                saturate += v.kind != MF_FINITE;
        }
        CHECK(got.underflow == underflow && underflow > 0,
              "e%dm%d shift %d round %d: %" PRIu64 " underflow, want %" PRIu64, fmt.e, fmt.m, shift,
              round, got.underflow, underflow);
        CHECK(got.saturated == saturate && (saturate > 0 || round == MF_ZERO),
              "e%dm%d shift %d round %d: %" PRIu64 " saturate, want %" PRIu64, fmt.e, fmt.m, shift,
              round, got.saturated, saturate);
    }
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void check_errors(void)
{
    static double ref[N], quotients[N];
    static float x[N];
    struct round_off r;
    double diff2 = 0, ref2 = 0, x2 = 0, dot = 0, sum = 0;
    size_t n = 0;
    if (round_off_open(&r) < 0)
        exit(1);
    for (uint64_t i = 0; i < N; i++) {
        ref[i] = i % 31 == 0 ? 0 : ldexp((double)philox_u32(9, i) + 1, -30) * (i % 2 ? 1 : -1);
        x[i] =
            (float)(ref[i] * (1 + ldexp((double)philox_u32(10, i), -34))) + (i % 62 == 0 ? 1 : 0);
        const double diff = (double)x[i] - ref[i];
        diff2 += diff * diff, ref2 += ref[i] * ref[i];
        x2 += (double)x[i] * (double)x[i], dot += (double)x[i] * ref[i];
        if (ref[i] != 0)
            sum += quotients[n++] = fabs(diff / ref[i]);
    }
    qsort(quotients, n, sizeof *quotients, by_size);
    round_off_add(&r, ref, x, N);
    round_off_clear(&r);
    for (size_t at = 0; at < N; at += 999)
        round_off_add(&r, ref + at, x + at, N - at < 999 ? N - at : 999);
    const double median = quotients[(n - 1) / 2];
    CHECK(fabs(round_off_l2(&r) / sqrt(diff2 / ref2) - 1) < 1e-12, "L2 %g", round_off_l2(&r));
    CHECK(fabs(round_off_cosine(&r) / (dot / sqrt(x2 * ref2)) - 1) < 1e-12, "cosine %g",
          round_off_cosine(&r));
    CHECK(fabs(round_off_slope(&r) / (dot / ref2) - 1) < 1e-12, "slope %g", round_off_slope(&r));
    CHECK(fabs(round_off_mean(&r) / (sum / (double)n) - 1) < 1e-6, "mean %g", round_off_mean(&r));
    CHECK(fabs(round_off_median(&r) / median - 1) < 0.004, "median %g, want %g",
          round_off_median(&r), median);
    round_off_clear(&r);
    CHECK(round_off_l2(&r) == 0 && isnan(round_off_mean(&r)) && isnan(round_off_median(&r)) &&
              isnan(round_off_cosine(&r)) && isnan(round_off_slope(&r)),
          "of nothing there is an error");
    round_off_close(&r);
}

int main(void)
{
    static float x[N];
    printf("seeds %d, 5, 9, 10\n", SEED);
    fill(x, SEED, false);
    check_bins(x);
    const struct mf_fmt formats[] = {{4, 3, 0}, {5, 2, 0}, {4, 3, 1}, {3, 0, 0}, {6, 9, 0}};
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++)
        for (int shift = -9; shift <= 9; shift += 9)
            for (enum mf_round round = MF_NEAREST; round <= MF_ZERO; round++)
                check_cast(x, formats[f], shift, round, false);
    for (int shift = -9; shift <= 9; shift += 9) {
        check_cast(x, (struct mf_fmt){1, 2, MF_NUMBERS}, shift, MF_NEAREST, false);
        check_cast(x, (struct mf_fmt){2, 1, MF_NUMBERS}, shift, MF_NEAREST, false);
        check_cast(x, (struct mf_fmt){4, 3, MF_NUMBERS}, shift, MF_NEAREST, false);
    }
    check_cast(x, (struct mf_fmt){5, 2, 0}, 4, MF_NEAREST, true);
    fill(x, SEED + 9, true);
    check_errors();
    DONE();
}
