/* page.h : declares the parts of `narrowcast report`: facts from logs, and
 * a page of HTML about them.
 *
 *     FILE... -> page_run_read() -> facts, commands      FILE... -> plot_read_some() -> charts */
#ifndef PAGE_H
#define PAGE_H
#include "app/plot/plot.h"
#include "base/text.h"

enum { PAGE_WORD = 512, PAGE_SKIPS = 8, PAGE_CELL = 1024 };

/* Numbers of a line of kind `epoch` or `end`; nan: missing. */
struct page_epoch {
    double epoch, loss, test_loss, accuracy, top5, miou, macc, cer, bits, train_s, peak_rss_bytes;
    char checksum[PLOT_NAME];
};

/* The contents of a file about one run. Missing numbers are nan. */
struct page_run {
    struct plot_file file; /* its name, and the caller's path */
    int n_begun;           /* lines of kind `run`: started once, then resumed */
    char version[PLOT_NAME], commit[PLOT_NAME], command[PLOT_NAME];
    char run_id[PLOT_NAME], date[PLOT_NAME], host[PLOT_NAME], cpu[PLOT_NAME];
    /* of the last `run` line, the resolved options; "": older version */
    char used_algo[PLOT_NAME], used_codec[PAGE_WORD], used_offload[PAGE_WORD];
    /* of the last `end` line; "": none, or steps follow it */
    char reason[PLOT_NAME], end_date[PLOT_NAME], added_by[PLOT_NAME], card_clocks[PAGE_WORD];
    double packets, resent, rtt_s, mean_sent_bytes, mean_fp32_bytes;
    double ranks, weights, first_step, steps_in_all, fp32_bytes;
    /* [train_command.n_opts] of the last `run` line; "": not in it */
    char (*option)[PAGE_WORD];

    /* Lines of steps: all, with cards, skipped. Buckets redone. Lines of statistics. */
    uint64_t n_steps, n_offload, n_redone, n_skipped, n_stats;
    double skipped[PAGE_SKIPS]; /* the first skipped steps */
    double last_step, stats_step;
    double samples, seconds, sent_bytes; /* over all steps */
    int n_epochs;
    struct page_epoch last;
    double best, best_epoch; /* accuracy */
};

/* Reads a file of train --log or --stats. Returns 0 or a negative errno that has been reported;
 * -EINVAL if it is neither. Call page_run_close() in any case. */
int page_run_read(struct page_run *r, const char *path);
void page_run_close(struct page_run *r); /* also if zeroed */

/* Returns the value of an option of train that exists, "" where the log has none. */
const char *page_option(const struct page_run *r, const char *name);

/* Appends the command of the run, quoted for a shell, without default options. */
void page_command(const struct page_run *r, struct text *to);

/* Makes row i of the facts: its name, and the run's value ("": none). Returns
 * false after the last row. */
bool page_fact(int i, const struct page_run *r, const char **name, struct text *to);

/* Writes text as HTML: valid UTF-8, with tags escaped. */
void page_put(const char *text, FILE *to);

struct page {
    const char *title;
    char *const *paths; /* [n] */
    struct page_run *runs;
    int n;
};

/* Returns 0 or a negative errno that has been reported. */
int page_write(const struct page *page, FILE *to);

#endif
