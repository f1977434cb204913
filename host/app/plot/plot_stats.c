/* plot_stats.c : reads the rows of train --stats and --log. Charts of layers show the values of all
 * ranks in a file's last step. */
#include "app/plot/plot.h"
#include "base/err.h"
#include "base/text.h"
#include <math.h>
#include <string.h>

enum { BINS = 1024 };

static bool chosen(struct plot *p, const char *layer)
{
    bool found = !p->layers;
    const char *at = p->layers;
    for (int i = 0; at; i++) {
        const size_t n = strcspn(at, ",");
        if (word_is_part(layer, at, n))
            p->layers_met |= UINT64_C(1) << i, found = true;
        at = at[n] ? at + n + 1 : NULL;
    }
    return found;
}

/* A row of a later step discards all earlier points of the file. */
enum { NO_LAYER, LEFT_OUT, DRAWN };
static int of_layer(struct plot *p, struct plot_file *f, const struct jsonl_in *in)
{
    char layer[PLOT_NAME];
    plot_run_name(f, in);
    if (!jsonl_in_is(in, "stats"))
        return NO_LAYER;
    if (!chosen(p, plot_word(in, "layer", layer)))
        return LEFT_OUT;
    const double step = plot_real(in, "step");
    for (int s = f->first_series; s < p->n_series && step > f->step; s++) {
        p->n_points -= p->series[s].n;
        p->series[s].n = 0;
    }
    f->step = step > f->step ? step : f->step;
    return DRAWN;
}

/* finish() adds the counts of equal exponents. */
static int add_bins(struct plot *p, int s, const struct jsonl_in *in)
{
    double bins[BINS];
    const double first = plot_real(in, "first");
    size_t n = 0;
    if (!jsonl_in_list(in, "bins_all", bins, BINS, &n) || n > BINS)
        return 0;
    for (size_t i = 0; i < n; i++)
        TRY(plot_add(p, s, first + (double)i, bins[i]));
    return 1;
}

int plot_exponents_row(struct plot *p, struct plot_file *f, const struct jsonl_in *in)
{
    char layer[PLOT_NAME], name[PLOT_NAME];
    const int is = of_layer(p, f, in);
    if (is != DRAWN)
        return is;
    snprintf(name, sizeof name, "%.40s: %.40s", f->name, plot_word(in, "layer", layer));
    const int s = plot_series_here(p, f, name);
    return s < 0 ? s : add_bins(p, s, in);
}

int plot_model_exponents_row(struct plot *p, struct plot_file *f, const struct jsonl_in *in)
{
    const int is = of_layer(p, f, in);
    if (is != DRAWN)
        return is;
    const int s = plot_series_here(p, f, plot_file_name(f));
    return s < 0 ? s : add_bins(p, s, in);
}

static double exponent_at(const double *bins, size_t n, double first, double share)
{
    double all = 0, below = 0;
    size_t i = 0;
    for (size_t k = 0; k < n; k++)
        all += bins[k];
    while (i < n && below + bins[i] < share * all)
        below += bins[i++];
    return all > 0 ? first + (double)i : (double)NAN;
}

int plot_exponent_range_row(struct plot *p, struct plot_file *f, const struct jsonl_in *in)
{
    static const struct {
        const char *name;
        double share;
    } lines[] = {{"1 %", 0.01}, {"half", 0.5}, {"99 %", 0.99}};
    double bins[BINS];
    char name[PLOT_NAME];
    size_t n = 0;
    const int is = of_layer(p, f, in);
    if (is != DRAWN)
        return is;
    if (!jsonl_in_list(in, "bins_all", bins, BINS, &n) || n > BINS)
        return NO_LAYER;
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "%.70s, %s", plot_file_name(f), lines[i].name);
        TRY(plot_add_layer(p, plot_series_here(p, f, name), in,
                           exponent_at(bins, n, plot_real(in, "first"), lines[i].share)));
    }
    return 1;
}

static int by_layer(struct plot *p, struct plot_file *f, const struct jsonl_in *in, const char *key,
                    double times)
{
    const int is = of_layer(p, f, in);
    if (is != DRAWN)
        return is;
    if (!isfinite(plot_real(in, key)))
        return NO_LAYER;
    TRY(plot_add_layer(p, plot_series_here(p, f, plot_file_name(f)), in,
                       times * plot_real(in, key)));
    return 1;
}

int plot_shift_row(struct plot *p, struct plot_file *f, const struct jsonl_in *in)
{
    return by_layer(p, f, in, "shift", 1);
}

int plot_underflow_row(struct plot *p, struct plot_file *f, const struct jsonl_in *in)
{
    return by_layer(p, f, in, "underflow_all", 100);
}

int plot_error_row(struct plot *p, struct plot_file *f, const struct jsonl_in *in)
{
    return by_layer(p, f, in, "l2", 100);
}

/* Makes a series for each step, with layers in backward order, as in Fig. 1 of Zhao et al.,
 * "Adaptive Loss Scaling". */

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

/* Also reads `run` lines. */
static bool is_of(struct plot_file *f, const struct jsonl_in *in, const char *kind)
{
    plot_run_name(f, in);
    if (jsonl_in_is(in, "run")) {
        f->fp32_bytes = plot_real(in, "fp32_sent_bytes");
        f->batch = plot_real(in, "batch");
        f->earlier_s = f->train_s;
    }
    return jsonl_in_is(in, kind);
}

static int add_to_curve(struct plot *p, const struct plot_file *f, double x, double y)
{
    const int s = plot_series_here(p, f, plot_file_name(f));
    TRY(s);
    TRY(plot_add(p, s, x, y));
    return 1;
}

static int curve(struct plot *p, struct plot_file *f, const struct jsonl_in *in, const char *kind,
                 const char *x, const char *y, double times)
{
    return is_of(f, in, kind) ? add_to_curve(p, f, plot_real(in, x), times * plot_real(in, y)) : 0;
}

int plot_accuracy_row(struct plot *p, struct plot_file *f, const struct jsonl_in *in)
{
    return curve(p, f, in, "epoch", "epoch", "test_accuracy", 100);
}

int plot_accuracy_time_row(struct plot *p, struct plot_file *f, const struct jsonl_in *in)
{
    const double train_s = plot_real(in, "train_s");
    const bool is_epoch = is_of(f, in, "epoch");
    if (!isfinite(train_s))
        return 0;
    f->train_s = f->earlier_s + train_s;
    return is_epoch ? add_to_curve(p, f, f->train_s, 100 * plot_real(in, "test_accuracy")) : 0;
}

int plot_loss_row(struct plot *p, struct plot_file *f, const struct jsonl_in *in)
{
    return curve(p, f, in, "epoch", "epoch", "loss", 1);
}

int plot_step_loss_row(struct plot *p, struct plot_file *f, const struct jsonl_in *in)
{
    return curve(p, f, in, "step", "step", "loss", 1);
}

int plot_bytes_row(struct plot *p, struct plot_file *f, const struct jsonl_in *in)
{
    if (!is_of(f, in, "step") || !(f->fp32_bytes > 0))
        return 0;
    return curve(p, f, in, "step", "step", "sent_bytes", 100 / f->fp32_bytes);
}

/* Casting and sending exclude overlapped time, so each second counts once. */
enum { INPUT, COMPUTING, BOTH, CASTING, SENDING, EXPOSED, PARTS };
static const char *const parts[PARTS] = {
    "data",    "forward, backward, update", "the same, beside the all-reduce",
    "casting", "sending, adding, waiting",  "all-reduce, not hidden"};

int plot_time_row(struct plot *p, struct plot_file *f, const struct jsonl_in *in)
{
    if (!is_of(f, in, "step"))
        return 0;
    const double step_s = f->batch / plot_real(in, "samples_per_s"),
                 codec_s = plot_real(in, "codec_s"), comm_s = plot_real(in, "comm_s"),
                 all_s = codec_s + comm_s, input_s = fmax(plot_real(in, "input_s"), 0),
                 hidden_s = fmin(fmax(plot_real(in, "hidden_s"), 0), all_s);
    const bool overlaps = hidden_s > 0;
    if (!isfinite(step_s) || !isfinite(all_s))
        return 0;
    const int tick = f->tick ? f->tick - 1 : plot_tick_new(p, plot_file_name(f));
    TRY(tick);
    f->tick = tick + 1;
    const double part_s[PARTS] = {[INPUT] = input_s,
                                  [COMPUTING] = fmax(step_s - all_s - input_s, 0),
                                  [BOTH] = hidden_s,
                                  [CASTING] = overlaps ? 0 : codec_s,
                                  [SENDING] = overlaps ? 0 : comm_s,
                                  [EXPOSED] = overlaps ? all_s - hidden_s : 0};
    for (int i = 0; i < PARTS; i++) {
        const int s = plot_series_of(p, parts[i]);
        TRY(s);
        TRY(plot_add_mean(p, s, tick, 1e3 * part_s[i]));
    }
    return 1;
}
