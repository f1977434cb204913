/* job_shard.c : settles jobs whose steps are reduce-scatters, and cuts equal ranges. */
#include "base/buf.h"
#include "base/crc.h"
#include "base/err.h"
#include "base/opt/opt.h"
#include "job/job.h"
#include <stdlib.h>
#include <string.h>

int shard_parse(const char *word, const char *gather, struct job_shard *out)
{
    out->on = word && strcmp(word, "no") != 0;
    out->rounded = out->on && !strcmp(word, "rounded");
    if (out->on && !out->rounded && strcmp(word, "fp32") != 0)
        return ERR(-EINVAL, "unknown shard \"%s\": need no, fp32 or rounded%s", word,
                   opt_guess(word, "no fp32 rounded", (char[OPT_GUESS]){0}));
    if (!out->on && (out->range || gather))
        return ERR(-EINVAL, "%s has no effect without shards: need shard fp32 or rounded",
                   out->range ? "shard_n" : "gather");
    return gather_parse(gather, &out->gather);
}

int shard_settle(const struct job_spec *w, const struct algo **algo, const char **cards)
{
    if (*algo != &algo_direct && *algo != &algo_self)
        return ERR(-EINVAL, "algorithm \"%s\" cannot reduce-scatter to shards: need direct or auto",
                   (*algo)->name);
    if (w->algo && !strcmp(w->algo, "offload"))
        return ERR(-EINVAL, "cards cannot reduce-scatter to shards: need algo direct or auto");
    if (!strcmp(*cards, "auto"))
        *cards = "off"; /* the environment's cards are for all-reduces */
    if (strcmp(*cards, "off") != 0)
        return ERR(-EINVAL, "cards cannot reduce-scatter to shards: leave offload '%s' out",
                   *cards);
    const char *out = w->codec.out_format ? w->codec.out_format : "auto";
    if (!w->shard.rounded && strcmp(out, "auto") != 0 && strcmp(out, "fp32") != 0)
        return ERR(-EINVAL,
                   "out_format %s has no effect on shards in fp32, whose sums are not rounded: "
                   "leave it out, or choose shard rounded",
                   out);
    if (*algo == &algo_direct)
        *algo = &algo_scatter;
    return 0;
}

void shard_describe(const struct job_shard *s, int n_ranks, struct text *to)
{
    if (!s->on)
        return;
    const struct mf_fmt fmt = s->gather.fmt;
    text_add(to, "shard=shard %s %08x gather e%dm%d:%d:%zu\n", s->rounded ? "rounded" : "fp32",
             s->range ? (unsigned)crc_of(s->range, (size_t)n_ranks * sizeof *s->range) : 0,
             (int)fmt.e, (int)fmt.m, (int)fmt.flavour, s->gather.group);
}

size_t shard_equal(size_t n, int n_ranks, int rank)
{
    const size_t each = (n + (size_t)n_ranks - 1) / (size_t)n_ranks, at = each * (size_t)rank;
    return at >= n ? 0 : n - at < each ? n - at : each;
}

int shard_reducer(struct job *j, struct reducer_spec spec)
{
    const int n_ranks = comm_n_ranks(j->comm);
    size_t all = 0, *equal = NULL;
    for (int i = 0; i < spec.n_layers; i++)
        all += spec.layers[i].n;
    if (!j->shard.range) {
        equal = buf_alloc((size_t)n_ranks * sizeof *equal);
        if (!equal)
            return -ENOMEM;
        for (int k = 0; k < n_ranks; k++)
            equal[k] = shard_equal(all, n_ranks, k);
    }
    spec.range = equal ? equal : j->shard.range;
    spec.releases = j->shard.releases;
    int rc = reducer_open(&spec, &j->reducer);
    if (rc == 0)
        rc = reducer_open_gather(j->reducer, &j->shard.gather);
    free(equal);
    j->shard.range = NULL;
    return rc;
}
