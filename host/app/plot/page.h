/* page.h : declares the parts of `narrowcast report`.
 *
 *     FILE... -> page_run_read() -> facts, commands      FILE... -> plot_read_some() -> charts */
#ifndef PAGE_H
#define PAGE_H
#include "app/plot/plot.h"
#include "base/text.h"

enum { PAGE_WORD = 512, PAGE_SKIPS = 8, PAGE_CELL = 1024 };

/* Numbers of a line of kind `epoch` or `end`; nan if missing. */
struct page_epoch {
    double epoch, loss, test_loss, accuracy, top5, miou, macc, cer, bits, train_s, peak_rss_bytes;
    char checksum[PLOT_NAME];
};

/* A file about one run. */
struct page_run {
    struct plot_file file;
    /* lines of kind `run`: the start and each resume */
    int n_begun;
    char version[PLOT_NAME], commit[PLOT_NAME], command[PLOT_NAME];
    char run_id[PLOT_NAME], date[PLOT_NAME], host[PLOT_NAME], cpu[PLOT_NAME];
    /* resolved options of the last `run` line; "" in logs of older versions */
    char used_algo[PLOT_NAME], used_codec[PAGE_WORD], used_offload[PAGE_WORD];
    /* of the last `end` line; "" if missing or followed by steps */
    char reason[PLOT_NAME], end_date[PLOT_NAME], added_by[PLOT_NAME], card_clocks[PAGE_WORD];
    double packets, resent, rtt_s, mean_sent_bytes, mean_fp32_bytes;
    double ranks, weights, first_step, steps_in_all, fp32_bytes;
    /* [train_command.n_opts] values of the last `run` line; "" if missing */
    char (*option)[PAGE_WORD];

    /* numbers of steps (all, with cards, skipped), redone buckets and lines of statistics */
    uint64_t n_steps, n_offload, n_redone, n_skipped, n_stats;
    double skipped[PAGE_SKIPS]; /* the first skipped steps */
    double last_step, stats_step;
    double samples, seconds, sent_bytes; /* over all steps */
    int n_epochs;
    struct page_epoch last;
    double best, best_epoch; /* largest test accuracy */
};

/* Reads a file of train --log or --stats. Reports -EINVAL for other files. Call page_run_close() in
 * any case. */
int page_run_read(struct page_run *r, const char *path);
void page_run_close(struct page_run *r); /* also if zeroed */

/* Returns the value of an option of train, which must exist; "" if the log lacks it. */
const char *page_option(const struct page_run *r, const char *name);

/* Appends the command of the run, quoted for a shell, without defaults. */
void page_command(const struct page_run *r, struct text *to);

/* For row i of the facts, sets *name and appends the run's value ("": none). Returns false after
 * the last row. */
bool page_fact(int i, const struct page_run *r, const char **name, struct text *to);

struct page {
    const char *title;
    char *const *paths; /* [n] */
    struct page_run *runs;
    int n;
};

int page_write(const struct page *page, FILE *to);

#endif
