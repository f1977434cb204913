/* plot.h : declares the parts of `narrowcast plot`: JSON lines become series of points, and these
 * become a table, or a chart by gnuplot.
 *
 *     KIND -> plot_kinds[]
 *     FILE... -> lines -> kind->row() -> plot_add() -> plot_table(), plot_chart()
 *
 * Unless stated otherwise, int results are 0 or a negative errno that has been reported. */
#ifndef PLOT_H
#define PLOT_H
#include "base/jsonl_read.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
    PLOT_NAME = 96,
    PLOT_SERIES = 64,
    PLOT_LAYERS = 64,
    PLOT_TICKS = 1024,
    PLOT_POINTS = 1 << 20
};

struct plot_point {
    double x, y;
    size_t order; /* of the row that gave it */
    size_t n;     /* values that y is the mean of */
};
struct plot_series {
    char name[PLOT_NAME]; /* printable, whatever the file had */
    struct plot_point
        /* [n]; after reading sorted by x, with the last of points with equal x. */
        *point;
    size_t n, room;
};

struct plot_kind;
struct plot {
    const struct plot_kind *kind;
    const char *layers;  /* comma-separated names of layers to draw; NULL: all */
    uint64_t layers_met; /* bit i: a row had the i-th of them */
    struct plot_series series[PLOT_SERIES];
    int n_series;
    char tick[PLOT_TICKS][PLOT_NAME]; /* names of x = 0, 1, ...; "": none */
    int n_ticks;
    size_t n_points;
};

/* The file being read. */
struct plot_file {
    const char *path;
    /* name: without folder and ending. of: made from the `run` line, "" before it. */
    char name[PLOT_NAME], of[PLOT_NAME];
    int first_series; /* number of series before this file */
    double step;      /* last step seen */
    /* For a training: bytes that a step would send in fp32; images of a step. */
    double fp32_bytes, batch;
    int tick; /* its bar, from 1; 0: none */
};

struct plot_kind {
    const char *name, *about;
    const char *wants; /* description of the files it needs */
    const char *x, *y; /* axis titles */
    bool log_x, log_y, bars;
    bool shares;        /* draw the shares of a series' sum, % */
    bool layers;        /* rows are of layers, which can be chosen */
    bool from_zero;     /* the y axis begins at 0 */
    const char *report; /* headline of its chart in a report; NULL: not in reports */
    /* Takes a line. Returns 1, 0 if it is of another kind, or a negative errno. */
    int (*row)(struct plot *p, struct plot_file *f, const struct jsonl_in *in);
};
extern const struct plot_kind plot_kinds[]; /* ends with a NULL name */

/* Returns NULL after reporting an unknown name. */
const struct plot_kind *plot_kind_of(const char *name);

/* Return a number or text of a line; nan or "": missing. */
double plot_real(const struct jsonl_in *in, const char *key);
const char *plot_word(const struct jsonl_in *in, const char *key, char to[PLOT_NAME]);

/* plot_run_name() names a file by its `run` line, such as "FILE: e5m2 aps"; plot_file_name()
 * returns that, or the file's own name before such a line. */
struct plot_file plot_file_in(const struct plot *p, const char *path);
void plot_run_name(struct plot_file *f, const struct jsonl_in *in);
const char *plot_file_name(const struct plot_file *f);

/* Rows of train --log. */
int plot_accuracy_row(struct plot *p, struct plot_file *f, const struct jsonl_in *in);
int plot_loss_row(struct plot *p, struct plot_file *f, const struct jsonl_in *in);
int plot_step_loss_row(struct plot *p, struct plot_file *f, const struct jsonl_in *in);
int plot_bytes_row(struct plot *p, struct plot_file *f, const struct jsonl_in *in);
int plot_time_row(struct plot *p, struct plot_file *f, const struct jsonl_in *in);

/* Rows of train --stats; only the last step of a file counts. */
int plot_exponent_range_row(struct plot *p, struct plot_file *f, const struct jsonl_in *in);
int plot_exponents_row(struct plot *p, struct plot_file *f, const struct jsonl_in *in);
int plot_model_exponents_row(struct plot *p, struct plot_file *f, const struct jsonl_in *in);
int plot_shift_row(struct plot *p, struct plot_file *f, const struct jsonl_in *in);
int plot_underflow_row(struct plot *p, struct plot_file *f, const struct jsonl_in *in);
int plot_error_row(struct plot *p, struct plot_file *f, const struct jsonl_in *in);

/* Rows of train --stats about the backward pass. */
int plot_underflow_back_row(struct plot *p, struct plot_file *f, const struct jsonl_in *in);
int plot_scale_back_row(struct plot *p, struct plot_file *f, const struct jsonl_in *in);

/* Read all files. layers: see struct plot. plot_read() fails if a file has no row of the kind, or a
 * named layer no row; plot_read_some() skips such files, so that p->n_points may be 0. Call
 * plot_close() in any case. */
int plot_read(struct plot *p, const struct plot_kind *kind, const char *layers, char *const *paths,
              int n_paths);
int plot_read_some(struct plot *p, const struct plot_kind *kind, char *const *paths, int n_paths);
void plot_close(struct plot *p);

/* Averages successive points, so that no series has more than `most`. Returns
 * the largest number averaged; 1: nothing changed. */
size_t plot_thin(struct plot *p, size_t most);

/* Return the series or the bar of that name, made if new, or a negative errno. */
int plot_series_of(struct plot *p, const char *name);
/* The same for this file only: if an earlier file has that series, this one is "NAME (2)". */
int plot_series_here(struct plot *p, const struct plot_file *f, const char *name);
int plot_tick_of(struct plot *p, const char *name);
/* Makes a new bar, "NAME (2)" if it exists. */
int plot_tick_new(struct plot *p, const char *name);

/* Adds a point at the layer of the row, which names x. A negative s is returned. */
int plot_add_layer(struct plot *p, int s, const struct jsonl_in *in, double y);
/* Adds a point, unless it is not finite. */
int plot_add(struct plot *p, int s, double x, double y);
/* The same, but values at the x of the last point are averaged. */
int plot_add_mean(struct plot *p, int s, double x, double y);

void plot_table(const struct plot *p, FILE *to);

/* Style of a chart, in gnuplot's syntax; NULL: left out. */
struct plot_look {
    const char *title;    /* above the chart, any text */
    const char *terminal; /* "svg ..." */
    const char *key;      /* position of the legend */
};

/* Writes the chart as a gnuplot program, data included. */
void plot_script(const struct plot *p, const struct plot_look *look, FILE *to);

/* Draws by gnuplot. *chart: its output, a temporary file that the caller closes. -EDOM: gnuplot
 * refuses the plot; -ENOENT without a message: there is no gnuplot. */
int plot_draw(const struct plot *p, const struct plot_look *look, FILE **chart);

/* Draws as a part of a page: <svg> ... </svg>, texts and lines in the colour of the text around it.
 * number: of the chart in the page. Returns as plot_draw(). */
int plot_svg(const struct plot *p, int number, FILE *to);

/* Draws to a file, which appears when complete: .svg, .png, or .gp for the program itself. Also
 * reports a missing gnuplot. */
int plot_chart(const struct plot *p, const char *title, const char *path);

#endif
