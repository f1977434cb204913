/* predict_memory.c : prints a rank's bytes of weights, gradients and optimiser, as `train` counts
 * them. If the ranges differ, rank 0 has the longest. */
#include "app/predict/predict.h"
#include "app/train/train_shard.h"
#include "base/err.h"
#include "base/jsonl.h"
#include "job/job.h"
#include "nn/optim/optim.h"
#include <string.h>

int predict_shards(const char *text, struct predict_list *out)
{
    TRY(predict_spec("shard", text, out));
    for (int i = 0; i < out->n; i++)
        if (strcmp(out->word[i], "no") != 0 && strcmp(out->word[i], "optimizer") != 0 &&
            strcmp(out->word[i], "all") != 0)
            return ERR(-EINVAL, "--shard '%s': need no, optimizer or all, or a list of these",
                       out->word[i]);
    return 0;
}

struct memory {
    uint64_t weights, gradients, optimizer;
};

/* Returns 1, 0 if it is impossible, or -ENOMEM. */
static int memory_of(const struct predict *p, const char *shard, int n_ranks, struct memory *out)
{
    const bool sharded = strcmp(shard, "no") != 0;
    const enum optim_kind kind = optim_find(p->o->optimizer);
    struct predict_way way;
    const size_t n = p->n_elements;
    size_t held = n;
    if (sharded && !train_can_shard(kind))
        return 0;
    if (!strcmp(shard, "all")) {
        err_hold();
        const int rc = predict_settle(p->o, "direct", p->formats.word[0], n_ranks, &way);
        err_release(false);
        if (rc < 0)
            return 0;
        way.job.layers = p->layers;
        way.job.n_layers = p->n_layers;
        way.job.bucket_bytes = (size_t)p->o->bucket_bytes;
        TRY(cost_held(&way.job, &held));
    }
    *out =
        (struct memory){.weights = n * sizeof(real),
                        .gradients = held * sizeof(real),
                        .optimizer = train_optimizer_bytes(
                            kind, sharded ? shard_equal(n, n_ranks, 0) : n, sharded, sizeof(real))};
    return 1;
}

static int print_json(const struct predict *p, const char *shard, int n_ranks)
{
    struct memory m;
    struct jsonl j;
    const int rc = memory_of(p, shard, n_ranks, &m);
    if (rc <= 0)
        return rc;
    jsonl_to(&j, stdout);
    jsonl_begin(&j, "memory");
    jsonl_text(&j, "layers", p->what);
    jsonl_int(&j, "ranks", n_ranks);
    jsonl_text(&j, "optimizer", p->o->optimizer);
    jsonl_text(&j, "shard", shard);
    jsonl_text(&j, "type", p->formats.word[0]);
    jsonl_uint(&j, "weight_bytes", m.weights);
    jsonl_uint(&j, "gradient_bytes", m.gradients);
    jsonl_uint(&j, "optimizer_bytes", m.optimizer);
    return jsonl_end(&j);
}

static int print_cell(const struct predict *p, const char *shard, int n_ranks)
{
    struct memory m;
    const int rc = memory_of(p, shard, n_ranks, &m);
    TRY(rc);
    if (rc)
        printf(" %11.4g %9.4g", 1e-6 * (double)m.gradients, 1e-6 * (double)m.optimizer);
    else
        printf(" %11s %9s", "-", "-");
    return 0;
}

static int print_table(const struct predict *p)
{
    printf(
        "\nMB of a rank with %s; with shards, the optimiser has means and fp32 weights too\n%16s",
        p->o->optimizer, "");
    for (int s = 0; s < p->shards.n; s++)
        printf(" %21s", p->shards.word[s]);
    printf("\n%6s %9s", "ranks", "weights");
    for (int s = 0; s < p->shards.n; s++)
        printf(" %11s %9s", "gradients", "optimiser");
    printf("\n");
    for (int r = 0; r < p->n_ranks; r++) {
        printf("%6d %9.4g", p->ranks[r], 4e-6 * (double)p->n_elements);
        for (int s = 0; s < p->shards.n; s++)
            TRY(print_cell(p, p->shards.word[s], p->ranks[r]));
        printf("\n");
    }
    return 0;
}

int predict_show_memory(const struct predict *p)
{
    if (!p->o->json)
        return print_table(p);
    for (int r = 0; r < p->n_ranks; r++)
        for (int s = 0; s < p->shards.n; s++)
            TRY(print_json(p, p->shards.word[s], p->ranks[r]));
    return 0;
}
