/* reducer_packed.c : packs a short step's one message, and unpacks the codes of all ranks from it.
 *
 *  | exponents of all layers | a layer's codes, or words | ...      layers as the plan places them
 *  | a layer's codes | ...                                          second message: wrong guesses
 *
 * A word is the upper half of an fp32, rounded to odd: its last bit is set if any lower bit is. m +
 * 2 of its fraction's 7 bits suffice to round to m bits as the fp32 does.
 *
 * Source: S. Boldo and G. Melquiond, Emulation of FMA and correctly rounded sums: proved algorithms
 * using rounding to odd, 2008, section 2. */
#include "reduce/reducer_packed.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "hls/arith/mf.h"
#include <stdlib.h>
#include <string.h>

enum {
    WORD_BITS = 7,     /* of a word's fraction */
    WORD_LEAST = -133, /* exponent of a subnormal word's last bit */
};

static bool words_round(const struct vec_cast *cast)
{
    return cast->round != MF_STOCHASTIC && !cast->trunc && cast->fmt.m + 2 <= WORD_BITS;
}

bool packed_words_do(const struct vec_cast *cast, int shift)
{
    const int least = 1 - mf_bias(cast->fmt) - cast->fmt.m; /* exponent of the smallest code */
    return words_round(cast) && WORD_LEAST + shift <= least - 2;
}

static const struct bucket *bucket_of(const struct reducer *r, int i)
{
    const struct plan *plan = &r->plans[NARROW];
    return &plan->buckets[plan->bucket_of[i]];
}

static size_t code_bytes(const struct reducer *r, int i)
{
    const struct reduce_op *f = &bucket_of(r, i)->op;
    const size_t at = reducer_layer(r, i)->at;
    return reduce_op_in_at(f, at + bucket_padded(f, r->layers[i].n)) - reduce_op_in_at(f, at);
}

static size_t word_bytes(const struct reducer *r, int i)
{
    return r->layers[i].n * sizeof(uint16_t);
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* words: narrow layers may be sent as words */
static size_t message_bytes(const struct reducer *r, bool words)
{
    size_t bytes = 0;
    for (int i = 0; i < r->n_layers; i++)
        bytes += larger(code_bytes(r, i), words && !r->layers[i].fp32 ? word_bytes(r, i) : 0);
    return packed_lines((size_t)r->n_layers) + packed_lines(bytes);
}

static bool takes_words(const struct reducer *r)
{
    struct vec_cast cast;
    return codec_cast(&r->codecs[NARROW], &cast) && words_round(&cast) &&
           message_bytes(r, true) <= PACKED_LONGEST;
}

static size_t longest_layer(const struct reducer *r)
{
    size_t n = 0;
    for (int i = 0; i < r->n_layers; i++)
        n = larger(n, r->layers[i].n);
    return n;
}

size_t packed_all_bytes(const struct reducer *r)
{
    const size_t p = (size_t)comm_n_ranks(r->comm);
    return (p + 1) * message_bytes(r, takes_words(r)) +
           p * packed_lines((size_t)r->plans[NARROW].code_bytes) + longest_layer(r) * sizeof(float);
}

int packed_all_open(struct reducer *r)
{
    const size_t ranks = (size_t)comm_n_ranks(r->comm);
    struct packed *p = r->packed = buf_alloc(sizeof *p);
    if (!p)
        return -ENOMEM;
    p->has_words = takes_words(r);
    p->room = message_bytes(r, p->has_words);
    p->code_bytes = packed_lines((size_t)r->plans[NARROW].code_bytes);
    p->mine = buf_alloc(p->room);
    p->all = buf_alloc(ranks * p->room);
    p->of = buf_alloc(ranks * sizeof *p->of);
    p->codes = buf_alloc(ranks * p->code_bytes);
    p->parts = buf_alloc(ranks * sizeof *p->parts);
    p->floats = buf_alloc(longest_layer(r) * sizeof *p->floats);
    p->misses = buf_alloc((size_t)r->n_layers);
    return p->mine && p->all && p->of && p->codes && p->parts && p->floats && p->misses ? 0
                                                                                        : -ENOMEM;
}

void packed_all_close(struct packed *p)
{
    if (!p)
        return;
    free(p->mine);
    free(p->all);
    free(p->of);
    free(p->codes);
    free(p->parts);
    free(p->floats);
    free(p->misses);
    free(p);
}

bool packed_is_guessed(const struct reducer *r, int i)
{
    const uint8_t misses = r->packed->misses[i];
    return r->guesses[i] != CODEC_NO_GUESS && !(misses & (misses - 1));
}

static int shift_of(const struct reducer *r, int i)
{
    return codec_shift(&r->codecs[r->layers[i].fp32], reducer_exponent(r, i));
}

/* Zeros have the same codes with any shift. */
bool packed_is_right(const struct reducer *r, int i)
{
    return reducer_exponent(r, i) == CODEC_ALL_ZERO || shift_of(r, i) == r->guesses[i];
}

static bool words_do(const struct reducer *r, int i)
{
    struct vec_cast cast;
    return codec_cast(&r->codecs[NARROW], &cast) && packed_words_do(&cast, shift_of(r, i));
}

static bool is_wrong(const struct reducer *r, int i)
{
    return packed_is_guessed(r, i) ? !packed_is_right(r, i)
                                   : reducer_exponent(r, i) != CODEC_ALL_ZERO && !words_do(r, i);
}

static void to_words(const float *x, size_t n, uint8_t *out)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        const uint16_t word = packed_word(bits);
        memcpy(out + i * sizeof word, &word, sizeof word);
    }
}

static void from_words(const uint8_t *words, size_t n, float *out)
{
    for (size_t i = 0; i < n; i++) {
        uint16_t word;
        memcpy(&word, words + i * sizeof word, sizeof word);
        const uint32_t bits = (uint32_t)word << 16;
        memcpy(&out[i], &bits, sizeof bits);
    }
}

static void encode_words(struct reducer *r, int i, const uint8_t *words, uint8_t *codes)
{
    const size_t n = r->layers[i].n;
    from_words(words, n, r->packed->floats);
    r->parts[0] = (struct codec_part){.layer = reducer_layer(r, i)};
    r->spans[0] = (struct vec_span){.x = r->packed->floats,
                                    .type = VEC_FLOAT,
                                    .codes = codes,
                                    .n = n,
                                    .padded = bucket_padded(&bucket_of(r, i)->op, n),
                                    .shift = shift_of(r, i)};
    codec_encode_all(&r->codecs[NARROW], r->spans, r->parts, 1);
}

static int placed(const struct reducer *r, int k)
{
    return (int)r->plans[NARROW].placed[k].index;
}

static uint8_t *add_codes(const struct reducer *r, int i, uint8_t *to)
{
    memcpy(to, r->codes + r->plans[NARROW].places[i], code_bytes(r, i));
    return to + code_bytes(r, i);
}

static uint8_t *add_words(const struct reducer *r, int i, uint8_t *to)
{
    to_words(r->grads[i], r->layers[i].n, to);
    return to + word_bytes(r, i);
}

static int send(struct reducer *r, const uint8_t *end)
{
    struct packed *p = r->packed;
    return comm_all_gather(r->comm, p->mine, packed_lines((size_t)(end - p->mine)), p->all, p->of);
}

int packed_send(struct reducer *r)
{
    struct packed *p = r->packed;
    uint8_t *to = p->mine + packed_lines((size_t)r->n_layers);
    memcpy(p->mine, r->own_exponents, (size_t)r->n_layers);
    for (int k = 0; k < r->n_layers; k++)
        to = (packed_is_guessed(r, placed(r, k)) ? add_codes : add_words)(r, placed(r, k), to);
    return send(r, to);
}

/* Leaves out layers that need the second message. */
static void place(struct reducer *r, const uint8_t *from, uint8_t *codes)
{
    for (int k = 0; k < r->n_layers; k++) {
        const int i = placed(r, k);
        const bool guessed = packed_is_guessed(r, i);
        if (guessed)
            memcpy(codes, from, code_bytes(r, i));
        else if (!is_wrong(r, i))
            encode_words(r, i, from, codes);
        from += guessed ? code_bytes(r, i) : word_bytes(r, i);
        codes += code_bytes(r, i);
    }
}

static void replace(const struct reducer *r, const uint8_t *from, uint8_t *codes)
{
    for (int k = 0; k < r->n_layers; k++) {
        const int i = placed(r, k);
        if (is_wrong(r, i)) {
            memcpy(codes, from, code_bytes(r, i));
            from += code_bytes(r, i);
        }
        codes += code_bytes(r, i);
    }
}

static void encode(struct reducer *r, int i)
{
    const double start = clock_s();
    reducer_span(r, i, 0, bucket_padded(&bucket_of(r, i)->op, r->layers[i].n), shift_of(r, i),
                 r->exponents, 0);
    codec_encode_all(&r->codecs[r->layers[i].fp32], r->spans, r->parts, 1);
    r->done.codec_s += clock_s() - start;
}

static int send_again(struct reducer *r)
{
    struct packed *p = r->packed;
    uint8_t *to = p->mine;
    for (int k = 0; k < r->n_layers; k++)
        if (is_wrong(r, placed(r, k))) {
            encode(r, placed(r, k));
            to = add_codes(r, placed(r, k), to);
        }
    if (to == p->mine)
        return 0;
    const double start = clock_s();
    TRY(send(r, to));
    r->done.comm_s += clock_s() - start;
    for (int rank = 0; rank < comm_n_ranks(r->comm); rank++)
        replace(r, p->of[rank], p->codes + (size_t)rank * p->code_bytes);
    return 0;
}

int packed_open(struct reducer *r)
{
    struct packed *p = r->packed;
    p->are_sent = true;
    for (int i = 0; i < r->n_layers; i++)
        p->are_sent = p->are_sent && packed_is_guessed(r, i) && !is_wrong(r, i);
    if (p->are_sent)
        return 0;
    const double start = clock_s();
    for (int rank = 0; rank < comm_n_ranks(r->comm); rank++)
        place(r, p->of[rank] + packed_lines((size_t)r->n_layers),
              p->codes + (size_t)rank * p->code_bytes);
    r->done.codec_s += clock_s() - start;
    return send_again(r);
}

const uint8_t **packed_parts(struct reducer *r, const struct bucket *b)
{
    const struct packed *p = r->packed;
    for (int rank = 0; rank < comm_n_ranks(r->comm); rank++)
        p->parts[rank] = (p->are_sent ? p->of[rank] + packed_lines((size_t)r->n_layers)
                                      : p->codes + (size_t)rank * p->code_bytes) +
                         r->plans[NARROW].places[b->last];
    return p->parts;
}
