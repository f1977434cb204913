/* plot_back.c : what train --stats says of gradients that layers hand back: what underflows, and the
 * scales that are wanted and carried; Fig. 1 of Zhao et al., "Adaptive Loss Scaling". A line a step,
 * layers in backward order. */
#include "app/plot/plot.h"
#include "base/err.h"
#include <math.h>

/* A point of the line "FILE: step N" or, with a word, "FILE: step N, WORD". */
static int point(struct plot *p, struct plot_file *f, const struct jsonl_in *in, const char *word,
                 double y)
{
    char name[PLOT_NAME];
    snprintf(name, sizeof name, "%.40s: step %.0f%s%s", f->name, plot_real(in, "step"),
             *word ? ", " : "", word);
    return plot_add_layer(p, plot_series_here(p, f, name), in, y);
}

int plot_underflow_back_row(struct plot *p, struct plot_file *f, const struct jsonl_in *in)
{
    if (!jsonl_in_is(in, "stats_back"))
        return 0;
    TRY(point(p, f, in, "", 100 * plot_real(in, "underflow")));
    if (plot_real(in, "carried") != 1)
        TRY(point(p, f, in, "unscaled", 100 * plot_real(in, "underflow_unscaled")));
    return 1;
}

int plot_scale_back_row(struct plot *p, struct plot_file *f, const struct jsonl_in *in)
{
    if (!jsonl_in_is(in, "stats_back"))
        return 0;
    TRY(point(p, f, in, "wanted", plot_real(in, "wanted")));
    TRY(point(p, f, in, "carried", plot_real(in, "carried")));
    return 1;
}
