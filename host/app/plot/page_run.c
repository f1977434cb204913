/* page_run.c : reads the facts about a run from a log or statistics. */
#include "app/plot/page.h"
#include "app/train/train_options.h"
#include "base/err.h"
#include "base/text.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_true(const struct jsonl_in *in, const char *key)
{
    char word[8];
    return jsonl_in_raw(in, key, word, sizeof word) && !strcmp(word, "true");
}

static void take_text(const struct jsonl_in *in, const char *key, char to[PAGE_WORD])
{
    to[0] = '\0';
    (void)jsonl_in_text(in, key, to, PAGE_WORD);
}

static int take_run(struct page_run *r, const struct jsonl_in *in)
{
    const int n = train_command.n_opts;
    plot_run_name(&r->file, in);
    plot_word(in, "version", r->version);
    plot_word(in, "commit", r->commit);
    plot_word(in, "command", r->command);
    plot_word(in, "run_id", r->run_id);
    plot_word(in, "host", r->host);
    plot_word(in, "cpu", r->cpu);
    plot_word(in, "used_algo", r->used_algo);
    take_text(in, "used_codec", r->used_codec);
    take_text(in, "used_offload", r->used_offload);
    if (r->n_begun == 0)
        plot_word(in, "date", r->date);
    /* unset until a line of kind `end` follows */
    r->reason[0] = r->end_date[0] = r->added_by[0] = '\0';
    r->packets = r->mean_sent_bytes = (double)NAN;
    if (r->n_begun++ == 0)
        r->first_step = plot_real(in, "first_step");
    r->ranks = plot_real(in, "ranks");
    r->weights = plot_real(in, "weights");
    r->steps_in_all = plot_real(in, "steps_in_all");
    r->fp32_bytes = plot_real(in, "fp32_sent_bytes");
    if (!r->option && !(r->option = calloc((size_t)n, sizeof *r->option)))
        return ERR(-ENOMEM, "cannot read '%s': no memory", r->file.path);
    for (int i = 0; i < n; i++) {
        const struct opt *o = &train_command.opts[i];
        char key[OPT_KEY];
        r->option[i][0] = '\0';
        /* logs before schema 2 have keys spelt like options */
        if (o->type == OPT_GROUP || (!jsonl_in_raw(in, opt_key(o, key), r->option[i], PAGE_WORD) &&
                                     !jsonl_in_raw(in, o->name, r->option[i], PAGE_WORD)))
            continue;
        if (!strcmp(r->option[i], "null"))
            r->option[i][0] = '\0';
        jsonl_in_plain(r->option[i]);
    }
    return 0;
}

static void take_step(struct page_run *r, const struct jsonl_in *in)
{
    const double samples = number_read(page_option(r, "batch"), NULL), /* of a step */
        seconds = samples / plot_real(in, "samples_per_s"), sent = plot_real(in, "sent_bytes"),
                 redone = plot_real(in, "redone");
    r->n_steps++;
    r->last_step = plot_real(in, "step");
    if (is_true(in, "skipped") && r->n_skipped++ < PAGE_SKIPS)
        r->skipped[r->n_skipped - 1] = r->last_step;
    r->n_offload += is_true(in, "offload");
    r->n_redone += redone > 0 ? (uint64_t)redone : 0;
    r->sent_bytes += sent > 0 ? sent : 0;
    if (isfinite(seconds) && seconds > 0)
        r->seconds += seconds, r->samples += samples;
}

static void take_epoch(struct page_run *r, const struct jsonl_in *in)
{
    struct page_epoch *e = &r->last;
    r->n_epochs++;
    *e = (struct page_epoch){.epoch = plot_real(in, "epoch"),
                             .loss = plot_real(in, "loss"),
                             .test_loss = plot_real(in, "test_loss"),
                             .accuracy = plot_real(in, "test_accuracy"),
                             .top5 = plot_real(in, "test_top5"),
                             .miou = plot_real(in, "test_miou"),
                             .macc = plot_real(in, "test_macc"),
                             .cer = plot_real(in, "test_cer"),
                             .bits = plot_real(in, "test_bits"),
                             .train_s = plot_real(in, "train_s"),
                             .peak_rss_bytes = plot_real(in, "peak_rss_bytes")};
    plot_word(in, "checksum", e->checksum);
    if (!(e->accuracy <= r->best)) {
        r->best = e->accuracy;
        r->best_epoch = e->epoch;
    }
}

static void take_end(struct page_run *r, const struct jsonl_in *in)
{
    plot_word(in, "reason", r->reason);
    plot_word(in, "date", r->end_date);
    plot_word(in, "added_by", r->added_by);
    r->packets = plot_real(in, "packets");
    r->resent = plot_real(in, "resent");
    r->rtt_s = plot_real(in, "rtt_s");
    r->mean_sent_bytes = plot_real(in, "mean_sent_bytes");
    r->mean_fp32_bytes = plot_real(in, "mean_fp32_bytes");
    r->card_clocks[0] = '\0';
    (void)jsonl_in_raw(in, "card_clocks", r->card_clocks, PAGE_WORD);
}

static int take(struct page_run *r, const struct jsonl_in *in)
{
    if (jsonl_in_is(in, "run"))
        return take_run(r, in);
    if (jsonl_in_is(in, "step"))
        take_step(r, in);
    else if (jsonl_in_is(in, "epoch"))
        take_epoch(r, in);
    else if (jsonl_in_is(in, "end"))
        take_end(r, in);
    else if (jsonl_in_is(in, "stats"))
        r->n_stats++, r->stats_step = plot_real(in, "step");
    return 0;
}

int page_run_read(struct page_run *r, const char *path)
{
    const double none = (double)NAN;
    struct jsonl_in in;
    int rc;
    *r = (struct page_run){.file = plot_file_in(NULL, path),
                           .ranks = none,
                           .weights = none,
                           .first_step = none,
                           .steps_in_all = none,
                           .fp32_bytes = none,
                           .last_step = none,
                           .packets = none,
                           .best = none};
    TRY(jsonl_in_open(&in, path));
    while ((rc = jsonl_in_next(&in)) > 0) {
        rc = take(r, &in);
        if (rc < 0)
            break;
    }
    jsonl_in_close(&in);
    if (rc == 0 && r->n_steps + (uint64_t)r->n_epochs + r->n_stats == 0)
        rc = ERR(-EINVAL,
                 "cannot report on '%s': need a file of narrowcast train --log or --stats that "
                 "contains a step",
                 path);
    return rc;
}

void page_run_close(struct page_run *r)
{
    free(r->option);
    r->option = NULL;
}

const char *page_option(const struct page_run *r, const char *name)
{
    for (int i = 0; i < train_command.n_opts && r->option; i++)
        if (train_command.opts[i].type != OPT_GROUP && !strcmp(train_command.opts[i].name, name))
            return r->option[i];
    return "";
}
