/* node_sum.c : adds codes with a card of the node's first rank, one run per segment of a bucket. */
#include "job/node_sum.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "offload/xrt/card_mm.h"
#include "offload/xrt/xrt_card.h"
#include <stdio.h>
#include <stdlib.h>

static const double card_s = 5, ranks_s = 60; /* defaults */

struct node_sum {
    struct algo_node_sum algo;
    struct card_mm mm; /* on rank 0; closed once the card is lost */
    double timeout_s;  /* of one sum */
    char name[64];
    uint64_t n_sums, in_bytes;
    double spent_s;
};

int node_sum_check(const char *word, const struct algo *algo, int group, int n_ranks,
                   const struct codec *codec)
{
    struct card_fit fit;
    if (!node_sum_wanted(word))
        return 0;
    if (!xrt_card_name_fits(word))
        return ERR(-EINVAL, "unknown --node-sum '%s': need cpu, xrt or xrt:65:00.1", word);
    if (algo != &algo_group_scatter)
        return ERR(-EINVAL,
                   "--node-sum %s needs --algo group-scatter:%d, one node of all ranks, not %s",
                   word, n_ranks, algo->name);
    if (group != n_ranks)
        return ERR(-EINVAL,
                   "--node-sum %s cannot serve %d nodes: unrounded sums travel between nodes, and "
                   "a card rounds them; need --algo %s:%d, one node",
                   word, n_ranks / group, algo->name, n_ranks);
    return card_fits(codec_sum(codec), n_ranks, "ranks", &fit);
}

static void lose(struct node_sum *s)
{
    card_mm_close(&s->mm);
    s->algo.gone = true;
}

static bool add(void *arg, const uint8_t *const *parts, int n_parts, size_t n, uint8_t *sums)
{
    struct node_sum *s = arg;
    const double start = clock_s();
    (void)n_parts; /* as many as the card was opened for */
    if (card_mm_add(&s->mm, parts, n, sums, s->timeout_s)) {
        err_news("node sums by the card abandoned: %s; the ranks add, with the same bits",
                 s->mm.why);
        lose(s);
        return false;
    }
    s->n_sums++;
    s->spent_s += clock_s() - start;
    s->in_bytes = s->mm.in_bytes;
    return true;
}

/* Only a card that cannot exist is an error. After other failures the ranks add. */
static int open_card(struct node_sum *s, const char *word, const char *xclbin,
                     const struct vec_sum *sum, int n_ranks, double timeout_s)
{
    s->algo.gone = true;
    int rc = xrt_card_check(word, xclbin, s->mm.why);
    if (rc)
        return ERR(-EINVAL, "--node-sum %s: %s", word, s->mm.why);
    rc = card_mm_open(&s->mm, word, xclbin, sum, n_ranks, 0, timeout_s);
    if (xrt_card_cannot_be(rc))
        return ERR(-ENXIO, "--node-sum %s: %s", word, s->mm.why);
    s->algo.gone = rc != 0;
    if (rc)
        err_warn("--node-sum %s: %s; the ranks add, with the same bits", word, s->mm.why);
    return 0;
}

static double shorter(double a, double b)
{
    return a < b ? a : b;
}

int node_sum_open(struct comm *c, const char *word, const struct offload_options *o,
                  const struct vec_sum *sum, struct node_sum **out)
{
    /* half, since the other ranks wait meanwhile */
    const double half_s = (o->deadline_s > 0 ? o->deadline_s : ranks_s) / 2;
    struct node_sum *s = buf_alloc(sizeof *s);
    int rc = s ? 0 : -ENOMEM;
    if (s)
        s->algo = (struct algo_node_sum){.add = add, .arg = s};
    if (s && comm_rank(c) == 0) {
        s->timeout_s = shorter(o->card_deadline_s > 0 ? o->card_deadline_s : card_s, half_s);
        rc = open_card(s, word, o->xclbin, sum, comm_n_ranks(c), half_s);
        snprintf(s->name, sizeof s->name, "%s", s->algo.gone ? word : s->mm.card.name);
    }
    bool gone = s ? s->algo.gone : true;
    if (comm_bcast(c, &gone, sizeof gone, 0) < 0 && !rc)
        rc = -EIO;
    if (s)
        s->algo.gone = gone;
    *out = s;
    return rc;
}

void node_sum_close(struct node_sum *s)
{
    if (s)
        card_mm_close(&s->mm);
    free(s);
}

struct algo_node_sum *node_sum_algo(struct node_sum *s)
{
    return &s->algo;
}

void node_sum_describe(const struct node_sum *s, struct text *to)
{
    if (s->algo.gone)
        text_add(to, "by the ranks: %s", s->mm.why);
    else
        text_add(to, "by card %s", s->name);
}

void node_sum_count(const struct node_sum *s, struct text *to)
{
    text_add(to, "%llu by card %s", (unsigned long long)s->n_sums, s->name);
    if (s->n_sums)
        text_add(to, ", %.0f us each, %.1f MB/s", 1e6 * s->spent_s / (double)s->n_sums,
                 1e-6 * (double)s->in_bytes / s->spent_s);
    if (s->algo.gone)
        text_add(to, "; then by the ranks: %s", s->mm.why);
}
