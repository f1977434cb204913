/* collnet_sum.c : makes the all-reduces of one codec with a card or messages, with the same bits.
 *
 *     fp32, fp16, bf16   absmax -> exponent --max over ranks--> shift; cast to codes --sum--> back
 *     fp8                are codes:                                             --sum-->
 *
 * Works like reducer_card_path.c, for one bucket. If any rank missed an answer of the card, all
 * ranks repeat the sum with messages. */
#include "base/buf.h"
#include "base/crc.h"
#include "collnet/collnet.h"
#include "job/job.h"
#include "reduce/bucket.h"
#include <stdlib.h>
#include <string.h>

struct collnet_sum {
    struct job job;
    struct codec fp32;
    struct offload *offload;
    enum collnet_kind kind;
    uint64_t step, n_by_card;
    size_t room; /* elements in the buffers */
    uint8_t *codes, *result;
    void *scratch;
    float *floats;
};

enum { LOST_MAX = 1, LOST_SUM = 2 };

size_t collnet_type(int type, enum collnet_kind *kind)
{
    *kind = type == NCCL_E4M3FN ? COLLNET_E4M3FN : type == NCCL_E5M2 ? COLLNET_E5M2 : COLLNET_WORDS;
    switch (type) {
    case NCCL_FP32:
        return 4;
    case NCCL_FP16:
    case NCCL_BF16:
        return 2;
    case NCCL_E4M3FN:
    case NCCL_E5M2:
        return 1;
    default:
        return 0;
    }
}

static struct job_spec spec_of(const struct collnet_spec *w, enum collnet_kind kind)
{
    struct job_spec spec = {.sums = true,
                            .algo = "offload",
                            .bucket_bytes = (size_t)1 << 20,
                            .cards = {.where = w->cards, .deadline_s = w->deadline_s}};
    if (kind == COLLNET_WORDS)
        spec.codec = (struct codec_spec){
            .format = w->format, .scale = w->scale, .round = w->round, .out_format = w->out_format};
    else
        spec.codec.format = kind == COLLNET_E4M3FN ? "e4m3fn" : "e5m2";
    return spec;
}

int collnet_check(const struct collnet_spec *w, enum collnet_kind kind)
{
    const struct job_spec spec = spec_of(w, kind);
    struct codec codec;
    char why[160];
    TRY(codec_parse(&spec.codec, &codec));
    if (codec_has_groups(&codec))
        return ERR(-EINVAL, "cannot use NARROWCAST_SCALE \"%s\": need aps or aps-tight", w->scale);
    if (offload_check(codec_card_sum(&codec), 2, why, sizeof why) < 0)
        return ERR(-EINVAL, "%s", why);
    return 0;
}

/* For sums with inf or nan on some rank. */
static int open_fp32(struct collnet_sum *s)
{
    const struct codec_spec spec = {.format = "fp32", .sum = "fp32", .overflow = "inf"};
    TRY(codec_parse(&spec, &s->fp32));
    TRY(algo_settle(s->job.algo, s->job.group, comm_n_ranks(s->job.comm), &s->fp32));
    return codec_set_sums(&s->fp32);
}

static int open_sum(struct comm *c, const struct job_spec *spec, bool needs_card,
                    struct collnet_sum *s)
{
    TRY(job_settle(c, spec, &s->job));
    s->job.cards.needed = needs_card;
    err_hold();
    TRY(comm_agree(c, open_fp32(s)));
    err_hold();
    return comm_agree(c, offload_open(c, codec_sum(&s->job.codec), &s->job.cards, &s->offload));
}

int collnet_sum_open(struct comm *c, const struct collnet_spec *w, enum collnet_kind kind,
                     bool needs_card, struct collnet_sum **out)
{
    const struct job_spec spec = spec_of(w, kind);
    err_hold();
    struct collnet_sum *s = buf_alloc(sizeof *s);
    int rc = comm_agree(c, s ? 0 : -ENOMEM);
    if (rc == 0) {
        s->kind = kind;
        rc = open_sum(c, &spec, needs_card, s);
    }
    if (rc < 0)
        collnet_sum_close(s);
    else
        *out = s;
    return rc;
}

void collnet_sum_close(struct collnet_sum *s)
{
    if (!s)
        return;
    offload_close(s->offload);
    job_close(&s->job);
    free(s->codes);
    free(s->result);
    free(s->scratch);
    free(s->floats);
    free(s);
}

struct collnet_count collnet_sum_counted(const struct collnet_sum *s)
{
    return (struct collnet_count){s->step, s->n_by_card};
}

static int make_room(struct collnet_sum *s, size_t n)
{
    const struct codec_call narrow = {.codec = &s->job.codec}, wide = {.codec = &s->fp32};
    const struct reduce_op a = codec_reduce_op(&narrow), b = codec_reduce_op(&wide);
    const struct algo *algo = s->job.algo;
    const int n_ranks = comm_n_ranks(s->job.comm);
    /* only words may need a sum in fp32 */
    const bool words = s->kind == COLLNET_WORDS;
    const size_t all = bucket_padded(&b, bucket_padded(&a, n)), spare = 64,
                 bytes = all * (words ? sizeof(float) : 1) + spare;
    if (all <= s->room)
        return 0;
    const size_t scratch_a = algo->scratch_bytes(&a, all, n_ranks, s->job.group),
                 scratch_b = words ? algo->scratch_bytes(&b, all, n_ranks, s->job.group) : 0;
    free(s->codes);
    free(s->result);
    free(s->scratch);
    free(s->floats);
    s->room = 0;
    s->codes = buf_alloc(bytes);
    s->result = buf_alloc(bytes);
    s->scratch = buf_alloc(scratch_a > scratch_b ? scratch_a : scratch_b);
    s->floats = words ? buf_alloc(all * sizeof(float)) : NULL;
    if (!s->codes || !s->result || !s->scratch || (words && !s->floats))
        return -ENOMEM;
    s->room = all;
    return 0;
}

static const float *floats_of(struct collnet_sum *s, int type, const void *x, size_t n)
{
    if (type == NCCL_FP32)
        return x;
    vec_best()->decode(vec_cast_to_16(type == NCCL_FP16).fmt, x, n, 0, 1, s->floats);
    return s->floats;
}

static void decode(struct collnet_sum *s, const struct codec *codec, int type, int shift, size_t n,
                   void *recv)
{
    const struct vec_cast cast = vec_cast_to_16(type == NCCL_FP16);
    codec_decode(codec, s->result, n, shift, type == NCCL_FP32 ? recv : s->floats);
    if (type != NCCL_FP32)
        vec_best()->encode(&cast, s->floats, n, 0, 0, recv);
}

static void nothing(void *arg, size_t at, size_t n)
{
    (void)arg, (void)at, (void)n; /* no codes to wait for, results are read later */
}

/* Tag of all facts that ranks must agree on before a card adds their packets. */
static uint32_t tag_of(const struct collnet_sum *s, size_t n, int8_t exponent)
{
    return card_path_tag(0, (uint64_t[]){s->step, n, (uint8_t)exponent, s->job.tag});
}

static int sum_by_messages(struct collnet_sum *s, const struct codec *codec, size_t n)
{
    const struct codec_call of = {.codec = codec, .step = s->step};
    const struct reduce_op op = codec_reduce_op(&of);
    const struct algo_call call = {.codec = codec,
                                   .op = op,
                                   .n = bucket_padded(&op, n),
                                   .codes = s->codes,
                                   .result = s->result,
                                   .scratch = s->scratch,
                                   .group = s->job.group};
    return s->job.algo->run(s->job.comm, &call);
}

static void encode(struct collnet_sum *s, const struct codec *codec, int shift, const void *x,
                   size_t n)
{
    const struct codec_call of = {.codec = codec};
    const struct reduce_op op = codec_reduce_op(&of);
    const size_t bytes = op.ops->in_bytes(&op, n),
                 all = op.ops->in_bytes(&op, bucket_padded(&op, n));
    if (s->kind == COLLNET_WORDS)
        codec_encode(codec, s->step, 0, (uint32_t)comm_rank(s->job.comm), x, n, shift, s->codes);
    else
        memcpy(s->codes, x, bytes);
    memset(s->codes + bytes, 0, all - bytes);
}

struct summing {
    struct collnet_sum *s;
    const void *x; /* fp32 or codes */
    size_t n;
    int8_t exponent; /* this rank's, later of all ranks */
    bool finite;
};

/* Returns the parts that this rank missed (LOST_*), or an error. */
static int go(struct summing *a)
{
    struct collnet_sum *s = a->s;
    const struct codec *codec = &s->job.codec;
    const struct reduce_op op = codec_reduce_op(&(struct codec_call){.codec = codec});
    int8_t all = a->exponent;
    int rc = 0;
    if (s->kind == COLLNET_WORDS)
        TRY(rc = offload_card_path.max(s->offload, tag_of(s, 1, 0), &all, 1));
    if (rc)
        return LOST_MAX | LOST_SUM;
    a->exponent = all;
    a->finite = all != CODEC_NOT_FINITE;
    if (!a->finite)
        return 0;
    encode(s, codec, codec_shift(codec, all), a->x, a->n);
    const struct card_path_sum sum = {.codec = codec,
                                      .n = bucket_padded(&op, a->n),
                                      .codes = s->codes,
                                      .result = s->result,
                                      .tag = tag_of(s, a->n, all),
                                      .flow = {nothing, nothing, NULL}};
    TRY(rc = offload_card_path.sum(s->offload, &sum));
    return rc ? LOST_SUM : 0;
}

static int make_up(struct summing *a, uint64_t lost)
{
    struct collnet_sum *s = a->s;
    if (lost & LOST_MAX) {
        if (s->kind == COLLNET_WORDS)
            TRY(comm_max_i8(s->job.comm, &a->exponent, 1));
        a->finite = s->kind != COLLNET_WORDS || a->exponent != CODEC_NOT_FINITE;
    }
    if (!a->finite) {
        encode(s, &s->fp32, 0, a->x, a->n);
        return sum_by_messages(s, &s->fp32, a->n);
    }
    if (!lost)
        return 0;
    encode(s, &s->job.codec, codec_shift(&s->job.codec, a->exponent), a->x, a->n);
    return sum_by_messages(s, &s->job.codec, a->n);
}

static int sum(struct summing *a)
{
    struct collnet_sum *s = a->s;
    uint64_t lost = LOST_MAX | LOST_SUM;
    const int open = offload_card_path.begin(s->offload);
    TRY(open);
    if (open) {
        const int missed = go(a);
        TRY(missed);
        lost = (uint64_t)missed;
        TRY(comm_vote(s->job.comm, &lost, 1));
        TRY(offload_card_path.end(s->offload, lost != 0));
    }
    s->n_by_card += !lost && a->finite;
    return make_up(a, lost);
}

int collnet_sum_run(struct collnet_sum *s, int type, const void *send, void *recv, size_t n)
{
    struct summing a = {.s = s, .x = send, .n = n, .finite = true};
    TRY(make_room(s, n));
    if (s->kind == COLLNET_WORDS) {
        const float *x = floats_of(s, type, send, n);
        a.exponent = codec_exponent(&s->job.codec, vec_best()->absmax(x, n));
        a.x = x;
    }
    TRY(sum(&a));
    if (s->kind != COLLNET_WORDS)
        memcpy(recv, s->result, n);
    else if (a.finite)
        decode(s, &s->job.codec, type, codec_shift(&s->job.codec, a.exponent), n, recv);
    else
        decode(s, &s->fp32, type, 0, n, recv);
    s->step++;
    return 0;
}
