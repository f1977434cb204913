/* reducer_short.c : runs a step in one message from each rank to all ranks; each rank adds all
 * codes.
 *
 * scan -> | exponents | codes or words | ==gathered==> shifts; codes of all ranks -> sums -> means
 *                                              |              ^
 *                           layers whose guess was wrong ==gathered==
 *
 * Words and guesses do not change bits: codes have the agreed shift, and sums are in rank order. */
#include "base/clock.h"
#include "base/err.h"
#include "comm/algo/algo_step.h"
#include "reduce/reducer_packed.h"
#include <string.h>

enum {
    PAYS = 5 << 10,      /* bytes, for many ranks */
    PAYS_TWO = 12 << 10, /* bytes, for two ranks */
};

/* The last step must predict the shifts, and sums must leave no residual on a rank. */
size_t reducer_short_bytes(const struct codec *codec, const struct algo *algo, int n_ranks,
                           int n_layers, uint64_t code_bytes)
{
    struct vec_cast cast;
    const uint64_t bytes = packed_lines((size_t)n_layers) + packed_lines(code_bytes);
    const bool may = algo->together && n_ranks > 1 && n_ranks <= 1 << ALGO_PHASES &&
                     codec_cast(codec, &cast) && !codec_rescales(codec) &&
                     !codec_asks_max(codec, NULL) && !codec_has_groups(codec);
    return may && bytes <= PACKED_LONGEST ? bytes : 0;
}

size_t reducer_message_bytes(const struct reducer *r)
{
    if (r->low || r->batches)
        return 0;
    return reducer_short_bytes(&r->codecs[NARROW], r->algo, comm_n_ranks(r->comm), r->n_layers,
                               r->plans[NARROW].code_bytes);
}

/* `direct` sends 2(P - 1) messages and 2(P - 1)/P vectors; doubling sends log2 P messages and P - 1
 * vectors. Each message saved costs about (1 - 2/P)/2 more vectors. A message costs as much as 2.5
 * KB, measured with 2 to 8 ranks on 1 Gbit/s links (bench/allreduce). */
bool reducer_short_pays(int n_ranks, size_t bytes)
{
    const size_t p = (size_t)n_ranks;
    return bytes > 0 && bytes <= (p == 2 ? PAYS_TWO : PAYS * p / (p - 2));
}

bool reducer_is_short(const struct reducer *r)
{
    if (!r->packed || r->overlap || r->force_fp32 || r->node)
        return false;
    for (int i = 0; i < r->n_layers && !r->packed->has_words; i++)
        if (!packed_is_guessed(r, i))
            return false;
    return true;
}

void reducer_short_note(struct reducer *r)
{
    if (r->force_fp32)
        return;
    for (int i = 0; i < r->n_layers; i++) {
        uint8_t *misses = &r->packed->misses[i];
        *misses =
            (uint8_t)(*misses << 1 | (r->guesses[i] != CODEC_NO_GUESS && !packed_is_right(r, i)));
    }
}

static int exchange(struct reducer *r, const struct group *g)
{
    const double start = clock_s();
    TRY(packed_send(r));
    memcpy(r->exponents, r->own_exponents, (size_t)r->n_layers);
    for (int p = 0; p < comm_n_ranks(r->comm); p++)
        comm_larger_i8((size_t)r->n_layers, r->exponents, r->packed->of[p]);
    r->done.comm_s += clock_s() - start;
    trace_add_bytes(r->trace, reducer_row(r), "all-reduce", g->bucket,
                    (int64_t)r->packed->code_bytes, start);
    return 0;
}

static void sum(struct reducer *r, const struct bucket *b)
{
    struct bucket_flow casting = {.r = r, .bucket = b};
    const double start = clock_s();
    b->op.ops->sum(&b->op, 0, packed_parts(r, b), comm_n_ranks(r->comm), b->n, true, r->result);
    r->done.comm_s += clock_s() - start;
    bucket_decode(&casting);
    bucket_encoded(&casting, packed_parts(r, b)[comm_rank(r->comm)]);
    r->done.codec_s += casting.codec_s;
}

int reducer_step_short(struct reducer *r, bool *finite)
{
    const struct plan *plan = &r->plans[NARROW];
    const struct group g = reducer_group(r, 0);
    TRY(reducer_scan(r, &g));
    TRY(exchange(r, &g));
    *finite = reducer_all_finite(r, &g);
    if (!*finite)
        return 0;
    reducer_lost(r, &g);
    TRY(packed_open(r));
    reducer_short_note(r);
    for (int i = 0; i < plan->n_buckets; i++)
        sum(r, &plan->buckets[i]);
    return 0;
}
