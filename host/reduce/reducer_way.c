/* reducer_way.c : a step whose narrow buckets go by another way than MPI, and the vote that lets it
 * fail.
 *
 *     group after group: exponents --way.max--> shifts, bucket after bucket --way.sum--> means      as far as this rank gets
 *     one vote of all ranks: what has any of them missed?
 *     group after group: missed exponents, then missed buckets and those that travel in fp32, in
 *         ascending order, over MPI
 *
 * Codes stay until the vote, and their shifts are the next guesses, so what is done again is not
 * encoded again; a rank that had the way's result takes part and replaces it by an equal one.
 * Nothing else of the step comes before the vote: ranks that got different results must not meet in
 * different collectives. A group with inf or nan ends the step: who missed its exponents learns so
 * from the ones made up. */
#include "base/clock.h"
#include "base/err.h"
#include "reduce/reducer_inside.h"
#include "hls/card/crc32c.h"
#include <string.h>

/* The vote: bit 0: fatal; then one for each bucket; then one for the exponents of each group, of
 * which there are no more. Behind these words, two: the way's digest and its complement, which have a bit in common when
 * digests differ. */
enum { BIT_FATAL, BIT_BUCKETS, DIGEST_WORDS = 2 };

static int bit_max(const struct reducer *r, int group)
{
    return BIT_BUCKETS + r->plans[NARROW].n_buckets + group;
}

size_t reducer_vote_words(int n_buckets)
{
    return ((size_t)n_buckets * 2 + BIT_BUCKETS + 63) / 64 + DIGEST_WORDS;
}

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
    const uint64_t words[] = {s->step, bucket, n, s->r->tag};
    uint8_t bytes[sizeof words];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(words[i / 8] >> i % 8 * 8);
    return crc32c_more(exponents, bytes, sizeof bytes);
}

/* Returns as the way's max. */
static int max_by_way(const struct reducing *s, const struct group *g, int k)
{
    struct reducer *r = s->r;
    const size_t n = (size_t)g->n_layers;
    const double start = reducer_max_begin(s, g);
    int rc = r->way->max(r->way_arg, tag_of(s, 0, UINT32_MAX - (uint32_t)k, n),
                         r->exponents + g->first, n);
    reducer_max_end(s, g, start);
    return rc;
}

/* Returns as the way's sum. */
static int bucket_by_way(const struct reducing *s, int i, uint32_t exponents)
{
    struct reducer *r = s->r;
    const struct bucket *b = &r->plans[NARROW].buckets[i];
    const double start = clock_s();
    struct bucket_flow casting = {.step = s, .bucket = b};
    const struct way_sum sum = {.codec = &r->codecs[NARROW],
                                .n = b->n,
                                .codes = r->codes + r->plans[NARROW].places[b->last],
                                .result = r->result,
                                .tag = tag_of(s, exponents, (uint32_t)i, b->n),
                                .flow = bucket_flow(&casting)};
    int rc = r->way->sum(r->way_arg, &sum);
    if (rc < 0)
        return rc;
    trace_add(r->trace, reducer_row(r), "all-reduce", i, start);
    if (rc == 0)
        bucket_summed(&casting);
    bucket_encoded(&casting);
    s->report->codec_s += casting.codec_s;
    s->report->comm_s += clock_s() - start - casting.codec_s;
    return rc;
}

/* The narrow buckets of a group; what this rank does not get is marked. rc: as the step stands, 0
 * or WAY_GAVE_UP. Returns it, or a negative errno. */
static int buckets_by_way(const struct reducing *s, const struct group *g, int rc)
{
    struct reducer *r = s->r;
    const uint32_t exponents = crc32c(r->exponents + g->first, (size_t)g->n_layers);
    for (int i = g->bucket; i < g->bucket + g->n_buckets; i++) {
        if (r->plans[NARROW].buckets[i].fp32)
            continue;
        if (!rc)
            TRY(rc = bucket_by_way(s, i, exponents));
        if (rc)
            mark(r, BIT_BUCKETS + i);
    }
    return rc;
}

/* Everything this rank gets by the way. All groups are scanned, for what is made up. */
static int go(const struct reducing *s)
{
    struct reducer *r = s->r;
    int rc = 0;
    for (int k = 0; k < reducer_n_groups(r); k++) {
        const struct group g = reducer_group(r, k);
        TRY(reducer_scan(s, &g));
        if (!rc)
            TRY(rc = max_by_way(s, &g, k));
        if (rc) {
            mark(r, bit_max(r, k));
        } else if (!reducer_all_finite(r, &g)) {
            return 0;
        } else {
            reducer_lost(s, &g);
            TRY(rc = buckets_by_way(s, &g, rc));
        }
    }
    return 0;
}

/* After the vote, over MPI. */
static int make_up(const struct reducing *s, bool *finite)
{
    struct reducer *r = s->r;
    const struct plan *plan = &r->plans[NARROW];
    *finite = true;
    for (int k = 0; k < reducer_n_groups(r); k++) {
        const struct group g = reducer_group(r, k);
        const bool lost_max = marked(r, bit_max(r, k));
        if (lost_max)
            TRY(reducer_max_mpi(s, &g));
        *finite = reducer_all_finite(r, &g);
        if (!*finite)
            return 0;
        if (lost_max)
            reducer_lost(s, &g);
        for (int i = g.bucket; i < g.bucket + g.n_buckets; i++) {
            const bool again = !plan->buckets[i].fp32 && (lost_max || marked(r, BIT_BUCKETS + i));
            s->report->n_redone += again;
            if (again || plan->buckets[i].fp32)
                TRY(reducer_bucket_mpi(s, i));
        }
    }
    return 0;
}

/* The vote, which rc is the outcome of this rank's go() for. *any: something is to be done again; where digests differ,
 * all of it. */
static int vote(struct reducer *r, int rc, bool *any)
{
    const size_t words = reducer_vote_words(r->plans[NARROW].n_buckets),
                 digest_at = words - DIGEST_WORDS;
    const uint64_t digest = r->way->digest(r->way_arg);
    if (rc < 0)
        mark(r, BIT_FATAL);
    r->failed[digest_at] = digest;
    r->failed[digest_at + 1] = digest ? ~digest : 0;
    TRY(comm_vote(r->comm, r->failed, words));
    const bool differ = r->failed[digest_at] & r->failed[digest_at + 1];
    for (int i = 0; differ && i < 2 * r->plans[NARROW].n_buckets; i++)
        mark(r, BIT_BUCKETS + i);
    *any = false;
    for (size_t i = 0; i < digest_at; i++)
        *any = *any || r->failed[i];
    return 0;
}

int reducer_step_way(const struct reducing *s, bool *finite)
{
    struct reducer *r = s->r;
    const size_t words = reducer_vote_words(r->plans[NARROW].n_buckets);
    bool any = false;
    memset(r->failed, 0, words * sizeof *r->failed);
    int rc = go(s);
    if (rc == -ECANCELED)
        return rc; /* the reducer is being closed: nobody waits for this step */
    const double start = clock_s();
    TRY(vote(r, rc, &any));
    s->report->comm_s += clock_s() - start;
    trace_add(r->trace, reducer_row(r), "vote", -1, start);
    if (marked(r, BIT_FATAL))
        return comm_agree(r->comm, rc < 0 ? rc : 0);
    TRY(r->way->end(r->way_arg, any));
    return make_up(s, finite);
}
