/* plot_kinds.c : lists the kinds of charts, and turns rows into points. A new kind is a function
 * and a row of the table. */
#include "app/plot/plot.h"
#include "base/err.h"
#include "base/opt/opt.h"
#include <math.h>
#include <string.h>

/* Rows of bench_allreduce --layers --json. */

static int phases_row(struct plot *p, struct plot_file *f, const struct jsonl_in *in)
{
    static const char *const parts[][2] = {
        {"exponents_us", "exponents"}, {"codes_us", "codes"}, {"casts_us", "casts"}};
    char layer[PLOT_NAME], algo[PLOT_NAME], type[PLOT_NAME], name[PLOT_NAME];
    (void)f;
    if (!jsonl_in_is(in, "phase") || !isfinite(plot_real(in, "time_us")))
        return 0;
    snprintf(name, sizeof name, "%.20s %.30s %.30s", plot_word(in, "layer", layer),
             plot_word(in, "type", type), plot_word(in, "algo", algo));
    int bars = p->n_ticks, tick = plot_tick_of(p, name);
    TRY(tick);
    for (int again = 2; p->n_ticks == bars;
         /* layers of equal length get their own bars */
         again++) {
        snprintf(name, sizeof name, "%.20s (%d) %.30s %.25s", layer, again, type, algo);
        tick = plot_tick_of(p, name);
        TRY(tick);
    }
    for (int i = 0; i < 3; i++) {
        const int s = plot_series_of(p, parts[i][1]);
        TRY(s);
        TRY(plot_add(p, s, tick, 1e-3 * fmax(plot_real(in, parts[i][0]), 0)));
    }
    return 1;
}

/* Rows of bench_error --json without --algo. */
static int roundoff_row(struct plot *p, struct plot_file *f, const struct jsonl_in *in)
{
    static const char *const errors[] = {"l2", "median", "mean"};
    char format[PLOT_NAME], scale[PLOT_NAME], sum[PLOT_NAME], out[PLOT_NAME], name[PLOT_NAME];
    const double x = plot_real(in, "ranks");
    (void)f;
    if (!jsonl_in_is(in, "error") || !isfinite(x))
        return 0;
    plot_word(in, "format", format), plot_word(in, "scale", scale), plot_word(in, "sum", sum);
    plot_word(in, "out_format", out);
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "%.16s %.16s %.16s%s%.16s, %s", format, scale, sum,
                 strcmp(format, out) ? " in " : "", strcmp(format, out) ? out : "",
                 i == 2 ? "eq. 5" : errors[i]);
        const int s = plot_series_of(p, name);
        TRY(s);
        TRY(plot_add(p, s, x, 100 * plot_real(in, errors[i])));
    }
    return 1;
}

static int predict_row(struct plot *p, struct plot_file *f, const struct jsonl_in *in)
{
    char layers[PLOT_NAME], algo[PLOT_NAME], type[PLOT_NAME], name[PLOT_NAME];
    (void)f;
    if (!jsonl_in_is(in, "predict"))
        return 0;
    snprintf(name, sizeof name, "%.20s %.20s %.24s, %.3g Gbit/s", plot_word(in, "layers", layers),
             plot_word(in, "type", type), plot_word(in, "algo", algo),
             1e-9 * plot_real(in, "link_bps"));
    const int s = plot_series_of(p, name);
    TRY(s);
    TRY(plot_add(p, s, plot_real(in, "ranks"), 1e3 * plot_real(in, "step_s")));
    return 1;
}

#define LOGS  "logs of narrowcast train --log"
#define STATS "files of narrowcast train --stats"
const struct plot_kind plot_kinds[] = {
    {.name = "accuracy",
     .about = "test accuracy by epoch, of " LOGS,
     .title = "Test accuracy",
     .wants = LOGS " that contain an epoch",
     .x = "epoch",
     .y = "test accuracy, %",
     .report = true,
     .row = plot_accuracy_row},
    {.name = "accuracy-time",
     .about = "test accuracy by seconds of training, restarts included, of " LOGS,
     .title = "Test accuracy by training time",
     .wants = LOGS " that contain an epoch with train_s",
     .x = "training time, s",
     .y = "test accuracy, %",
     .x_from_zero = true,
     .row = plot_accuracy_time_row},
    {.name = "loss",
     .about = "training loss by epoch, of " LOGS,
     .title = "Loss of an epoch",
     .wants = LOGS " that contain an epoch",
     .x = "epoch",
     .y = "loss",
     .log_y = true,
     .report = true,
     .row = plot_loss_row},
    {.name = "step-loss",
     .about = "loss of each step's batch, of " LOGS,
     .title = "Loss of a step",
     .wants = LOGS " that contain a step",
     .x = "step",
     .y = "loss",
     .log_y = true,
     .report = true,
     .row = plot_step_loss_row},
    {.name = "bytes",
     .about = "bytes that rank 0 sent in each step, relative to fp32 (`fp32_sent_bytes`), of " LOGS,
     .title = "Bytes of a step against fp32",
     .wants = LOGS " of several ranks that contain a step",
     .x = "step",
     .y = "bytes sent, % of fp32",
     .from_zero = true,
     .report = true,
     .row = plot_bytes_row},
    {.name = "time",
     .about = "mean time of a step by phase, one bar per file, of " LOGS,
     .title = "Time of a step by phase",
     .wants = LOGS " that contain a step",
     .x = "",
     .y = "time of a step, ms",
     .bars = true,
     .report = true,
     .row = plot_time_row},
    {.name = "phases",
     .about = "phases of an all-reduce, of bench_allreduce --layers --json",
     .title = "Time of an all-reduce by phase",
     .wants = "rows of bench_allreduce --layers --json on several ranks",
     .x = "",
     .y = "time, ms",
     .bars = true,
     .row = phases_row},
    {.name = "roundoff",
     .about = "error of the mean by number of ranks, of bench_error --json without --algo",
     .title = "Error of the mean",
     .wants = "rows of bench_error --json",
     .x = "ranks",
     .y = "error, %",
     .log_x = true,
     .log_y = true,
     .row = roundoff_row},
    {.name = "predict",
     .about = "time of a step by number of ranks, of narrowcast predict --json",
     .title = "Predicted time of a step",
     .wants = "rows of narrowcast predict --json",
     .x = "ranks",
     .y = "time of a step, ms",
     .log_x = true,
     .log_y = true,
     .row = predict_row},
    {.name = "exponents",
     .about = "distribution of each layer's gradients as a heat map, one row per layer, of " STATS,
     .title = "Exponents of gradients by layer",
     .wants = STATS,
     .x = "exponent",
     .y = "share of nonzero gradients, %",
     .map = true,
     .shares = true,
     .layers = true,
     .row = plot_exponents_row},
    {.name = "model-exponents",
     .about = "distribution of all layers' gradients, one line per file, of " STATS,
     .title = "Exponents of all gradients",
     .wants = STATS,
     .x = "exponent",
     .y = "share of nonzero gradients, %",
     .shares = true,
     .layers = true,
     .report = true,
     .row = plot_model_exponents_row},
    {.name = "exponent-range",
     .about = "for each layer, the exponents below which 1 %, half and 99 % of its gradients lie, "
              "of " STATS,
     .title = "Exponents by layer",
     .wants = STATS,
     .x = "layer",
     .y = "exponent",
     .layers = true,
     .report = true,
     .row = plot_exponent_range_row},
    {.name = "shift",
     .about = "shift of each layer in binades in the last step, one colour per file, of " STATS,
     .title = "Shift by layer",
     .wants = STATS " with a codec that casts",
     .x = "layer",
     .y = "shift, binades",
     .layers = true,
     .report = true,
     .row = plot_shift_row},
    {.name = "underflow",
     .about =
         "share of each layer's gradients that underflow to 0 in the last step, one colour per "
         "file, of " STATS,
     .title = "Gradients that underflow to 0, by layer",
     .wants = STATS " with a codec that casts",
     .x = "layer",
     .y = "underflow, %",
     .layers = true,
     .report = true,
     .from_zero = true,
     .row = plot_underflow_row},
    {.name = "underflow-back",
     .about = "share of the activation gradients of each layer that are below the smallest number "
              "of fp16 (or of --quant error=F), in backward order, one colour per step, of " STATS,
     .title = "Activation gradients that underflow, by layer",
     .wants = STATS,
     .x = "layer",
     .y = "underflow, %",
     .from_zero = true,
     .row = plot_underflow_back_row},
    {.name = "scale-back",
     .about = "for each layer's activation gradients: the scale that would bring all except the "
              "smallest 1 % to 1 or more, and the scale in use, of " STATS,
     .title = "Scale of activation gradients, by layer",
     .wants = STATS,
     .x = "layer",
     .y = "scale",
     .log_y = true,
     .row = plot_scale_back_row},
    {.name = "error",
     .about = "error of each layer's mean over ranks against the exact mean, one colour per file, "
              "of " STATS,
     .title = "Error of each layer's mean over ranks",
     .wants = STATS,
     .x = "layer",
     .y = "L2 error, %",
     .layers = true,
     .report = true,
     .from_zero = true,
     .row = plot_error_row},
    {.name = NULL},
};

const struct plot_kind *plot_kind_of(const char *name)
{
    const char *names[PLOT_SERIES];
    char list[512];
    struct text all = text_in(list, sizeof list);
    int n = 0;
    for (const struct plot_kind *k = plot_kinds; k->name && n < PLOT_SERIES; k++) {
        if (!strcmp(k->name, name))
            return k;
        text_add(&all, "%s%s", n ? ", " : "", k->name);
        names[n++] = k->name;
    }
    const char *nearest = opt_nearest(name, names, n);
    if (nearest)
        (void)ERR(-EINVAL, "unknown kind '%s': did you mean '%s'?", name, nearest);
    else
        (void)ERR(-EINVAL, "unknown kind '%s': need one of %s", name, list);
    return NULL;
}
