/* train_record.c : writes the lines of --log. app/README.md has the keys. train_log.c reads the
 * first ones: keep their order. */
#include "app/app.h"
#include "app/doctor/info.h"
#include "app/train/train.h"
#include "base/memory.h"
#include "nn/cpu/winograd.h"
#include <inttypes.h>
#include <limits.h>
#include <time.h>
#include <unistd.h>

enum { SCHEMA = 2 }; /* increase if a key is renamed or redefined */

bool report_reached(const struct train *t)
{
    return t->o->until > 0 && t->report.last.test_accuracy >= t->o->until;
}

bool report_shows_cer(const struct train *t)
{
    return t->data->samples->target == NN_TRANSCRIPT;
}

/* With at most NN_TOP classes the share is always 1; pixels and transcripts have none. */
bool report_shows_top(const struct train *t)
{
    return t->data->n_classes > NN_TOP && !t->confusion && !report_shows_cer(t);
}

static void log_option(struct jsonl *log, const struct opt *o, const void *values)
{
    char number[OPT_NUMBER], key[OPT_KEY];
    const char *text = opt_get(o, values, number);
    opt_key(o, key);
    if (o->type == OPT_INT || o->type == OPT_SIZE || o->type == OPT_REAL)
        jsonl_number(log, key, text);
    else if (o->type == OPT_FLAG)
        jsonl_bool(log, key, *text == 'y');
    else if (o->type != OPT_GROUP)
        jsonl_text(log, key, text);
}

static void put_date(struct jsonl *log)
{
    char date[32] = "";
    const time_t now = time(NULL);
    struct tm utc;
    if (gmtime_r(&now, &utc))
        strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
    jsonl_text(log, "date", date);
}

static void put_machine(struct jsonl *log)
{
    char host[HOST_NAME_MAX + 1] = "", cpu[INFO_CPU];
    (void)gethostname(host, sizeof host - 1);
    jsonl_text(log, "host", host);
    jsonl_text(log, "cpu", info_cpu(cpu));
}

static void put_used_sum(struct jsonl *log, const struct codec *codec)
{
    const struct vec_sum *sum = codec_sum(codec);
    const bool partial = sum && (sum->rule == VEC_NEAREST || sum->rule == VEC_KAHAN);
    char name[CODEC_NAME_BYTES];
    jsonl_text(log, "used_sum", sum ? codec_rule_name(sum->rule) : NULL);
    jsonl_text(log, "used_acc_format", partial ? codec_format_name(vec_acc_fmt(sum), name) : NULL);
    jsonl_text(log, "used_out_format", sum ? codec_result_name(sum, name) : NULL);
}

/* used_conv is null on a GPU, whose library chooses the algorithm. */
static void put_used_math(const struct train *t, struct jsonl *log)
{
    const bool products = t->setup.gemm || t->setup.conv == NN_CONV_GEMM || !winograd_best();
    jsonl_text(log, "used_device", t->on_gpu ? "cuda" : "cpu");
    jsonl_text(log, "used_conv", t->on_gpu ? NULL : products ? "gemm" : "winograd");
    jsonl_text(log, "used_loss", nn_model_loss(t->model));
    jsonl_text(log, "used_loss_scale",
               nn_model_loss_scale(t->model)->moving ? "dynamic"
               : t->setup.adaptive                   ? "adaptive"
               : t->setup.loss_scale > 0             ? "fixed"
                                                     : "none");
}

/* Writes what `auto` became. */
static void put_used(const struct train *t, struct jsonl *log)
{
    const struct job *job = &t->job;
    const bool by_cards = job->offload && offload_is_open(job->offload);
    char codec[CODEC_TEXT_BYTES], line[64];
    struct text algo = text_in(line, sizeof line);
    job_algo(job, &algo);
    jsonl_text(log, "used_algo", by_cards ? "offload" : line);
    jsonl_text(log, "used_fallback", job->offload ? line : NULL);
    jsonl_text(log, "used_offload", by_cards ? offload_describe(job->offload) : "off");
    jsonl_text(log, "used_codec", codec_describe(&job->codec, codec));
    put_used_sum(log, &job->codec);
    jsonl_text(log, "used_quantise",
               train_only_kernels(t->o) ? "conv"
               : job->leaves_small      ? "large"
                                        : "all");
    jsonl_uint(log, "used_bucket_bytes", job->bucket_bytes);
    jsonl_text(log, "used_overlap", reducer_overlaps(job->reducer) ? "on" : "off");
    put_used_math(t, log);
}

void record_run(const struct train *t, const char *option, struct jsonl *log)
{
    jsonl_begin(log, "run");
    jsonl_text(log, "run_id", t->run_id);
    jsonl_text(log, "file", option);
    jsonl_int(log, "schema", SCHEMA);
    put_date(log);
    put_machine(log);
    jsonl_text(log, "version", APP_VERSION);
    jsonl_text(log, "commit", app_commit);
    jsonl_text(log, "command", t->o->memory ? "emulate" : "train");
    jsonl_int(log, "ranks", t->n_ranks);
    jsonl_int(log, "processes", comm_n_processes(t->comm));
    jsonl_uint(log, "first_step", t->state.step);
    jsonl_uint(log, "steps_in_all", t->n_steps);
    jsonl_uint(log, "weights", t->n_weights);
    jsonl_uint(log, "optimizer_bytes", train_shard_memory(t));
    jsonl_uint(log, "gradient_bytes", reducer_held(t->job.reducer) * train_weight_bytes(t));
    jsonl_uint(log, "fp32_sent_bytes", t->report.fp32_sent_bytes);
    put_used(t, log);
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
    jsonl_real(log, "step_s", step->seconds);
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
    jsonl_bool(log, "offload", reduced->by_card_path);
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

static void put_test(const struct train *t, const struct report_epoch *epoch, struct jsonl *log)
{
    jsonl_real(log, "loss", epoch->train_loss);
    jsonl_real(log, "train_accuracy", epoch->train_accuracy);
    jsonl_real(log, "test_loss", epoch->test_loss);
    jsonl_real(log, "test_accuracy", epoch->test_accuracy);
    if (report_shows_top(t))
        jsonl_real(log, "test_top5", epoch->test_top);
    log_map(t, &epoch->map, log);
    log_sequences(t, epoch, log);
}

static void put_totals(const struct train *t, struct jsonl *log)
{
    const struct report *r = &t->report;
    jsonl_real(log, "train_s", r->all.seconds);
    jsonl_uint(log, "train_bytes", r->sent_bytes);
    jsonl_uint(log, "skipped", t->state.skipped);
    jsonl_uint(log, "peak_rss_bytes", memory_peak());
}

static void put_checksum(const struct report_epoch *epoch, struct jsonl *log)
{
    char checksum[16];
    snprintf(checksum, sizeof checksum, "%08x", epoch->checksum);
    jsonl_text(log, "checksum", checksum);
}

int record_epoch(struct train *t, const struct report_epoch *epoch)
{
    struct jsonl *log = &t->report.log;
    jsonl_begin(log, "epoch");
    jsonl_uint(log, "epoch", epoch->epoch + 1);
    jsonl_uint(log, "step", t->state.step);
    put_test(t, epoch, log);
    put_totals(t, log);
    put_checksum(epoch, log);
    return jsonl_end(log);
}

static void put_node(const struct train *t, struct jsonl *log)
{
    char line[320];
    struct text count = text_in(line, sizeof line);
    if (!t->job.node)
        return;
    node_sum_count(t->job.node, &count);
    jsonl_text(log, "node_sums", line);
}

static void put_cards(const struct train *t, struct jsonl *log)
{
    struct offload *offload = t->job.offload;
    if (!offload)
        return;
    const struct card_path_count c = offload_card_path.counted(offload);
    char list[OFFLOAD_MAX_CARDS * 24];
    struct text clocks = text_in(list, sizeof list);
    for (int i = 0; i < offload_n_cards(offload); i++) {
        struct fpga_time time;
        const bool known = offload_card_time(offload, i, &time) && time.clocks > 0;
        text_add(&clocks, i ? "," : "[");
        if (known)
            text_add(&clocks, "%" PRIu64, time.clocks);
        else
            text_add(&clocks, "null");
    }
    text_add(&clocks, "]");
    jsonl_uint(log, "offload_steps", t->report.steps_by_card);
    jsonl_uint(log, "redone", t->report.redone);
    jsonl_uint(log, "packets", c.packets);
    jsonl_uint(log, "resent", c.resent);
    jsonl_real(log, "rtt_s", c.rtt_s);
    jsonl_number(log, "card_clocks", list);
}

int record_end(struct train *t, double mean_sent_bytes, double mean_fp32_bytes)
{
    const struct report_time *all = &t->report.all;
    struct jsonl *log = &t->report.log;
    char line[128];
    struct text added = text_in(line, sizeof line);
    if (!log->f)
        return 0;
    train_offload_added(t, &added);
    jsonl_begin(log, "end");
    jsonl_uint(log, "step", t->state.step);
    put_date(log);
    jsonl_text(log, "reason",
               t->stopped_by       ? t->stopped_by->name
               : report_reached(t) ? "until"
                                   : "done");
    jsonl_real(log, "steps", all->steps);
    jsonl_text(log, "added_by", line);
    put_node(t, log);
    put_cards(t, log);
    jsonl_real(log, "mean_sent_bytes", mean_sent_bytes);
    jsonl_real(log, "mean_fp32_bytes", mean_fp32_bytes);
    jsonl_real(log, "samples_per_s", all->steps * (double)t->o->batch / all->seconds);
    jsonl_real(log, "input_s", all->input_s);
    jsonl_real(log, "comm_s", all->comm_s);
    jsonl_real(log, "codec_s", all->codec_s);
    jsonl_real(log, "hidden_s", all->hidden_s);
    jsonl_real(log, "exposed_s", all->exposed_s);
    jsonl_real(log, "waited_s", all->waited_s);
    put_totals(t, log);
    if (!t->stopped_by) {
        put_test(t, &t->report.last, log);
        put_checksum(&t->report.last, log);
    }
    return jsonl_end(log);
}
