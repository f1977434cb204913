/* nc_cast.c : casts of the public interface, without a communicator. */
#include "codec/codec_kind.h"
#include "codec/codec_whole.h"
#include "hls/arith/philox.h"
#include "job/nc_inside.h"
#include <float.h>
#include <math.h>

/* One call. Elements are cast one by one (`plain`), or by the codec as a whole layer. */
struct caster {
    struct nc_options options;
    struct err_lines lines, *before;
    fenv_t fp; /* the caller's */
    struct codec codec;
    bool plain;
    struct vec_cast cast;
    struct codec_whole whole;
};

static int settle(const struct nc_options *o, size_t n, struct caster *c)
{
    if (n > NC_ELEMENTS_MAX)
        return ERR(-EINVAL, "cannot cast %zu elements: at most 2^40", n);
    const struct codec_spec spec = {.codec = o->codec,
                                    .format = o->format,
                                    .scale = o->scale,
                                    .overflow = o->overflow,
                                    .round = o->round};
    TRY(codec_parse(&spec, &c->codec));
    TRY(codec_settle(&c->codec, 1, &(struct codec_adder){.name = "cast"}));
    c->codec.seed = o->seed;
    c->plain = codec_cast(&c->codec, &c->cast) && !codec_has_groups(&c->codec);
    c->cast.key = philox_key(o->seed, 0, 0, 0, 0);
    char text[CODEC_TEXT_BYTES];
    if (codec_asks_weights(&c->codec) || (c->codec.kind == &codec_minifloat && !c->plain))
        return ERR(-EINVAL,
                   "cannot cast with \"%s\": its codes need weights, exponents of groups or a "
                   "quantile; need scale none, const:K, aps or aps-tight, or codec "
                   "relgrad:of=gradient",
                   codec_describe(&c->codec, text));
    if (!c->plain)
        codec_whole(&c->codec, n ? n : 1, &c->whole);
    return 0;
}

static int find_shift(const struct caster *c, const float *x, size_t n, int *shift)
{
    const struct mf_fmt fmt = c->cast.fmt;
    const bool looks = codec_guess(&c->codec) == CODEC_NO_GUESS || fmt.flavour == MF_NUMBERS;
    const uint32_t largest = looks ? vec_best()->absmax(x, n) : 0;
    const int8_t exponent = codec_exponent(&c->codec, largest);
    char name[CODEC_NAME_BYTES];
    if (largest >= 0x7f800000)
        return ERR(-EINVAL, "cannot cast inf or nan to %s%s", codec_format_name(fmt, name),
                   fmt.flavour == MF_NUMBERS ? ", which has neither" : " with this scale");
    *shift = codec_shift(&c->codec, exponent);
    return 0;
}

static int64_t cast(struct caster *c, const float *x, size_t n, double *scale, uint8_t *codes)
{
    const size_t bytes = c->plain ? vec_bytes(c->cast.fmt, n)
                         : n      ? reduce_op_in_at(&c->whole.op, c->whole.padded)
                                  : 0;
    int shift = 0;
    if (!codes)
        return (int64_t)bytes;
    if (!scale || (n && !x))
        return ERR(-EINVAL, "cannot cast: a pointer is NULL");
    if (c->plain) {
        TRY(find_shift(c, x, n, &shift));
        vec_best()->encode(&c->cast, x, n, 0, shift, codes);
    } else if (n) {
        TRY(codec_whole_encode(&c->whole, x, "x", codes));
    }
    *scale = c->plain ? ldexp(1, shift) : n ? (double)c->whole.layer.max : 0;
    return (int64_t)bytes;
}

static int uncast(struct caster *c, const uint8_t *codes, size_t n, double scale, float *x)
{
    int exponent = 0;
    if (n && (!x || !codes))
        return ERR(-EINVAL, "cannot uncast: a pointer is NULL");
    if (c->plain ? frexp(scale, &exponent) != 0.5 : !(scale >= 0 && scale <= FLT_MAX))
        return ERR(-EINVAL, "cannot uncast with scale %g: not one of nc_cast()", scale);
    if (c->plain)
        vec_best()->decode(c->cast.fmt, codes, n, 1 - exponent, 1.0f, x);
    c->whole.layer.max = (float)scale;
    return c->plain || !n ? 0 : codec_whole_decode(&c->whole, codes, x);
}

static int begin(const struct nc_options *options, size_t n, struct caster *c)
{
    fp_env_enter(&c->fp);
    const int rc = nc_options_copy(options, &c->options);
    c->lines = nc_lines(&c->options);
    c->before = err_turn(&c->lines);
    return rc < 0 ? nc_options_refuse(rc) : settle(&c->options, n, c);
}

static int64_t end(struct caster *c, int64_t rc)
{
    err_turn(c->before);
    nc_thread_failed(&c->lines, rc < 0 ? (int)rc : 0);
    fesetenv(&c->fp);
    return rc;
}

int64_t nc_cast(const struct nc_options *options, const float *x, size_t n, double *scale,
                void *codes)
{
    struct caster c;
    const int rc = begin(options, n, &c);
    return end(&c, rc < 0 ? rc : cast(&c, x, n, scale, codes));
}

int nc_uncast(const struct nc_options *options, const void *codes, size_t n, double scale, float *x)
{
    struct caster c;
    const int rc = begin(options, n, &c);
    return (int)end(&c, rc < 0 ? rc : uncast(&c, codes, n, scale, x));
}
