/* back_stats.c : writes a line of --stats for each layer of the backward pass. Gradients are
 * counted with their scale, a power of two, so a shift of the bins gives those without it. */
#include "app/train/grad_stats_inside.h"
#include "base/text.h"
#include <math.h>

enum { LIST_BYTES = TALLY_BINS * 12, SMALL_SHARE = 100 };

static int small_bin(const struct scale_tally *c, double n)
{
    int bin = 0;
    while (bin < TALLY_BINS - 2 && tally_below(c, bin + 1) * SMALL_SHARE < n)
        bin++;
    return bin;
}

static void put_bins(struct jsonl *j, const struct scale_tally *c, int lower)
{
    char list[LIST_BYTES];
    struct text text = text_in(list, sizeof list);
    int first = 0, end = TALLY_BINS - 1;
    while (first < end && c->bins[first] == 0)
        first++;
    while (end > first && c->bins[end - 1] == 0)
        end--;
    text_add(&text, "[");
    for (int i = first; i < end; i++)
        text_add(&text, "%s%u", i > first ? "," : "", c->bins[i]);
    text_add(&text, "]");
    jsonl_int(j, "first", first - TALLY_BIAS - lower);
    jsonl_number(j, "bins", list);
}

static int write_layer(const struct train *t, struct jsonl *j, int i, const struct nn_back *b)
{
    const struct scale_tally *c = b->tally;
    /* --quant rounds values as if multiplied by 2^shift, but stores them without it */
    const int shift = t->round.of[ROUND_ACT_GRAD].rule.shift, lifted = ilogbf(b->carried) + shift;
    const int bin = t->least_exponent + TALLY_BIAS - shift; /* lowest bin without underflow */
    const double finite = tally_below(c, TALLY_BINS),
                 n = finite + c->zero + c->bins[TALLY_BINS - 1],
                 some = finite > 0 ? finite : (double)NAN;
    jsonl_begin(j, "stats_back");
    jsonl_uint(j, "step", t->state.step + 1);
    jsonl_int(j, "index", i);
    jsonl_text(j, "layer", b->name);
    jsonl_real(j, "n", n);
    jsonl_real(j, "zero", c->zero / n);
    jsonl_real(j, "not_finite", c->bins[TALLY_BINS - 1] / n);
    put_bins(j, c, ilogbf(b->carried));
    jsonl_real(j, "given", ldexp((double)b->given, shift));
    jsonl_real(j, "own", (double)b->own);
    jsonl_real(j, "carried", ldexp((double)b->carried, shift));
    jsonl_real(j, "underflow_unscaled", tally_below(c, bin + lifted) / some);
    jsonl_real(j, "underflow", tally_below(c, bin) / some);
    jsonl_real(j, "wanted",
               finite > 0 ? ldexp(1, TALLY_BIAS + ilogbf(b->carried) - small_bin(c, finite))
                          : (double)NAN);
    return jsonl_end(j);
}

int back_stats_write(const struct train *t, struct jsonl *j)
{
    struct nn_back b;
    int rc = 0;
    for (int i = 0; rc == 0 && nn_model_back(t->model, i, &b); i++)
        rc = write_layer(t, j, i, &b);
    return rc;
}
