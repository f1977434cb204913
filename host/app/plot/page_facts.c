/* page_facts.c : formats the facts about a run. A new fact is a function and a row of the table. */
#include "app/plot/page.h"
#include "base/memory.h"
#include "app/train/train_options.h"
#include "base/text.h"
#include <math.h>
#include <string.h>

static void file(const struct page_run *r, struct text *to)
{
    text_add(to, "%s", r->file.path);
}

static void network(const struct page_run *r, struct text *to)
{
    const char *width = page_option(r, "width"), *model = page_option(r, "model");
    text_add(to, "%s%s%s", model, *width && strcmp(width, "1") ? ", width " : "",
             *width && strcmp(width, "1") ? width : "");
    if (*model && isfinite(r->weights))
        text_add(to, ", %.0f weights", r->weights);
}

static void data(const struct page_run *r, struct text *to)
{
    text_add(to, "%s", page_option(r, "data"));
}

static void ranks(const struct page_run *r, struct text *to)
{
    if (!isfinite(r->ranks))
        return;
    text_add(to, "%.0f rank%s%s, %s images a step, seed %s", r->ranks, r->ranks == 1 ? "" : "s",
             strcmp(r->command, "emulate") ? "" : " in one process", page_option(r, "batch"),
             page_option(r, "seed"));
}

static void steps(const struct page_run *r, struct text *to)
{
    if (isfinite(r->last_step) && isfinite(r->steps_in_all))
        text_add(to, "%.0f of %.0f", r->last_step, r->steps_in_all);
    else if (isfinite(r->last_step))
        text_add(to, "%.0f", r->last_step);
    if (r->first_step > 0)
        text_add(to, ", from step %.0f on", r->first_step + 1);
    if (r->n_begun > 1)
        text_add(to, ", resumed %d time%s", r->n_begun - 1, r->n_begun > 2 ? "s" : "");
}

static void gradients(const struct page_run *r, struct text *to)
{
    const char *codec = page_option(r, "codec"), *acc = page_option(r, "acc-format");
    text_add(to, "%s", r->used_codec);
    if (!*codec || to->n)
        return;
    if (!strcmp(codec, "minifloat") && !strcmp(page_option(r, "format"), "fp32"))
        text_add(to, "fp32");
    else if (!strcmp(codec, "minifloat"))
        text_add(to, "%s, scale %s, sum %s, back in %s, rounded %s", page_option(r, "format"),
                 page_option(r, "scale"), page_option(r, "sum"), page_option(r, "out-format"),
                 page_option(r, "round"));
    else
        text_add(to, "%s", codec);
    if (*acc && strcmp(acc, "auto"))
        text_add(to, ", partial sums in %s", acc);
}

static void all_reduce(const struct page_run *r, struct text *to)
{
    const char *algo = page_option(r, "algo"), *overlap = page_option(r, "overlap");
    text_add(to, "%s", *r->added_by ? r->added_by : *r->used_algo ? r->used_algo : algo);
    if (*algo && !strcmp(overlap, "on"))
        text_add(to, ", beside the backward pass");
}

static void offload(const struct page_run *r, struct text *to)
{
    const bool used = *r->used_offload && strcmp(r->used_offload, "off") != 0;
    const char *offload = used ? r->used_offload : page_option(r, "offload");
    if (r->n_offload + r->n_redone == 0 &&
        (!*offload || !strcmp(offload, "auto") || !strcmp(offload, "off")))
        return;
    text_add(to, "%s%s%llu of %llu steps through cards; %llu bucket%s repeated over MPI", offload,
             *offload ? ": " : "", (unsigned long long)r->n_offload, (unsigned long long)r->n_steps,
             (unsigned long long)r->n_redone, r->n_redone == 1 ? "" : "s");
}

static void packets(const struct page_run *r, struct text *to)
{
    if (!isfinite(r->packets))
        return;
    text_add(to, "%.0f from rank 0, %.0f of them sent again", r->packets, r->resent);
    if (r->rtt_s > 0)
        text_add(to, "; a card answers in %.0f us", 1e6 * r->rtt_s);
    if (strpbrk(r->card_clocks, "0123456789"))
        text_add(to, "; clocks busy: %.*s", (int)strlen(r->card_clocks) - 2, r->card_clocks + 1);
}

static void accuracy(const struct page_run *r, struct text *to)
{
    const struct page_epoch *e = &r->last;
    if (r->n_epochs == 0 || !isfinite(e->accuracy))
        return;
    text_add(to, "%.2f %%", 100 * e->accuracy);
    if (r->n_epochs > 1 && isfinite(r->best))
        text_add(to, "; best %.2f %% in epoch %.0f", 100 * r->best, r->best_epoch);
}

static void further(const struct page_run *r, struct text *to)
{
    const struct page_epoch *e = &r->last;
    const struct {
        const char *words;
        double value;
    } rows[] = {{"%.2f %% among the first 5", 100 * e->top5},
                {"mIoU %.2f %%", 100 * e->miou},
                {"mAcc %.2f %%", 100 * e->macc},
                {"CER %.2f %%", 100 * e->cer},
                {"%.4f bits a character", e->bits}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows && r->n_epochs > 0; i++)
        if (isfinite(rows[i].value)) {
            text_add(to, "%s", to->n ? ", " : "");
            text_add(to, rows[i].words, rows[i].value);
        }
}

static void loss(const struct page_run *r, struct text *to)
{
    const struct page_epoch *e = &r->last;
    if (r->n_epochs == 0)
        return;
    if (isfinite(e->test_loss))
        text_add(to, "%.4f on the test data", e->test_loss);
    else
        text_add(to, "not finite on the test data");
    if (isfinite(e->loss))
        text_add(to, ", %.4f in the last epoch's training", e->loss);
}

static void speed(const struct page_run *r, struct text *to)
{
    if (r->seconds > 0)
        text_add(to, "%.0f images/s over %.1f s of steps", r->samples / r->seconds, r->seconds);
}

static void bytes(const struct page_run *r, struct text *to)
{
    if (r->n_steps == 0 || !(r->ranks > 1))
        return;
    if (r->mean_sent_bytes > 0 && r->mean_fp32_bytes > 0) {
        text_add(to, "%.0f a step and rank, %.3f of fp32's %.0f", r->mean_sent_bytes,
                 r->mean_sent_bytes / r->mean_fp32_bytes, r->mean_fp32_bytes);
        return;
    }
    const double sent = r->sent_bytes / (double)r->n_steps;
    text_add(to, "%.0f a step from rank 0", sent);
    if (r->fp32_bytes > 0)
        text_add(to, ", %.3f of fp32's %.0f", sent / r->fp32_bytes, r->fp32_bytes);
}

static void skipped(const struct page_run *r, struct text *to)
{
    if (r->n_steps == 0)
        return;
    text_add(to, "%llu", (unsigned long long)r->n_skipped);
    for (uint64_t i = 0; i < r->n_skipped && i < PAGE_SKIPS; i++)
        text_add(to, "%s%.0f", i ? ", " : r->n_skipped > 1 ? ": steps " : ": step ", r->skipped[i]);
    if (r->n_skipped > PAGE_SKIPS)
        text_add(to, ", ...");
}

static void memory(const struct page_run *r, struct text *to)
{
    char words[MEMORY_TEXT];
    const double b = r->last.peak_rss_bytes;
    if (r->n_epochs > 0 && b > 0 && b < 0x1p63)
        text_add(to, "%s in rank 0's process at most", memory_text((uint64_t)b, words));
}

static void statistics(const struct page_run *r, struct text *to)
{
    if (r->n_stats > 0)
        text_add(to, "%llu lines; charts of layers show step %.0f", (unsigned long long)r->n_stats,
                 r->stats_step);
}

static void checksum(const struct page_run *r, struct text *to)
{
    text_add(to, "%s", r->last.checksum);
}

static void machine(const struct page_run *r, struct text *to)
{
    text_add(to, "%s%s%s", r->host, *r->host && *r->cpu ? ", " : "", r->cpu);
}

static void date(const struct page_run *r, struct text *to)
{
    text_add(to, "%s", r->date);
    if (*r->end_date)
        text_add(to, " to %s", r->end_date);
}

static void ended(const struct page_run *r, struct text *to)
{
    if (*r->reason)
        text_add(to, "%s", r->reason);
    else if (*r->run_id) /* not in logs of older versions */
        text_add(to, "unfinished or failed: the log has no end");
}

static void run_id(const struct page_run *r, struct text *to)
{
    text_add(to, "%s", r->run_id);
}

static void timeline(const struct page_run *r, struct text *to)
{
    if (*page_option(r, "trace"))
        text_add(to, "%s, which ui.perfetto.dev shows", page_option(r, "trace"));
}

static void version(const struct page_run *r, struct text *to)
{
    text_add(to, "%s%s%s", r->version, *r->commit ? ", commit " : "", r->commit);
}

static const struct {
    const char *name;
    void (*say)(const struct page_run *r, struct text *to);
} facts[] = {
    {"file", file},
    {"network", network},
    {"data", data},
    {"run", ranks},
    {"gradients", gradients},
    {"all-reduce", all_reduce},
    {"cards", offload},
    {"packets", packets},
    {"steps", steps},
    {"ended", ended},
    {"accuracy", accuracy},
    {"also", further},
    {"loss", loss},
    {"speed", speed},
    {"bytes", bytes},
    {"skipped steps", skipped},
    {"statistics", statistics},
    {"memory", memory},
    {"weights checksum", checksum},
    {"machine", machine},
    {"date", date},
    {"timeline", timeline},
    {"run id", run_id},
    {"narrowcast", version},
};

bool page_fact(int i, const struct page_run *r, const char **name, struct text *to)
{
    if (i >= (int)(sizeof facts / sizeof *facts))
        return false;
    *name = facts[i].name;
    facts[i].say(r, to);
    return true;
}

/* Quotes the word for a shell if necessary. */
static void add_word(struct text *to, const char *word)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
    if (*word && !word[strspn(word, plain)]) {
        text_add(to, "%s", word);
        return;
    }
    text_add(to, "'");
    for (const char *c = word; *c; c++)
        text_add(to, *c == '\'' ? "'\\''" : "%c", *c);
    text_add(to, "'");
}

/* A value below the option's range was not given (--epochs with --steps). */
static bool is_default(const struct opt *o, const char *value)
{
    struct train_options defaults = {0};
    char number[OPT_NUMBER];
    if (!*value || (o->type == OPT_FLAG && strcmp(value, "true") != 0))
        return true;
    if (o->type == OPT_FLAG)
        return false;
    if (o->fallback && opt_set(o, o->fallback, &defaults))
        return false;
    const bool is_number = o->type == OPT_INT || o->type == OPT_SIZE || o->type == OPT_REAL;
    return !strcmp(value, opt_get(o, &defaults, number)) ||
           (is_number && (o->min != 0 || o->max != 0) && number_read(value, NULL) < o->min);
}

void page_command(const struct page_run *r, struct text *to)
{
    const bool emulated = !strcmp(r->command, "emulate");
    if (emulated)
        text_add(to, "narrowcast emulate --ranks %.0f", r->ranks);
    else if (r->ranks > 1)
        text_add(to, "mpirun -np %.0f narrowcast train", r->ranks);
    else
        text_add(to, "narrowcast train");
    for (int i = 0; i < train_command.n_opts && r->option; i++) {
        const struct opt *o = &train_command.opts[i];
        if (o->type == OPT_GROUP || is_default(o, r->option[i]))
            continue;
        text_add(to, " --%s", o->name);
        if (o->type == OPT_FLAG)
            continue;
        text_add(to, " ");
        add_word(to, r->option[i]);
    }
}
