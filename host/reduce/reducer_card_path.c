/* reducer_card_path.c : runs a step with narrow buckets on the card path, which may fail.
 *
 *     per group:  exponents, maxima --path.max--> shifts, per bucket --path.sum--> means
 *     one vote of all ranks: what has any rank missed?
 *     per group:  missed exponents, then missed buckets and fp32 buckets, ascending, over MPI
 *
 * Before the vote a rank goes as far as it can. A repeated bucket is not encoded again. A rank that
 * has the card's result overwrites it with an equal one. All other messages follow the vote,
 * because ranks with different results must not enter different collectives. A group with inf or
 * nan ends the step; a rank that missed its exponents learns this in their repetition. */
#include "base/bits.h"
#include "base/clock.h"
#include "base/err.h"
#include "reduce/reducer_inside.h"
#include <string.h>

/* The vote has one fatal bit, one per bucket, and one per group's exponents (at most as many). Two
 * words follow, the card path's digest and its complement: if all digests are equal, their ORs have
 * no common bit. */
enum { BIT_FATAL, BIT_BUCKETS, DIGEST_WORDS = 2 };

static int bit_max(const struct reducer *r, int group)
{
    return BIT_BUCKETS + r->plans[NARROW].n_buckets + group;
}

size_t reducer_vote_words(int n_buckets)
{
    return ((size_t)n_buckets * 2 + BIT_BUCKETS + 63) / 64 + DIGEST_WORDS;
}

int reducer_set_card_path(struct reducer *r, const struct card_path_ops *ops, void *arg)
{
    const int n = r->plans[NARROW].n_buckets;
    const size_t words = comm_vote_words(r->comm);
    if (reducer_vote_words(n) > words)
        return ERR(-EINVAL,
                   "cannot send %d buckets of gradients through cards: need at most %zu; make "
                   "each longer (--bucket-bytes)",
                   n, (64 * (words - DIGEST_WORDS) - BIT_BUCKETS) / 2);
    r->card_path = ops;
    r->card_path_arg = arg;
    return 0;
}

static void mark(struct reducer *r, int bit)
{
    r->failed[bit / 64] |= (uint64_t)1 << bit % 64;
}
static bool marked(const struct reducer *r, int bit)
{
    return r->failed[bit / 64] >> bit % 64 & 1;
}

/* Tag of all facts that ranks must agree on before their codes may be added. */
static uint32_t tag_of(const struct reducer *r, uint32_t exponents, uint32_t bucket, uint64_t n)
{
    return card_path_tag(exponents, (uint64_t[]){r->step, bucket, n, r->tag});
}

/* message: 0 for exponents */
static int max_of(const struct reducer *r, int k, uint32_t message, int8_t *x, size_t n)
{
    return r->card_path->max(r->card_path_arg, tag_of(r, message, UINT32_MAX - (uint32_t)k, n), x,
                             n);
}

/* Cards compare int8, so the 32 bits of a maximum travel as four bytes, the highest first. Ranks
 * whose higher bytes are below the maximum send -128. */
static int maxima_by_card(struct reducer *r, const struct group *g, int k)
{
    memset(r->maxima + g->first, 0, (size_t)g->n_layers * sizeof *r->maxima);
    for (int at = 24; at >= 0; at -= 8) {
        for (int i = g->first; i < g->first + g->n_layers; i++) {
            const uint64_t own = bits_of(r->own_maxima[i]), so_far = bits_of(r->maxima[i]);
            const bool leads = own >> (at + 8) == so_far >> (at + 8);
            r->max_bytes[i] = (int8_t)((leads ? (int)(own >> at & 255) : 0) - 128);
        }
        const int rc = max_of(r, k, (uint32_t)at + 1, r->max_bytes + g->first, (size_t)g->n_layers);
        if (rc)
            return rc;
        for (int i = g->first; i < g->first + g->n_layers; i++) {
            const uint32_t byte = (uint32_t)(r->max_bytes[i] + 128);
            r->maxima[i] = float_of(bits_of(r->maxima[i]) | byte << at);
        }
    }
    reducer_take_maxima(r, g);
    return 0;
}

static int max_by_card(struct reducer *r, const struct group *g, int k)
{
    const double start = reducer_max_begin(r, g);
    int rc = max_of(r, k, 0, r->exponents + g->at, g->n_exponents);
    if (!rc && reducer_maxima_follow(r, g))
        rc = maxima_by_card(r, g, k);
    reducer_max_end(r, g, start);
    return rc;
}

static int bucket_by_card(struct reducer *r, int i, uint32_t exponents)
{
    const struct bucket *b = &r->plans[NARROW].buckets[i];
    const double start = clock_s();
    struct bucket_flow casting = {.r = r, .bucket = b};
    const struct card_path_sum sum = {.codec = &r->codecs[NARROW],
                                      .n = b->n,
                                      .codes = r->codes + r->plans[NARROW].places[b->last],
                                      .result = r->result,
                                      .tag = tag_of(r, exponents, (uint32_t)i, b->n),
                                      .flow = bucket_flow(&casting)};
    int rc = r->card_path->sum(r->card_path_arg, &sum);
    if (rc < 0)
        return rc;
    trace_add_bytes(r->trace, reducer_row(r), "all-reduce", i,
                    (int64_t)reduce_op_in_at(&b->op, b->n), start);
    if (rc == 0)
        bucket_summed(&casting);
    bucket_encoded(&casting, sum.codes);
    r->done.codec_s += casting.codec_s;
    r->done.comm_s += clock_s() - start - casting.codec_s;
    return rc;
}

/* rc and the result are the step's state: 0, CARD_PATH_ABANDONED or an error. */
static int buckets_by_card(struct reducer *r, const struct group *g, int rc)
{
    const uint32_t exponents = crc_of(r->exponents + g->at, g->n_exponents);
    for (int i = g->bucket; i < g->bucket + g->n_buckets; i++) {
        if (r->plans[NARROW].buckets[i].fp32)
            continue;
        if (!rc)
            TRY(rc = bucket_by_card(r, i, exponents));
        if (rc)
            mark(r, BIT_BUCKETS + i);
    }
    return rc;
}

/* Scans later groups even after CARD_PATH_ABANDONED, since the repetition needs their exponents.
 * *n_counted: groups whose losses are counted, before means replace their gradients. */
static int run_by_card(struct reducer *r, int *n_counted)
{
    int rc = 0;
    for (int k = 0; k < reducer_n_groups(r); k++) {
        const struct group g = reducer_group(r, k);
        TRY(reducer_scan(r, &g));
        if (!rc)
            TRY(rc = max_by_card(r, &g, k));
        if (rc) {
            mark(r, bit_max(r, k));
        } else if (!reducer_all_finite(r, &g)) {
            return 0;
        } else {
            reducer_lost(r, &g);
            *n_counted = k + 1;
            TRY(rc = buckets_by_card(r, &g, rc));
        }
    }
    return 0;
}

/* Sends missed exponents and buckets, and buckets in fp32, over MPI. */
static int repeat_missed(struct reducer *r, int n_counted, bool *finite)
{
    const struct plan *plan = &r->plans[NARROW];
    *finite = true;
    for (int k = 0; k < reducer_n_groups(r); k++) {
        const struct group g = reducer_group(r, k);
        const bool lost_max = marked(r, bit_max(r, k));
        if (lost_max)
            TRY(reducer_max_mpi(r, &g));
        *finite = reducer_all_finite(r, &g);
        if (!*finite)
            return 0;
        if (k >= n_counted)
            reducer_lost(r, &g);
        for (int i = g.bucket; i < g.bucket + g.n_buckets; i++) {
            const bool again = !plan->buckets[i].fp32 && (lost_max || marked(r, BIT_BUCKETS + i));
            r->done.n_redone += again;
            if (again || plan->buckets[i].fp32)
                TRY(reducer_bucket_mpi(r, i));
        }
    }
    return 0;
}

/* *any: something must be repeated, or everything if digests differ */
static int vote(struct reducer *r, int rc, bool *any)
{
    const size_t words = reducer_vote_words(r->plans[NARROW].n_buckets),
                 digest_at = words - DIGEST_WORDS;
    const uint64_t digest = r->card_path->digest(r->card_path_arg);
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

int reducer_step_card_path(struct reducer *r, bool *finite)
{
    const size_t words = reducer_vote_words(r->plans[NARROW].n_buckets);
    bool any = false;
    int n_counted = 0;
    memset(r->failed, 0, words * sizeof *r->failed);
    int rc = run_by_card(r, &n_counted);
    if (rc == -ECANCELED)
        /* the reducer is being closed; no rank waits for this step */
        return rc;
    const double start = clock_s();
    TRY(vote(r, rc, &any));
    r->done.comm_s += clock_s() - start;
    trace_add(r->trace, reducer_row(r), "vote", -1, start);
    if (marked(r, BIT_FATAL))
        return comm_agree(r->comm, rc < 0 ? rc : 0);
    TRY(r->card_path->end(r->card_path_arg, any));
    r->done.by_card_path = !any;
    return repeat_missed(r, n_counted, finite);
}
