/* cmd_cast.c : runs `narrowcast cast`, block by block. */
#include "app/app.h"
#include "app/files/cast_xrt.h"
#include "app/files/codes_in.h"
#include "app/files/layer_file.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/text.h"
#include "base/opt/opt.h"
#include "codec/codec.h"
#include "hls/arith/philox.h"
#include <stdlib.h>
#include <string.h>

struct cast_options {
    const char *codec, *weights, *state, *format, *scale, *overflow, *round, *on, *card, *xclbin;
    uint64_t seed;
};

#define AT(field) offsetof(struct cast_options, field)
static const struct opt opts[] = {
    {"codec", "C", "minifloat",
     "A codec, as in `train --codec`. IN is one layer, of rank 0 in step 0. Some codecs print `max "
     "X`, which uncast needs as --max X.",
     TEXT_AT(codec)},
    {"weights", "FILE", NULL,
     "Raw fp32 weights of the layer whose gradients IN holds: relgrad divides by them.",
     TEXT_AT(weights)},
    {"state", "FILE", NULL,
     "State that the codec keeps from step to step: read if the file exists, then replaced.",
     TEXT_AT(state)},
    {"format", "F", "e4m3",
     "fp32, fp16, bf16, e5m2, e4m3, e4m3fn, e3m0 or any eXmY (X 1..8, Y 0..23), eXmYfn or eXmYf "
     "(see `train --help format`).",
     TEXT_AT(format)},
    {"scale", "S", "none",
     "Multiply by a power of two before casting: none; const:K by K; aps by the largest factor for "
     "which no rounded value overflows the sum of one rank; aps-tight by the tightest one. Except "
     "for none, the exponent is printed as `shift N`, which uncast needs as --shift N.",
     TEXT_AT(scale)},
    {"overflow", "saturate|inf", "saturate",
     "Values that are too large become the largest finite value, or inf.", CHOICE_AT(overflow)},
    {"round", "nearest|stochastic|zero", "nearest",
     "nearest: ties go to even. stochastic: round up with the probability of the discarded part. "
     "zero: truncate.",
     CHOICE_AT(round)},
    {"seed", "N", "1",
     "Seed of stochastic rounding and of codecs that draw random numbers: the same seed gives the "
     "same codes.",
     SIZE_AT(seed, 0, 0)},
    {"on", "cpu|xrt", "cpu",
     "cpu: cast with the fastest backend of this CPU. xrt: cast on a card in this machine, through "
     "the Xilinx runtime. The codes are the same.",
     CHOICE_AT(on)},
    {CARD_WORDS_CARD, TEXT_AT(card)},
    {CARD_WORDS_XCLBIN, TEXT_AT(xclbin)},
};

static const struct opt_command command = {
    .name = "cast",
    .args = "IN OUT",
    .min_args = 2,
    .max_args = 2,
    .about = "Casts the raw little-endian fp32 values of IN to packed codes in OUT. Code i of a "
             "w-bit format occupies bits [i*w, (i+1)*w), counted from the lowest bit of the first "
             "byte: 8-bit codes are one byte each, 16-bit codes are little-endian. OUT appears "
             "only when it is complete.",
    .examples = "  build/narrowcast cast --format e5m2 grad.f32 grad.e5m2\n"
                "  # prints the shift for uncast, say `shift 14`\n"
                "  build/narrowcast cast --format e4m3 --scale aps grad.f32 grad.e4m3\n"
                "  build/narrowcast uncast --format e4m3 --shift 14 grad.e4m3 back.f32\n"
                "  build/narrowcast cast --codec qsgd:4 --seed 7 grad.f32 grad.qsgd\n"
                "  build/narrowcast cast --codec onebit --state left grad.f32 grad.signs\n"
                "  build/narrowcast cast --codec mx:e4m3 grad.f32 grad.mx\n"
                "  # prints the maximum for uncast, say `max 3.1`\n"
                "  build/narrowcast cast --codec relgrad --weights weights.f32 \\\n"
                "      grad.f32 grad.relgrad\n",
    .opts = opts,
    .n_opts = sizeof opts / sizeof *opts,
};

/* elements; a multiple of 8, so that blocks of codes begin on a byte */
enum { BLOCK = 1 << 16 };

struct cast_job {
    struct codec codec;
    uint64_t key;
    struct file_in in;
    struct file_out out;
    float *x;       /* [BLOCK] */
    uint8_t *codes; /* [BLOCK] codes, at most 32 bits each */
};

static int find_largest(void *arg, struct file_in *in, uint32_t *largest)
{
    const struct cast_job *j = arg;
    for (size_t n = 1; n;) {
        TRY(cast_in_read(in, j->x, BLOCK, &n));
        const uint32_t m = vec_best()->absmax(j->x, n);
        *largest = m > *largest ? m : *largest;
    }
    return 0;
}

static int cast_all(struct cast_job *j, int *shift)
{
    const struct codec_call call = {.codec = &j->codec};
    const struct reduce_op op = codec_reduce_op(&call);
    const struct codec_layer layer = {.index = 0};
    TRY(cast_in_shift(&j->codec, &j->in, find_largest, j, shift));
    size_t n = 1;
    for (size_t at = 0; n; at += n) {
        TRY(cast_in_read(&j->in, j->x, BLOCK, &n));
        struct vec_span span = {.x = j->x,
                                .codes = j->codes,
                                .n = n,
                                .padded = n,
                                .at = at,
                                .key = j->key,
                                .shift = *shift};
        codec_encode_all(&j->codec, &span, &(struct codec_part){.layer = &layer, .at = at}, 1);
        TRY(file_out_write(&j->out, j->codes, op.ops->in_bytes(&op, n)));
    }
    return 0;
}

static int cast_on(struct cast_job *j, const struct cast_options *o, int *shift)
{
    if (!strcmp(o->on, "xrt"))
        TRY(cast_xrt(&j->codec, &j->in, &j->out, card_words_name(o->card), o->xclbin, shift));
    else
        TRY(cast_all(j, shift));
    return file_out_commit(&j->out);
}

static int settle(const struct cast_options *o, struct codec *codec)
{
    const struct codec_spec spec = {.codec = o->codec,
                                    .format = o->format,
                                    .scale = o->scale,
                                    .overflow = o->overflow,
                                    .round = o->round};
    TRY(codec_parse(&spec, codec));
    TRY(codec_settle(codec, 1, &(struct codec_adder){.name = "cast"}));
    if (codec_asks_max(codec, NULL))
        return ERR(-EINVAL,
                   "cast has no --scale %s: need none, const:K, aps or aps-tight, or --codec "
                   "relgrad:of=gradient",
                   o->scale);
    if (codec_has_groups(codec))
        return ERR(
            -EINVAL,
            "cast has no --scale %s: a file of codes has one exponent; need aps or aps-tight",
            o->scale);
    TRY(card_words_check(o->on, o->card, o->xclbin));
    return strcmp(o->on, "xrt") ? 0 : cast_xrt_check(codec, o->round);
}

static int cast_layer(const struct cast_options *o, const struct opt_parsed *p)
{
#define GIVEN(name, word) opt_given(&command, p, name) ? (word) : NULL
    const struct codec_spec spec = {.codec = o->codec,
                                    .format = GIVEN("format", o->format),
                                    .scale = GIVEN("scale", o->scale),
                                    .overflow = GIVEN("overflow", o->overflow),
                                    .round = GIVEN("round", o->round)};
#undef GIVEN
    struct codec codec;
    float max;
    if (strcmp(o->on, "cpu"))
        return ERR(-EINVAL, "--on %s casts only minifloats, not --codec %s: use --on cpu", o->on,
                   o->codec);
    TRY(card_words_check(o->on, o->card, o->xclbin));
    TRY(codec_parse(&spec, &codec));
    TRY(codec_settle(&codec, 1, &(struct codec_adder){.name = "cast"}));
    codec.seed = o->seed;
    TRY(layer_file_cast(&codec, p->args[0], o->weights, o->state, p->args[1], &max));
    char number[32];
    if (layer_file_asks_max(&codec) && number_print(number, sizeof number, 9, (double)max) > 0)
        printf("max %s\n", number);
    return 0;
}

int cmd_cast(int argc, char **argv)
{
    struct cast_options o = {0};
    struct opt_parsed p;
    TRY(opt_parse(&command, argc, argv, &o, &p));
    if (p.help)
        return opt_help(&command, &p, stdout), 0;
    TRY(file_check_output(p.args[0], p.args[1]));
    if (!layer_file_is_minifloat(o.codec))
        return cast_layer(&o, &p);
    if (o.state)
        return ERR(-EINVAL, "--state '%s' has no effect: --codec %s keeps no state", o.state,
                   o.codec);
    if (o.weights)
        return ERR(-EINVAL, "--weights '%s' has no effect: --codec %s uses no weights", o.weights,
                   o.codec);

    struct cast_job j = {0};
    TRY(settle(&o, &j.codec));
    j.key = philox_key(o.seed, 0, 0, 0, 0);

    int shift = 0, rc = -ENOMEM;
    j.x = buf_alloc(BLOCK * sizeof *j.x);
    j.codes = buf_alloc(BLOCK * sizeof(uint32_t));
    if (j.x && j.codes)
        rc = file_in_open(&j.in, p.args[0]);
    if (!rc)
        rc = file_out_open(&j.out, p.args[1]);
    if (!rc)
        rc = cast_on(&j, &o, &shift);
    if (!rc && strcmp(o.scale, "none") != 0)
        printf("shift %d\n", shift);
    file_out_discard(&j.out);
    file_in_close(&j.in);
    free(j.codes);
    free(j.x);
    return rc;
}
