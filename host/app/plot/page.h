/* page.h : the parts of `narrowcast report`: what logs say of their runs, and a page of HTML about them.
 *
 *     FILE... -> page_run_read() -> facts, commands      FILE... -> plot_read_some() -> charts */
#ifndef PAGE_H
#define PAGE_H
#include "app/plot/plot.h"
#include "base/text.h"

enum { PAGE_WORD = 512, PAGE_SKIPS = 8, PAGE_CELL = 1024 };

/* Figures of lines of kind `epoch` or `end`; nan: the line has none. */
struct page_epoch {
    double epoch, loss, test_loss, accuracy, top5, miou, macc, cer, bits, train_s, peak_rss_bytes;
    char checksum[PLOT_NAME];
};

/* What a file says of a run. A number that no line had is nan. */
struct page_run {
    struct plot_file file; /* its name, and the caller's path */
    int n_begun;           /* lines of kind `run`: one for each time that it was begun or resumed */
    char version[PLOT_NAME], commit[PLOT_NAME], command[PLOT_NAME];
    char run_id[PLOT_NAME], date[PLOT_NAME], host[PLOT_NAME], cpu[PLOT_NAME];
    /* what the options came to, in the last such line; "": an older version wrote it */
    char used_algo[PLOT_NAME], used_codec[PAGE_WORD], used_offload[PAGE_WORD];
    /* of the last line of kind `end`; "": none, or steps follow it */
    char reason[PLOT_NAME], end_date[PLOT_NAME], added_by[PLOT_NAME], card_clocks[PAGE_WORD];
    double packets, resent, rtt_s, mean_sent_bytes, mean_fp32_bytes;
    double ranks, weights, first_step, steps_in_all, fp32_bytes;
    /* [train_command.n_opts] of the last such line; "": it has none */
    char (*option)[PAGE_WORD];

    uint64_t n_steps, n_offload, n_redone, n_skipped, n_stats; /* lines of steps, of statistics */
    double skipped[PAGE_SKIPS];                                /* the first steps of them */
    double last_step, stats_step;
    double samples, seconds, sent_bytes; /* of all steps */
    int n_epochs;
    struct page_epoch last;
    double best, best_epoch; /* accuracy */
};

/* Reads a file of train --log or --stats. Returns 0 or a negative errno with a line, -EINVAL: it is
 * neither. page_run_close() in any case. */
int page_run_read(struct page_run *r, const char *path);
void page_run_close(struct page_run *r); /* legal when zeroed */

/* The value of an option of train, "" where the log has none. name must be in the table. */
const char *page_option(const struct page_run *r, const char *name);

/* The command that made the run, as a shell takes it: of its options those that are not the
 * defaults. */
void page_command(const struct page_run *r, struct text *to);

/* Row i of what is known of a run, its name and the run's value ("": there is none). false: there is no
 * such row. */
bool page_fact(int i, const struct page_run *r, const char **name, struct text *to);

/* Text as HTML shows it: nothing in it is a tag, and it is UTF-8. */
void page_put(const char *text, FILE *to);

struct page {
    const char *title;
    char *const *paths; /* [n] */
    struct page_run *runs;
    int n;
};

/* All of it. Returns 0 or a negative errno with a line. */
int page_write(const struct page *page, FILE *to);

#endif
