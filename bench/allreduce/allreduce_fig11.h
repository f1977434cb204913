/* allreduce_fig11.h : runs bench_allreduce --layers: fp16 and all contenders, row by row. */
#ifndef ALLREDUCE_FIG11_H
#define ALLREDUCE_FIG11_H
#include "allreduce_contender.h"
#include "allreduce_layers.h"

/* Run one contender on all ranks. base_s[N_PHASES]: times of the first. */
static inline int fig11_run(struct layers_contender *c, struct comm *comm, struct comm_virtual *v,
                            double *base_s)
{
    const size_t rows = (size_t)(v ? c->n_ranks : c->l->o->reps);
    const bool first = base_s[ONE_BY_ONE] == 0, speaks = comm_rank(comm) == 0;
    int rc = 0;
    for (int what = 0; what < N_PHASES && rc == 0; what++) {
        c->of[what] = buf_alloc(rows * sizeof *c->of[what]);
        rc = c->of[what] ? 0 : -ENOMEM;
    }
    if (rc == 0)
        rc = v ? comm_virtual_run(v, run_rank, c) : run_rank(comm, c);
    for (int what = 0; what < N_PHASES && rc == 0; what++) {
        if ((what >= c->l->n_layers && what < ONE_BY_ONE) || (what == FUSED && !c->l->o->fused))
            continue;
        const struct phase p = v ? phase_of_virtual(c, what) : phase_of_real(c, what);
        if (first)
            base_s[what] = p.all_s;
        if (speaks)
            rc = phase_show(c, what, &p, base_s[what]);
    }
    for (int what = 0; what < N_PHASES; what++)
        free(c->of[what]);
    return rc;
}

static inline struct layers_contender fig11_contender(const struct layers *l, int n_ranks,
                                                      bool is_virtual, const struct contender *of)
{
    struct layers_contender c = {.l = l,
                                 .words = of->words,
                                 .algo = of->algo,
                                 .type = of->type,
                                 .n_ranks = n_ranks,
                                 .is_virtual = is_virtual};
    c.words.bucket_bytes = (size_t)1 << 40; /* one bucket for all layers */
    c.words.codec.format = of->format;
    c.words.codec.out_format = of->out[0] ? of->out : l->o->out_format;
    c.words.algo = of->algo;
    return c;
}

/* Run fp16, then each of list[n]. Returns 0 or a negative errno after reporting it. */
static inline int fig11(const struct options *o, struct comm *comm, const struct layers *l,
                        struct contender *list, int n)
{
    struct comm_virtual *v = NULL;
    double base_s[N_PHASES] = {0};
    struct contender fp16;
    const bool is_virtual = comm_n_ranks(comm) == 1;
    const int n_ranks = is_virtual ? (int)o->virtual_ranks : comm_n_ranks(comm);
    fp16 = (struct contender){.type = "fp16", .format = "fp16", .out = "fp16"};
    snprintf(fp16.algo, sizeof fp16.algo, "%s", is_virtual ? "ring" : "native");
    fp16.words.codec.scale = "none", fp16.words.codec.sum = "nearest";
    if (is_virtual)
        TRY(comm_virtual_open(n_ranks, &v));
    if (comm_rank(comm) == 0 && !o->json)
        phase_head(is_virtual);
    int rc = 0;
    for (int i = -1; i < n && rc == 0; i++) {
        struct layers_contender c =
            fig11_contender(l, n_ranks, is_virtual, i < 0 ? &fp16 : &list[i]);
        if (i >= 0 && !c.words.codec.scale)
            c.words.codec.scale = "aps";
        rc = fig11_run(&c, comm, v, base_s);
    }
    comm_virtual_close(v);
    return rc;
}

#endif
