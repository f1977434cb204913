/* train_record.c : writes the lines of --log: the run, its steps and epochs. README.md lists all keys. */
#include "app/app.h"
#include "app/train.h"
#include "base/memory.h"

static void log_option(struct jsonl *log, const struct opt *o, const void *values)
{
    char number[OPT_NUMBER];
    const char *text = opt_get(o, values, number);
    if (o->type == OPT_INT || o->type == OPT_SIZE || o->type == OPT_REAL)
        jsonl_number(log, o->name, text);
    else if (o->type == OPT_FLAG)
        jsonl_bool(log, o->name, *text == 'y');
    else if (o->type != OPT_GROUP)
        jsonl_text(log, o->name, text);
}

void record_run(const struct train *t, struct jsonl *log)
{
    jsonl_begin(log, "run");
    jsonl_text(log, "run_id", t->run_id);
    jsonl_text(log, "version", APP_VERSION);
    jsonl_text(log, "command", train_is_emulated(t) ? "emulate" : "train");
    jsonl_int(log, "ranks", t->n_ranks);
    jsonl_uint(log, "first_step", t->state.step);
    jsonl_uint(log, "steps_in_all", t->n_steps);
    jsonl_uint(log, "weights", t->n_weights);
    jsonl_uint(log, "fp32_sent_bytes", t->report.fp32_sent_bytes);
    for (int i = 0; i < train_command.n_opts; i++)
        log_option(log, &train_command.opts[i], t->o);
}

int record_step(struct train *t, const struct report_step *step)
{
    const struct reducer_step *reduced = &step->reduced;
    struct jsonl *log = &t->report.log;
    jsonl_begin(log, "step");
    jsonl_uint(log, "step", t->state.step);
    jsonl_uint(log, "epoch", step->epoch + 1);
    jsonl_real(log, "loss", step->loss);
    jsonl_real(log, "lr", step->lr);
    jsonl_real(log, "samples_per_s", (double)t->o->batch / step->seconds);
    jsonl_real(log, "input_s", step->input_s);
    jsonl_uint(log, "sent_bytes", reduced->sent_bytes);
    jsonl_uint(log, "code_bytes", reduced->code_bytes);
    jsonl_uint(log, "fp32_bytes", reduced->fp32_bytes);
    jsonl_real(log, "comm_s", reduced->comm_s);
    jsonl_real(log, "codec_s", reduced->codec_s);
    jsonl_real(log, "hidden_s", reduced->hidden_s);
    jsonl_real(log, "exposed_s", reduced->exposed_s);
    jsonl_real(log, "waited_s", reduced->waited_s);
    jsonl_bool(log, "skipped", reduced->skipped);
    jsonl_bool(log, "offload", reduced->by_way);
    jsonl_int(log, "redone", reduced->n_redone);
    return jsonl_end(log);
}

static void log_sequences(const struct train *t, const struct report_epoch *e, struct jsonl *log)
{
    if (report_shows_cer(t))
        jsonl_real(log, "test_cer", e->test_cer);
    if (t->data->samples->tells_bits)
        jsonl_real(log, "test_bits", e->test_bits);
}

static void log_map(const struct train *t, const struct segmentation *map, struct jsonl *log)
{
    if (!t->confusion)
        return;
    jsonl_real(log, "test_miou", map->mean_iou);
    jsonl_real(log, "test_macc", map->mean_accuracy);
}

int record_epoch(struct train *t, const struct report_epoch *epoch)
{
    const struct report *r = &t->report;
    struct jsonl *log = &t->report.log;
    char checksum[16];
    snprintf(checksum, sizeof checksum, "%08x", epoch->checksum);
    jsonl_begin(log, "epoch");
    jsonl_uint(log, "epoch", epoch->epoch + 1);
    jsonl_uint(log, "step", t->state.step);
    jsonl_real(log, "loss", epoch->train_loss);
    jsonl_real(log, "train_accuracy", epoch->train_accuracy);
    jsonl_real(log, "test_loss", epoch->test_loss);
    jsonl_real(log, "test_accuracy", epoch->test_accuracy);
    if (report_shows_top(t))
        jsonl_real(log, "test_top5", epoch->test_top);
    log_map(t, &epoch->map, log);
    log_sequences(t, epoch, log);
    jsonl_real(log, "train_s", r->all.seconds);
    jsonl_uint(log, "train_bytes", r->sent_bytes);
    jsonl_uint(log, "skipped", t->state.skipped);
    jsonl_text(log, "checksum", checksum);
    jsonl_uint(log, "peak_rss_bytes", memory_peak());
    return jsonl_end(log);
}
