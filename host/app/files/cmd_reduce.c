/* cmd_reduce.c : runs `narrowcast reduce`, block by block. */
#include "app/app.h"
#include "app/files/cast_xrt.h"
#include "app/files/codes_in.h"
#include "app/files/reduce_card.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/opt/opt.h"
#include "codec/codec.h"
#include <stdlib.h>
#include <string.h>

struct reduce_options {
    const char *format, *sum, *acc_format, *out_format, *overflow, *on, *wave, *card, *xclbin;
    int64_t out_shift;
    uint64_t count;
};

#define AT(field) offsetof(struct reduce_options, field)
static const struct opt opts[] = {
    {"format", "F", "e4m3", "Format of the input codes.", TEXT_AT(format)},
    {"sum", "RULE", "auto",
     "exact (rounded once, at the end), fp32 (added in fp32, rounded once), nearest (each addition "
     "rounded), kahan, trunc (only e5m2), auto: exact where the format allows it, else fp32. Files "
     "are added in the order given.",
     TEXT_AT(sum)},
    {"acc-format", "F", "auto",
     "With --sum nearest or kahan: the format of partial sums, for example e6m9 or e5m10 with "
     "--format e5m2. It must represent every number of --format. auto: --format.",
     TEXT_AT(acc_format)},
    {"out-format", "F", "auto",
     "Format of the sum's codes. auto: --format, but e4m3 for formats of at most 4 bits, except "
     "with --sum nearest and kahan.",
     TEXT_AT(out_format)},
    {"out-shift", "C", "0", "Divide the sum by 2^C before it is rounded (only --sum exact).",
     INT_AT(out_shift, 0, 62)},
    {"overflow", "saturate|inf", "saturate",
     "Values that are too large become the largest finite value, or inf.", CHOICE_AT(overflow)},
    {"count", "N", "0",
     "Number of codes in each file, needed where the length does not tell. 0: as many as fit.",
     SIZE_AT(count, 0, 0)},
    {"on", "ref|cpu|hls|c|rtl|xrt", "ref",
     "The adder: ref, the plain reference; cpu, the fastest backend of this CPU; hls, the HLS "
     "core; c, a card in plain C; rtl, the Verilated RTL of a card (needs a build with "
     "Verilator); xrt, a card in this machine, through the Xilinx runtime. The sums are the same.",
     CHOICE_AT(on)},
    {CARD_WORDS_CARD, TEXT_AT(card)},
    {CARD_WORDS_XCLBIN, TEXT_AT(xclbin)},
    {"wave", "FILE.fst", NULL,
     "Write all signals of the card to this file, for GTKWave (--on rtl).", TEXT_AT(wave)},
};

static const struct opt_command command = {
    .name = "reduce",
    .args = "IN0 [IN1 ...] OUT",
    .min_args = 2,
    .max_args = 1 << 16,
    .about =
        "Adds files of packed codes element by element, as the ranks of a job would, and "
        "writes the codes of the sum to OUT, which may be one of the inputs. OUT appears only when "
        "it is complete.",
    .examples = "  build/narrowcast reduce --format e5m2 --sum exact \\\n"
                "      rank0.e5m2 rank1.e5m2 rank2.e5m2 sum.e5m2\n"
                "  build/narrowcast reduce --format e3m0 --out-format e4m3 --count 1001 \\\n"
                "      a.e3m0 b.e3m0 sum.e4m3\n"
                "  # the RTL of a card, which also prints its clock cycles\n"
                "  build/narrowcast reduce --format e4m3 --on rtl \\\n"
                "      rank0.e4m3 rank1.e4m3 sum.e4m3\n",
    .opts = opts,
    .n_opts = sizeof opts / sizeof *opts,
};

struct reduce_job {
    const struct vec_ops *ops;
    struct vec_sum sum;
    struct codes_in *in; /* [n_in] */
    int n_in;
    struct file_out out;
    /* a block of codes, at most 32 bits each: of the addends, then of the sum */
    uint8_t *codes;
    void *acc;
};

static int reduce_block(struct reduce_job *j, size_t *n)
{
    for (int i = 0; i < j->n_in; i++) {
        TRY(codes_in_read_one(j->in, i, j->codes, n));
        j->ops->accumulate(&j->sum, j->acc, j->codes, *n, i == 0);
    }
    j->ops->finish(&j->sum, j->acc, *n, j->sum.out, j->sum.out_shift, j->codes);
    return file_out_write(&j->out, j->codes, vec_bytes(j->sum.out, *n));
}

static int reduce_all(struct reduce_job *j)
{
    for (size_t n = 1; n;)
        TRY(reduce_block(j, &n));
    return file_out_commit(&j->out);
}

static int reduce_on(struct reduce_job *j, const struct reduce_options *o)
{
    if (!strcmp(o->on, "hls"))
        TRY(reduce_hls(&j->sum, j->in, j->n_in, &j->out));
    else if (!strcmp(o->on, "rtl") || !strcmp(o->on, "c"))
        TRY(reduce_sim(&j->sum, j->in, j->n_in, &j->out, o->on, o->wave));
    else if (!strcmp(o->on, "xrt"))
        TRY(reduce_xrt(&j->sum, j->in, j->n_in, &j->out, card_words_name(o->card), o->xclbin));
    else
        return reduce_all(j);
    return file_out_commit(&j->out);
}

static int settle(const struct reduce_options *o, int n_in, struct vec_sum *sum)
{
    struct codec codec;
    struct codec_spec spec = {.format = o->format,
                              .sum = o->sum,
                              .acc_format = o->acc_format,
                              .out_format = o->out_format,
                              .overflow = o->overflow};
    TRY(codec_parse(&spec, &codec));
    TRY(codec_settle(&codec, n_in, &(struct codec_adder){.name = "reduce"}));
    if (o->out_shift && codec_sum(&codec)->rule != VEC_EXACT)
        return ERR(-EINVAL, "--out-shift %lld needs --sum exact", (long long)o->out_shift);
    if (o->wave && strcmp(o->on, "rtl"))
        return ERR(-EINVAL, "--wave '%s' needs --on rtl", o->wave);
    if (codec_sum(&codec)->out_group)
        return ERR(-EINVAL,
                   "reduce has no --out-format %s: a file of codes has no place for exponents",
                   o->out_format);
    TRY(card_words_check(o->on, o->card, o->xclbin));
    *sum = *codec_sum(&codec);
    sum->out_shift = (int)o->out_shift;
    return 0;
}

static int open_all(struct reduce_job *j, const struct reduce_options *o, char **paths)
{
    for (int i = 0; o->wave && i <= j->n_in; i++)
        if (file_same(o->wave, paths[i]))
            return ERR(-EINVAL, "--wave '%s' is also an input or OUT: need another file", o->wave);
    j->in = buf_alloc((size_t)j->n_in * sizeof *j->in);
    j->codes = buf_alloc(CODES_IN_BLOCK * sizeof(uint32_t));
    j->acc = buf_alloc(vec_acc_bytes(&j->sum, CODES_IN_BLOCK));
    if (!j->in || !j->codes || !j->acc)
        return -ENOMEM;
    for (int i = 0; i < j->n_in; i++)
        TRY(codes_in_open(&j->in[i], paths[i], j->sum.in, o->count));
    return file_out_open(&j->out, paths[j->n_in]);
}

int cmd_reduce(int argc, char **argv)
{
    struct reduce_options o = {0};
    struct opt_parsed p;
    TRY(opt_parse(&command, argc, argv, &o, &p));
    if (p.help)
        return opt_help(&command, &p, stdout), 0;

    struct reduce_job j = {.ops = strcmp(o.on, "cpu") ? &vec_plain : vec_best(),
                           .n_in = p.n_args - 1};
    TRY(settle(&o, j.n_in, &j.sum));
    int rc = open_all(&j, &o, p.args);
    if (!rc)
        rc = reduce_on(&j, &o);
    file_out_discard(&j.out);
    for (int i = 0; j.in && i < j.n_in; i++)
        codes_in_close(&j.in[i]);
    free(j.acc);
    free(j.codes);
    free(j.in);
    return rc;
}
