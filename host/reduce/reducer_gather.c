/* reducer_gather.c : all-gathers weights: every rank sends its range, piece by piece, to all ranks.
 *
 *     piece of the range --cast--> codes ==all==> pieces of all ranks --cast--> weights
 *
 * Differences: the owner sends w - last, where `last` is what all ranks hold since the last
 * all-gather. Each group of elements has its own exponent, a byte before the codes of the piece;
 * VEC_NOT_FINITE makes the group nan. The owner's next difference contains what this one lost,
 * so errors do not add up. Source: Jia et al., "SDP4Bit", NeurIPS 2024, weight differences. */
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "reduce/reducer_shard.h"
#include "vec/gpu/gpu.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    GROUP_USUAL = 1024,
    GROUP_MAX = 8192,
    PIECES = 1 << 20, /* elements of all ranks' pieces that travel together */
};

struct gather {
    struct gather_format format;
    bool has_last;  /* weights hold the last all-gather */
    bool forced;    /* this one sends fp32 */
    size_t piece_n; /* elements; a multiple of GROUP_MAX */
    size_t piece_bytes;
    uint8_t *message;       /* [P][piece_bytes] */
    float *values;          /* [piece_n] differences */
    struct algo_range *cut; /* [P] bytes of the ranks' pieces */
};

static int parse_delta(const char *word, char *format, struct gather_format *out)
{
    char *group = strchr(format, ':'), *end = "";
    long n = GROUP_USUAL;
    if (group) {
        *group++ = 0;
        n = *group >= '1' && *group <= '9' ? strtol(group, &end, 10) : 0;
    }
    if (*end || n < 8 || n > GROUP_MAX || n & (n - 1))
        return ERR(-EINVAL,
                   "bad gather \"%s\": G of delta:F:G must be a power of two from 8 to %d elements",
                   word, GROUP_MAX);
    out->group = (size_t)n;
    return codec_format_parse("gather delta", format, &out->fmt);
}

int gather_parse(const char *word, struct gather_format *out)
{
    char delta[32];
    *out = (struct gather_format){.fmt = mf_fp32()};
    if (!word || !strcmp(word, "fp32"))
        return 0;
    if (!strcmp(word, "bf16") || !strcmp(word, "fp16"))
        return codec_format_parse("gather", word, &out->fmt);
    if (!strncmp(word, "delta:", 6) && strlen(word + 6) < sizeof delta)
        return parse_delta(word, strcpy(delta, word + 6), out);
    return ERR(-EINVAL, "unknown gather \"%s\": need fp32, bf16, fp16, delta:F or delta:F:G", word);
}

static size_t differences_bytes(const struct gather_format *f, size_t n)
{
    return (n + f->group - 1) / f->group + vec_bytes(f->fmt, n);
}

/* The first all-gather of differences sends fp32, and so do those in forced fp32. */
static bool sends_differences(const struct gather *g)
{
    return g->format.group && g->has_last && !g->forced;
}

void reducer_forget_gathered(struct reducer *r)
{
    if (r->gather)
        r->gather->has_last = false;
}

static struct mf_fmt format_of(const struct gather *g)
{
    return g->format.group ? mf_fp32() : g->format.fmt;
}

static size_t bytes_of(const struct gather *g, size_t n)
{
    return sends_differences(g) ? differences_bytes(&g->format, n) : vec_bytes(format_of(g), n);
}

int reducer_open_gather(struct reducer *r, const struct gather_format *format)
{
    const size_t n_ranks = (size_t)comm_n_ranks(r->comm);
    const struct vec_ops *ops = r->codecs[NARROW].ops;
    if (format->group && r->batches)
        return ERR(-EINVAL,
                   "cannot gather differences of weights on a GPU: need fp32, bf16 or fp16");
    struct gather *g = r->gather = buf_alloc(sizeof *g);
    if (!g)
        return -ENOMEM;
    const size_t pieces = PIECES / n_ranks / GROUP_MAX;
    g->format = *format;
    g->piece_n = (pieces ? pieces : 1) * GROUP_MAX;
    g->piece_bytes = vec_bytes(format_of(g), g->piece_n);
    if (format->group && differences_bytes(format, g->piece_n) > g->piece_bytes)
        g->piece_bytes = differences_bytes(format, g->piece_n);
    r->buffers.gathered_bytes = n_ranks * g->piece_bytes;
    r->buffers.gathered = g->message = ops->alloc(r->buffers.gathered_bytes);
    g->values = format->group ? ops->alloc_floats(g->piece_n * sizeof *g->values) : NULL;
    g->cut = buf_alloc(n_ranks * sizeof *g->cut);
    return g->message && g->cut && (g->values || !format->group) ? 0 : -ENOMEM;
}

void gather_close(struct reducer *r)
{
    struct gather *g = r->gather;
    const struct vec_ops *ops = r->codecs[NARROW].ops;
    if (!g)
        return;
    ops->free(g->message);
    ops->free_floats(g->values);
    free(g->cut);
    free(g);
}

/* Returns the weights of element `at` of all layers end to end, and the elements from there to the
 * layer's end or to `end`. */
static float *weights_at(const struct reducer *r, size_t at, size_t end, size_t *n)
{
    const size_t *layer_at = r->shard->layer_at;
    int low = 0, high = r->n_layers - 1;
    while (low < high) {
        const int middle = high - (high - low) / 2;
        if (layer_at[middle] > at)
            high = middle - 1;
        else
            low = middle;
    }
    const size_t skip = at - layer_at[low], left = r->layers[low].n - skip;
    *n = left < end - at ? left : end - at;
    return r->grads[low] + skip;
}

/* ---- differences ---- */

static int shift_of(struct mf_fmt fmt, int8_t exponent)
{
    return exponent == VEC_ALL_ZERO || exponent == VEC_NOT_FINITE
               ? 0
               : vec_aps_top(fmt, true) - exponent;
}

/* A weight that is inf or nan counts as 0, so that finite shards repair it. */
static float last_of(float weight)
{
    return isfinite(weight) ? weight : 0;
}

static void encode_differences(const struct reducer *r, const float *from, struct algo_range piece,
                               uint8_t *to)
{
    const struct gather *g = r->gather;
    const struct vec_ops *ops = r->codecs[NARROW].ops;
    const struct vec_cast cast = {
        .fmt = g->format.fmt, .round = MF_NEAREST, .overflow = MF_SATURATE};
    const struct vec_scale scale = {.fmt = cast.fmt, .tight = true};
    const size_t group = g->format.group;
    uint8_t *codes = to + (piece.n + group - 1) / group;
    for (size_t i = 0, n; i < piece.n; i += n) {
        const float *last = weights_at(r, piece.at + i, piece.at + piece.n, &n);
        for (size_t k = 0; k < n; k++)
            g->values[i + k] = from[i + k] - last_of(last[k]);
    }
    for (size_t i = 0; i < piece.n; i += group) {
        const size_t n = piece.n - i < group ? piece.n - i : group;
        const int8_t e = vec_exponent(&scale, ops->absmax(g->values + i, n));
        to[i / group] = (uint8_t)e;
        ops->encode(&cast, g->values + i, n, 0, shift_of(cast.fmt, e),
                    codes + vec_bytes(cast.fmt, i));
    }
}

static void decode_differences(const struct reducer *r, const uint8_t *from,
                               struct algo_range piece)
{
    const struct gather *g = r->gather;
    const struct mf_fmt fmt = g->format.fmt;
    const size_t group = g->format.group;
    const uint8_t *codes = from + (piece.n + group - 1) / group;
    for (size_t i = 0; i < piece.n; i += group) {
        const size_t n = piece.n - i < group ? piece.n - i : group;
        const int8_t e = (int8_t)from[i / group];
        r->codecs[NARROW].ops->decode(fmt, codes + vec_bytes(fmt, i), n, -shift_of(fmt, e), 1,
                                      g->values + i);
        for (size_t k = 0; k < n && e == VEC_NOT_FINITE; k++)
            g->values[i + k] = NAN;
    }
    for (size_t i = 0, n; i < piece.n; i += n) {
        float *x = weights_at(r, piece.at + i, piece.at + piece.n, &n);
        for (size_t k = 0; k < n; k++)
            x[k] = last_of(x[k]) + g->values[i + k];
    }
}

/* ---- pieces ---- */

/* Piece `done` of a rank's range. */
static struct algo_range piece_of(const struct reducer *r, int rank, size_t done)
{
    const struct algo_range whole = reducer_range(r, rank);
    const size_t left = whole.n > done ? whole.n - done : 0, most = r->gather->piece_n;
    return (struct algo_range){.at = whole.at + (whole.n > done ? done : whole.n),
                               .n = left < most ? left : most};
}

/* Encode the piece that begins `done` elements after the start of this rank's range. */
static void encode(const struct reducer *r, size_t done, struct algo_range piece, uint8_t *to)
{
    const struct gather *g = r->gather;
    const struct vec_ops *ops = r->codecs[NARROW].ops;
    const struct mf_fmt fmt = format_of(g);
    const struct vec_cast cast = {.fmt = fmt, .round = MF_NEAREST, .overflow = MF_INF};
    if (piece.n == 0)
        return; /* the shard may be NULL */
    const float *from = (const float *)r->shard->to + done;
    if (sends_differences(g))
        encode_differences(r, from, piece, to);
    else if (mf_same(fmt, mf_fp32()))
        ops->copy(to, from, piece.n * sizeof *from);
    else
        ops->encode(&cast, from, piece.n, 0, 0, to);
}

static void decode(const struct reducer *r, const uint8_t *from, struct algo_range piece)
{
    const struct gather *g = r->gather;
    const struct vec_ops *ops = r->codecs[NARROW].ops;
    const struct mf_fmt fmt = format_of(g);
    if (sends_differences(g)) {
        decode_differences(r, from, piece);
        return;
    }
    for (size_t i = 0, n; i < piece.n; i += n) {
        float *x = weights_at(r, piece.at + i, piece.at + piece.n, &n);
        if (mf_same(fmt, mf_fp32()))
            ops->copy(x, from + i * sizeof *x, n * sizeof *x);
        else
            ops->decode(fmt, from + vec_bytes(fmt, i), n, 0, 1, x);
    }
}

static size_t byte_bytes(const struct reduce_op *f, size_t n)
{
    (void)f;
    return n;
}
static const struct reduce_op_kind bytes_op = {.out_bytes = byte_bytes};

static int exchange(struct reducer *r, size_t done)
{
    const int n_ranks = comm_n_ranks(r->comm), rank = comm_rank(r->comm);
    struct gather *g = r->gather;
    for (int k = 0; k < n_ranks; k++)
        g->cut[k] = (struct algo_range){.at = (size_t)k * g->piece_bytes,
                                        .n = bytes_of(g, piece_of(r, k, done).n)};
    const struct algo_call call = {
        .op = {.ops = &bytes_op, .unit = 1, .message_bytes = comm_message_bytes(r->comm)},
        .n = (size_t)n_ranks * g->piece_bytes,
        .result = g->message,
        .cut = g->cut,
        .buffers = &r->buffers};
    double start = clock_s();
    encode(r, done, piece_of(r, rank, done), g->message + g->cut[rank].at);
    r->done.codec_s += clock_s() - start;
    start = clock_s();
    TRY(r->algo->allgather(r->comm, &call));
    r->done.comm_s += clock_s() - start;
    start = clock_s();
    for (int k = 0; k < n_ranks; k++)
        decode(r, g->message + g->cut[k].at, piece_of(r, k, done));
    r->done.codec_s += clock_s() - start;
    return 0;
}

int gather_run(struct reducer *r)
{
    const uint64_t sent = comm_counted(r->comm).sent_bytes;
    size_t longest = 0;
    for (int k = 0; k < comm_n_ranks(r->comm); k++)
        longest = reducer_range(r, k).n > longest ? reducer_range(r, k).n : longest;
    r->gather->forced = r->force_fp32;
    r->max_s = 0;
    r->done = (struct reducer_step){
        .fp32_bytes = r->fp32_bytes,
        .code_bytes = bytes_of(r->gather, reducer_range(r, comm_rank(r->comm)).n)};
    for (size_t done = 0; done < longest; done += r->gather->piece_n)
        TRY(exchange(r, done));
    if (r->batches)
        TRY(gpu_failed());
    r->gather->has_last = true;
    r->done.sent_bytes = comm_counted(r->comm).sent_bytes - sent;
    return 0;
}
