/* test_nc_cast.c : tests nc_cast() and nc_uncast(): codes are those of the plain backend at the
 * power of two that a scale chooses, and codecs bring back their values. */
#include "check.h"
#include "codec/codec.h"
#include <errno.h>
#include <math.h>
#include <narrowcast.h>
#include <string.h>

enum { N = 1003, ROOM = 4 * N + 8 };
static float x[N], back[N], wanted[N];
static uint8_t codes[ROOM], others[ROOM];

static void fill(void)
{
    for (int i = 0; i < N; i++)
        x[i] = (float)(i % 37 - 18) * ldexpf(1.0f, i % 11 - 5);
    x[N - 1] = 1000.0f; /* the largest */
}

static struct nc_options options(const char *format, const char *scale, const char *round)
{
    struct nc_options o = nc_options_default();
    o.format = format, o.scale = scale, o.round = round;
    return o;
}

static void check_format(const char *name, const char *scale, const char *round, int shift)
{
    static const enum mf_round modes[] = {MF_NEAREST, MF_ZERO};
    const struct nc_options o = options(name, scale, round);
    struct vec_cast cast = {.round = modes[!strcmp(round, "zero")], .overflow = MF_SATURATE};
    double by = 0;
    CHECK(codec_format_parse("format", name, &cast.fmt) == 0, "%s", name);
    const size_t bytes = vec_bytes(cast.fmt, N);
    CHECK(nc_cast(&o, NULL, N, NULL, NULL) == (int64_t)bytes, "%s: bytes", name);
    memset(codes, 0xee, sizeof codes);
    CHECK(nc_cast(&o, x, N, &by, codes) == (int64_t)bytes && codes[bytes] == 0xee, "%s", name);
    CHECK(by == ldexp(1, shift), "%s %s: scale %g, not 2^%d", name, scale, by, shift);
    vec_plain.encode(&cast, x, N, 0, shift, others);
    CHECK(!memcmp(codes, others, bytes), "%s %s %s: other codes", name, scale, round);
    CHECK(nc_uncast(&o, codes, N, by, back) == 0, "%s: uncast", name);
    vec_plain.decode(cast.fmt, codes, N, -shift, 1.0f, wanted);
    CHECK(!memcmp(back, wanted, sizeof back), "%s %s: other values", name, scale);
}

/* error: of the largest value in a block of 32 */
static void check_codec(const char *codec, double error)
{
    struct nc_options o = nc_options_default();
    double by = 0;
    o.codec = codec;
    const int64_t bytes = nc_cast(&o, x, N, &by, codes);
    CHECK(bytes > 0 && bytes == nc_cast(&o, NULL, N, NULL, NULL), "%s: bytes", codec);
    CHECK(by == 1000 && nc_uncast(&o, codes, N, by, back) == 0, "%s: largest %g", codec, by);
    for (int i = 0; i < N; i++) {
        double largest = 0;
        for (int j = i / 32 * 32; j < N && j < i / 32 * 32 + 32; j++)
            largest = fmax(largest, fabs((double)x[j]));
        CHECK(fabs((double)back[i] - (double)x[i]) <= error * largest, "%s: %g for %g", codec,
              (double)back[i], (double)x[i]);
    }
}

static void check_refused(struct nc_options o, double by, const char *why)
{
    float one[1] = {INFINITY};
    double out = 7;
    const bool uncasts = by != 0;
    const int64_t rc =
        uncasts ? nc_uncast(&o, codes, 1, by, one) : nc_cast(&o, one, 1, &out, codes);
    CHECK(rc == -EINVAL && out == 7, "%s: %d", why, (int)rc);
    CHECK(strstr(nc_last_error(NULL), why), "'%s', not '%s'", nc_last_error(NULL), why);
}

int main(void)
{
    fill();
    for (int i = 0; i < 2; i++) {
        const char *round = i ? "zero" : "nearest";
        check_format("e4m3", "none", round, 0);
        check_format("e2m1f", "none", round, 0);
        check_format("e5m10", "const:0.125", round, -3);
        check_format("fp32", "none", round, 0);
    }
    check_format("e4m3", "aps-tight", "nearest", -3); /* 1000 / 8 < 240 < 1000 / 4 */
    check_codec("mx:e4m3", 1.0 / 8);
    check_codec("nvfp4", 0.5);
    check_refused(options("e4m3", "aps", NULL), 0,
                  "cannot cast inf or nan to e4m3 with this scale");
    check_refused(options("e2m1f", NULL, NULL), 0,
                  "cannot cast inf or nan to e2m1f, which has neither");
    check_refused(options("e4m3", "aps:32", NULL), 0, "exponents of groups");
    check_refused(options("e4m3", "quantile", NULL), 0, "quantile");
    check_refused(options("e9m9", NULL, NULL), 0, "e9m9");
    struct nc_options qsgd = nc_options_default();
    qsgd.codec = "qsgd:4";
    CHECK(nc_cast(&qsgd, NULL, SIZE_MAX, NULL, NULL) == -EINVAL &&
              nc_uncast(&qsgd, codes, SIZE_MAX, 1, x) == -EINVAL,
          "SIZE_MAX elements");
    check_refused(options("e4m3", NULL, NULL), 3, "cannot uncast with scale 3");
    check_refused(options("e4m3", NULL, NULL), NAN, "cannot uncast with scale nan");
    DONE();
}
