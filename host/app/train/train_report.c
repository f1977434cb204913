/* train_report.c : prints the progress line and the final table. */
#include "app/train/train.h"
#include "base/err.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include <math.h>

static double reduce_percent(const struct report_time *time)
{
    return time->seconds > 0 ? 100 * (time->comm_s + time->codec_s) / time->seconds : 0;
}

static double hidden_percent(const struct report_time *time)
{
    const double all_s = time->hidden_s + time->exposed_s;
    return all_s > 0 ? 100 * time->hidden_s / all_s : 0;
}

int report_open(struct train *t)
{
    struct report *r = &t->report;
    progress_init(&r->progress, t->rank == 0);
    if (t->rank > 0 || !t->o->log)
        return 0;
    TRY(train_log_open(t, "log", t->o->log, &r->log));
    record_run(t, "log", &r->log);
    return jsonl_end(&r->log);
}

void report_close(struct train *t)
{
    progress_close(&t->report.progress);
    (void)jsonl_close(&t->report.log);
}

static void add_time(struct report_time *to, const struct report_step *step)
{
    to->seconds += step->seconds;
    to->input_s += step->input_s;
    to->comm_s += step->reduced.comm_s;
    to->codec_s += step->reduced.codec_s;
    to->hidden_s += step->reduced.hidden_s;
    to->exposed_s += step->reduced.exposed_s;
    to->waited_s += step->reduced.waited_s;
    to->steps++;
}

static void say_progress(struct train *t, const struct report_step *step)
{
    struct report *r = &t->report;
    const double rate = r->window.steps * (double)t->o->batch / r->window.seconds;
    const double ratio =
        r->fp32_sent_bytes ? (double)step->reduced.sent_bytes / (double)r->fp32_sent_bytes : 1;
    const double left_s = (double)(t->n_steps - t->state.step) * r->all.seconds / r->all.steps;
    char bytes[64] = "", left[PROGRESS_TIME]; /* empty with low memory, which sends nothing */
    if (!t->low_memory)
        snprintf(bytes, sizeof bytes, "  %.1f kB/step (%.3f of fp32)",
                 (double)step->reduced.sent_bytes / 1e3, ratio);
    progress_say(
        &r->progress,
        "epoch %llu  step %llu/%llu  %s left  %.0f images/s  loss %.4f%s  all-reduce %.0f %%",
        (unsigned long long)step->epoch + 1, (unsigned long long)t->state.step,
        (unsigned long long)t->n_steps, progress_time(left_s, left), rate, step->loss, bytes,
        reduce_percent(&r->window));
    r->window = (struct report_time){0};
}

int report_step(struct train *t, const struct report_step *step)
{
    struct report *r = &t->report;
    const struct reducer_step *reduced = &step->reduced;
    add_time(&r->window, step);
    add_time(&r->all, step);
    r->sent_bytes += reduced->sent_bytes;
    r->steps_by_card += reduced->by_card_path;
    r->redone += (uint64_t)reduced->n_redone;
    if (progress_due(&r->progress))
        say_progress(t, step);
    if (!r->log.f)
        return 0;
    return record_step(t, step);
}

static void print_accuracy(const struct train *t, const struct report_epoch *e)
{
    if (report_shows_cer(t))
        printf("error rate     %.2f %% of the letters of %zu test %s (CER)\n", 100 * e->test_cer,
               t->data->n_test, t->data->samples->name);
    if (t->data->samples->tells_bits)
        printf("bits           %.4f a character\n", e->test_bits);
    printf("accuracy       %.2f %% of %zu test %s", 100 * e->test_accuracy, t->data->n_test,
           t->data->samples->name);
    if (report_shows_top(t))
        printf(", %.2f %% among the first %d", 100 * e->test_top, NN_TOP);
    if (t->confusion)
        printf(", by pixels; mIoU %.2f %%, mAcc %.2f %%", 100 * e->map.mean_iou,
               100 * e->map.mean_accuracy);
    printf("\n");
}

static void say_epoch(const struct train *t, const struct report_epoch *epoch)
{
    char to[256];
    struct text line = text_in(to, sizeof to);
    text_add(&line, "epoch %llu done", (unsigned long long)epoch->epoch + 1);
    if (t->report.all.steps > 0) /* else resumed at its end */
        text_add(&line, "  loss %.4f  train accuracy %.4f", epoch->train_loss,
                 epoch->train_accuracy);
    text_add(&line, "  test accuracy %.4f", epoch->test_accuracy);
    if (report_shows_top(t))
        text_add(&line, "  top-%d %.4f", NN_TOP, epoch->test_top);
    if (t->confusion)
        text_add(&line, "  mIoU %.4f  mAcc %.4f", epoch->map.mean_iou, epoch->map.mean_accuracy);
    if (report_shows_cer(t))
        text_add(&line, "  test CER %.4f", epoch->test_cer);
    if (t->data->samples->tells_bits)
        text_add(&line, "  test bits %.4f", epoch->test_bits);
    err_note("%s", to);
}

int report_epoch(struct train *t, const struct report_epoch *epoch)
{
    struct report *r = &t->report;
    r->last = *epoch;
    if (t->rank > 0)
        return 0;
    progress_clear(&r->progress);
    say_epoch(t, epoch);
    if (!r->log.f)
        return 0;
    return record_epoch(t, epoch);
}

static void print_emulated(const struct train *t)
{
    const struct report_time *all = &t->report.all;
    const double computed_s = all->seconds - all->input_s - all->comm_s - all->codec_s;
    char peak[MEMORY_TEXT];
    if (t->o->memory && all->steps > 0)
        printf("emulated       %.3f ms a rank and step, %.1f %% of it forward and backward; %s of "
               "memory at most\n",
               1e3 * all->seconds / all->steps / t->n_ranks, 100 * computed_s / all->seconds,
               memory_text(memory_peak(), peak));
}

static const char *sender(const struct train *t)
{
    return t->o->blocks ? "process" : "rank";
}

static void print_until(const struct train *t, double sent_bytes)
{
    const struct report_time *all = &t->report.all;
    if (t->o->until == 0)
        return;
    printf("until          accuracy %g ", t->o->until);
    if (report_reached(t))
        printf("after %llu steps", (unsigned long long)t->state.step);
    else
        printf("was not reached in %llu steps", (unsigned long long)t->state.step);
    if ((double)t->state.step > all->steps)
        printf(", %.0f of them in this run", all->steps);
    printf(": %.1f s of steps", all->seconds);
    if (!t->low_memory)
        printf(", %.6g MB sent by a %s", sent_bytes * all->steps / 1e6, sender(t));
    printf("\n");
}

static void print_bytes(const struct train *t, double sent_bytes, double fp32_bytes)
{
    const struct algo *algo = t->job.chooses && t->job.group ? &algo_direct : t->job.algo;
    printf("bytes          %.0f a step and %s, against %.0f in fp32 by %s", sent_bytes, sender(t),
           fp32_bytes, algo->name);
    printf(fp32_bytes > 0 ? " (%.3f)\n" : "\n", sent_bytes / fp32_bytes);
}

static void print_table(const struct train *t, double sent_bytes, double fp32_bytes)
{
    const struct report *r = &t->report;
    const struct report_epoch *e = &r->last;
    const struct report_time *all = &r->all;
    char codec[CODEC_TEXT_BYTES];
    printf("\n");
    printf("model          %s, ", t->o->model);
    if (t->o->width != 1)
        printf("width %g, ", t->o->width);
    printf("%zu weights, on %s\n", t->n_weights, t->data->name);
    const int processes = comm_n_processes(t->comm);
    if (t->o->blocks)
        printf("run            %d block%s, %d process%s", t->n_ranks, t->n_ranks > 1 ? "s" : "",
               processes, processes > 1 ? "es" : "");
    else
        printf("run            %d rank%s", t->n_ranks, t->n_ranks > 1 ? "s" : "");
    printf(", %llu steps of %llu images, seed %llu\n", (unsigned long long)t->state.step,
           (unsigned long long)t->o->batch, (unsigned long long)t->o->seed);
    char line[128];
    struct text added = text_in(line, sizeof line);
    train_offload_added(t, &added);
    printf("gradients      %s, all-reduce %s\n", codec_describe(&t->job.codec, codec), line);
    train_offload_print(t);
    print_accuracy(t, e);
    if (t->shard)
        printf("shard          %zu bytes of states, means and weights on rank 0, without --shard "
               "%zu of states on each rank\n",
               train_shard_memory(t),
               (size_t)optim_n_states(t->optim) * t->n_weights * sizeof(real));
    if (t->job.shard.releases)
        printf("               %zu bytes of gradients at a time, without --shard all %zu\n",
               reducer_held(t->job.reducer) * sizeof(real), t->n_weights * sizeof(real));
    print_until(t, sent_bytes);
    printf("loss           %.4f on the test images", e->test_loss);
    printf(all->steps > 0 ? ", %.4f on the training images of the last epoch\n" : "\n",
           e->train_loss);
    if (all->steps > 0) {
        printf("speed          %.0f images/s\n", all->steps * (double)t->o->batch / all->seconds);
        if (!t->low_memory)
            print_bytes(t, sent_bytes, fp32_bytes);
        printf("all-reduce     %.1f %% of the time: %.1f %% sending, waiting and adding, %.1f %% "
               "casting\n",
               reduce_percent(all), 100 * all->comm_s / all->seconds,
               100 * all->codec_s / all->seconds);
        if (reducer_overlaps(t->job.reducer))
            printf("hidden         %.1f %% of the all-reduce, behind the backward pass; %.1f %% of "
                   "the time was waited "
                   "for it\n",
                   hidden_percent(all), 100 * all->waited_s / all->seconds);
    }
    print_emulated(t);
    printf("skipped steps  %llu\n", (unsigned long long)t->state.skipped);
    printf("accuracy %.4f\n", e->test_accuracy);
    if (report_shows_cer(t))
        printf("CER %.4f\n", e->test_cer);
    if (t->data->samples->tells_bits)
        printf("bits %.4f\n", e->test_bits);
    printf("weights checksum %08x\n", e->checksum);
}

static void say_why_no_loss(const struct train *t, const struct report_epoch *e)
{
    const bool trained = t->report.all.steps > 0;
    if (trained && e->train_labels > 0 && !isfinite(e->train_loss))
        err_warn("training has diverged: the loss is not finite");
    else if (trained && !(e->train_labels > 0) && t->state.skipped_in_row > 0)
        err_warn("training has diverged: all gradients of the last epoch were inf or nan");
    else if (trained && !(e->train_labels > 0))
        err_warn("nothing was learned in the last epoch: no label of its images counts");
    else if (!(e->test_labels > 0))
        err_warn("nothing was tested: no label of the test images counts");
    else if (!isfinite(e->test_loss))
        err_warn("the loss is finite on the training images but not on the test images");
}

int report_end(struct train *t)
{
    struct report *r = &t->report;
    const double steps = r->all.steps > 0 ? r->all.steps : 1;
    double bytes[2] = {(double)r->sent_bytes / steps, (double)r->fp32_sent_bytes};
    TRY(comm_sum_f64(t->comm, bytes, 2));
    progress_clear(&r->progress);
    if (t->rank > 0)
        return 0;
    const int senders = t->o->blocks ? comm_n_processes(t->comm) : t->n_ranks;
    int printed = 0;
    bytes[0] /= senders, bytes[1] /= senders;
    if (!t->stopped_by) {
        say_why_no_loss(t, &r->last);
        print_table(t, bytes[0], bytes[1]);
        printed = file_end_standard(); /* before lines on stderr */
    }
    TRY(record_end(t, bytes[0], bytes[1]));
    return printed;
}

void report_stopped(const struct train *t)
{
    if (t->rank > 0)
        return;
    const char *by = t->stopped_by ? " by " : "", *name = t->stopped_by ? t->stopped_by->name : "";
    const unsigned long long at = t->state.step, of = t->n_steps;
    if (t->o->save)
        err_note("stopped%s%s after step %llu of %llu; --resume '%s' continues from there", by,
                 name, at, of, t->o->save);
    else
        err_note("stopped%s%s after step %llu of %llu; nothing was saved, because --save was not "
                 "given",
                 by, name, at, of);
}
