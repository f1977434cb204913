/* cmd_uncast.c : runs `narrowcast uncast`, block by block. */
#include "app/app.h"
#include "app/files/cast_xrt.h"
#include "app/files/codes_in.h"
#include "app/files/layer_file.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/opt/opt.h"
#include "codec/codec.h"
#include <stdlib.h>
#include <string.h>

struct uncast_options {
    const char *codec, *weights, *format, *on, *card, *xclbin;
    double max;
    int64_t shift;
    uint64_t count;
};

#define AT(field) offsetof(struct uncast_options, field)
static const struct opt opts[] = {
    {"codec", "C", "minifloat", "The codec that was given to `cast`.", TEXT_AT(codec)},
    {"weights", "FILE", NULL, "The weights that were given to `cast --codec`.", TEXT_AT(weights)},
    {"max", "X", "1",
     "The `max X` that `cast --codec` printed; only ternary, nvfp4 and relgrad have and need it.",
     REAL_AT(max, 0, 0x1.fffffep127)},
    {"format", "F", "e4m3", "The format that was given to `cast`.", TEXT_AT(format)},
    {"shift", "N", "0", "Divide by 2^N, the `shift N` that `cast --scale` printed.",
     INT_AT(shift, -400, 400)},
    {"count", "N", "0",
     "Number of values. Needed for formats of fewer than 8 bits and for --codec, whose files are "
     "padded. 0: as many as fit, padding included.",
     SIZE_AT(count, 0, 1e15)},
    {"on", "cpu|xrt", "cpu",
     "cpu: cast with the fastest backend of this CPU. xrt: cast on a card in this machine, through "
     "the Xilinx runtime. The values are the same.",
     CHOICE_AT(on)},
    {CARD_WORDS_CARD, TEXT_AT(card)},
    {CARD_WORDS_XCLBIN, TEXT_AT(xclbin)},
};

static const struct opt_command command = {
    .name = "uncast",
    .args = "IN OUT",
    .min_args = 2,
    .max_args = 2,
    .about = "Casts packed codes, as `cast` writes them, back to raw little-endian fp32 values in "
             "OUT. OUT appears only when it is complete.",
    .examples = "  build/narrowcast uncast --format e5m2 grad.e5m2 back.f32\n"
                "  build/narrowcast uncast --format e3m0 --count 1001 --shift 5 \\\n"
                "      grad.e3m0 back.f32\n"
                "  build/narrowcast uncast --codec qsgd:4 --count 1001 grad.qsgd back.f32\n"
                "  build/narrowcast uncast --codec relgrad --weights weights.f32 --max 3.1 \\\n"
                "      --count 1001 grad.relgrad back.f32\n",
    .opts = opts,
    .n_opts = sizeof opts / sizeof *opts,
};

static int uncast_all(struct codes_in *in, int shift, struct file_out *out, uint8_t *codes,
                      float *x)
{
    for (size_t n = 1; n;) {
        TRY(codes_in_read(in, codes, &n));
        vec_best()->decode(in->fmt, codes, n, -shift, 1.0f, x);
        TRY(file_out_write(out, x, n * sizeof *x));
    }
    return 0;
}

static int uncast_on(const struct uncast_options *o, struct codes_in *in, struct file_out *out,
                     uint8_t *codes, float *x)
{
    if (!strcmp(o->on, "xrt"))
        TRY(uncast_xrt(in, -(int)o->shift, out, card_words_name(o->card), o->xclbin));
    else
        TRY(uncast_all(in, (int)o->shift, out, codes, x));
    return file_out_commit(out);
}

static int refuse_max(const struct uncast_options *o, const struct opt_parsed *p)
{
    return opt_given(&command, p, "max")
               ? ERR(-EINVAL, "--max has no effect with --codec %s: leave it out", o->codec)
               : 0;
}

static int uncast_layer(const struct uncast_options *o, const struct opt_parsed *p)
{
    struct codec codec;
    const struct codec_spec spec = {.codec = o->codec,
                                    .format = opt_given(&command, p, "format") ? o->format : NULL};
    if (strcmp(o->on, "cpu"))
        return ERR(-EINVAL, "--on %s casts only minifloats, not --codec %s: use --on cpu", o->on,
                   o->codec);
    TRY(card_words_check(o->on, o->card, o->xclbin));
    TRY(codec_parse(&spec, &codec));
    TRY(codec_settle(&codec, 1, &(struct codec_adder){.name = "uncast"}));
    if (layer_file_asks_max(&codec) && !opt_given(&command, p, "max"))
        return ERR(-EINVAL, "--codec %s needs --max X, which `cast` printed", o->codec);
    if (!layer_file_asks_max(&codec))
        TRY(refuse_max(o, p));
    if (opt_given(&command, p, "shift"))
        return ERR(-EINVAL, "--shift has no effect with --codec %s: leave it out", o->codec);
    return layer_file_uncast(&codec, p->args[0], o->weights, o->count, (float)o->max, p->args[1]);
}

int cmd_uncast(int argc, char **argv)
{
    struct uncast_options o = {0};
    struct opt_parsed p;
    TRY(opt_parse(&command, argc, argv, &o, &p));
    if (p.help)
        return opt_help(&command, &p, stdout), 0;
    TRY(file_check_output(p.args[0], p.args[1]));
    if (!layer_file_is_minifloat(o.codec))
        return uncast_layer(&o, &p);
    if (o.weights)
        return ERR(-EINVAL, "--weights '%s' has no effect: --codec %s uses no weights", o.weights,
                   o.codec);
    TRY(refuse_max(&o, &p));
    struct mf_fmt fmt;
    TRY(vec_best_check());
    TRY(codec_format_parse("--format", o.format, &fmt));
    TRY(card_words_check(o.on, o.card, o.xclbin));
    int rc = -ENOMEM;
    struct codes_in in = {0};
    struct file_out out = {0};
    float *x = buf_alloc(CODES_IN_BLOCK * sizeof *x);
    uint8_t *codes = buf_alloc(vec_bytes(fmt, CODES_IN_BLOCK));
    if (x && codes)
        rc = codes_in_open(&in, p.args[0], fmt, o.count);
    if (!rc)
        rc = file_out_open(&out, p.args[1]);
    if (!rc)
        rc = uncast_on(&o, &in, &out, codes, x);
    file_out_discard(&out);
    codes_in_close(&in);
    free(codes);
    free(x);
    return rc;
}
