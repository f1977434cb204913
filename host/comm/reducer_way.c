/* reducer_way.c : a step whose narrow buckets go by another way than MPI, and the vote that lets it fail.
 *
 *     exponents --way.max--> shifts, bucket after bucket --way.sum--> means         as far as this rank gets
 *     one vote of all ranks: what has any of them missed?
 *     missed exponents, then missed buckets in ascending order, then buckets that travel in fp32, over MPI
 *
 * Codes stay until the vote, and their shifts are the next guesses, so what is done again is not encoded again; a rank
 * that had the way's result takes part and replaces it by an equal one. Nothing else of the step comes before the vote:
 * ranks that got different results must not meet in different collectives. */
#include "base/clock.h"
#include "base/err.h"
#include "comm/reducer_inside.h"
#include "hls/crc32c.h"
#include <string.h>

enum { BIT_MAX, BIT_FATAL, BIT_BUCKETS };

static void mark(struct reducer *r, int bit)
{
    r->failed[bit / 64] |= (uint64_t)1 << bit % 64;
}
static bool marked(const struct reducer *r, int bit)
{
    return r->failed[bit / 64] >> bit % 64 & 1;
}

/* What all ranks must agree on before their codes may be added. */
static uint32_t tag_of(const struct reducing *s, uint32_t exponents, uint32_t bucket, uint64_t n)
{
    const struct codec *c = &s->r->codecs[NARROW];
    const uint64_t words[] = {s->step,
                              bucket,
                              n,
                              (uint64_t)c->fmt.e << 24 | (uint64_t)c->fmt.m << 16 | (uint64_t)c->fmt.fn << 8,
                              (uint64_t)c->out.e << 24 | (uint64_t)c->out.m << 16 | (uint64_t)c->out.fn << 8,
                              (uint64_t)c->scale << 32 | (uint64_t)c->overflow};
    uint8_t bytes[sizeof words];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(words[i / 8] >> i % 8 * 8);
    return crc32c_more(exponents, bytes, sizeof bytes);
}

/* Returns as the way's sum. */
static int bucket_by_way(const struct reducing *s, int i, uint32_t exponents)
{
    struct reducer *r = s->r;
    const struct bucket *b = &r->plans[NARROW].buckets[i];
    const double start = clock_s();
    struct bucket_flow casting = {s, b, 0};
    const struct way_sum sum = {.codec = &r->codecs[NARROW],
                                .n = b->n,
                                .codes = r->codes + r->plans[NARROW].places[b->last],
                                .result = r->result,
                                .tag = tag_of(s, exponents, (uint32_t)i, b->n),
                                .flow = bucket_flow(&casting)};
    int rc = r->way->sum(r->way_arg, &sum);
    if (rc < 0)
        return rc;
    bucket_encoded(&casting);
    s->report->codec_s += casting.codec_s;
    s->report->comm_s += clock_s() - start - casting.codec_s;
    return rc;
}

/* Everything this rank gets by the way; what it does not get is marked. */
static int go(const struct reducing *s)
{
    struct reducer *r = s->r;
    const struct plan *plan = &r->plans[NARROW];
    const double start = clock_s();
    memcpy(r->exponents, r->own_exponents, (size_t)r->n_layers);
    int rc =
        r->way->max(r->way_arg, tag_of(s, 0, UINT32_MAX, (uint64_t)r->n_layers), r->exponents, (size_t)r->n_layers);
    s->report->comm_s += clock_s() - start;
    if (rc == WAY_GAVE_UP)
        mark(r, BIT_MAX);
    if (rc || !reducer_all_finite(r))
        return rc;
    const uint32_t exponents = crc32c(r->exponents, (size_t)r->n_layers);
    for (int i = 0; i < plan->n_buckets; i++) {
        if (plan->buckets[i].fp32)
            continue;
        if (!rc)
            TRY(rc = bucket_by_way(s, i, exponents));
        if (rc)
            mark(r, BIT_BUCKETS + i);
    }
    return 0;
}

/* After the vote, over MPI. */
static int make_up(const struct reducing *s, bool *finite)
{
    struct reducer *r = s->r;
    const struct plan *plan = &r->plans[NARROW];
    const bool lost_max = marked(r, BIT_MAX);
    if (lost_max)
        TRY(reducer_max_mpi(r));
    *finite = reducer_all_finite(r);
    for (int i = 0; i < plan->n_buckets && *finite; i++) {
        const bool again = !plan->buckets[i].fp32 && (lost_max || marked(r, BIT_BUCKETS + i));
        s->report->n_redone += again;
        if (again || plan->buckets[i].fp32)
            TRY(reducer_bucket_mpi(s, i));
    }
    return 0;
}

int reducer_step_way(const struct reducing *s, bool *finite)
{
    struct reducer *r = s->r;
    bool any = false;
    memset(r->failed, 0, r->failed_words * sizeof *r->failed);
    int rc = go(s);
    if (rc < 0)
        mark(r, BIT_FATAL);
    const double start = clock_s();
    TRY(comm_vote(r->comm, r->failed, r->failed_words));
    s->report->comm_s += clock_s() - start;
    if (marked(r, BIT_FATAL))
        return comm_agree(r->comm, rc < 0 ? rc : 0);
    for (size_t i = 0; i < r->failed_words; i++)
        any = any || r->failed[i];
    TRY(r->way->end(r->way_arg, any));
    return make_up(s, finite);
}
