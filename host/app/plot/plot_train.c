/* plot_train.c : what train --log says of a training: curves by epoch and step, bytes, what a step's time
 * goes into. */
#include "app/plot/plot.h"
#include "base/err.h"
#include <math.h>
#include <string.h>

/* A line of the kind that is looked for? It may be the one that a log begins with, too. */
static bool is_of(struct plot_file *f, const struct jsonl_in *in, const char *kind)
{
    plot_run_name(f, in);
    if (jsonl_in_is(in, "run")) {
        f->fp32_bytes = plot_real(in, "fp32_sent_bytes");
        f->batch = plot_real(in, "batch");
    }
    return jsonl_in_is(in, kind);
}

static int curve(struct plot *p, struct plot_file *f, const struct jsonl_in *in, const char *kind,
                 const char *x, const char *y, double times)
{
    if (!is_of(f, in, kind))
        return 0;
    const int s = plot_series_here(p, f, plot_file_name(f));
    TRY(s);
    TRY(plot_add(p, s, plot_real(in, x), times * plot_real(in, y)));
    return 1;
}

int plot_accuracy_row(struct plot *p, struct plot_file *f, const struct jsonl_in *in)
{
    return curve(p, f, in, "epoch", "epoch", "test_accuracy", 100);
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

/* A second counts once: what casts and sends while the rank computes is neither of both alone. */
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
