/* plot.h : declares the parts of `narrowcast plot`: JSON lines become series, and series become a
 * table or a gnuplot chart.
 *
 *     KIND -> plot_kinds[]
 *     FILE... -> lines -> kind->row() -> plot_add() -> plot_table(), plot_chart() */
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
    size_t order; /* row that the point is from */
    size_t n;     /* values whose mean is y */
};
struct plot_series {
    char name[PLOT_NAME]; /* printable */
    /* [n]; after reading: sorted by x, of equal x only the last point */
    struct plot_point *point;
    size_t n, room;
};

struct plot_kind;
struct plot {
    const struct plot_kind *kind;
    const char *layers;  /* names of layers to draw, with commas; NULL: all */
    uint64_t layers_met; /* bit i: a row had the i-th of them */
    struct plot_series series[PLOT_SERIES];
    int n_series;
    char tick[PLOT_TICKS][PLOT_NAME]; /* of x = 0, 1, ...; "": none */
    int n_ticks;
    size_t n_points;
};

/* The file being read. */
struct plot_file {
    const char *path;
    /* name: without folder and ending. of: from the `run` line; "" before it. */
    char name[PLOT_NAME], of[PLOT_NAME];
    int first_series; /* number of series before this file */
    double step;      /* last step seen */
    /* of a training: bytes that a step would send in fp32, and images of a step */
    double fp32_bytes, batch;
    /* seconds of training: up to the last row, and before the last `run` line */
    double train_s, earlier_s;
    int tick; /* its bar, from 1; 0: none */
};

struct plot_kind {
    const char *name, *about;
    const char *title; /* of the chart */
    const char *wants; /* the files that it needs */
    const char *x, *y;
    bool log_x, log_y, bars;
    bool map;         /* a row of coloured cells for each series */
    bool shares;      /* draws shares of the series' sum, % */
    bool layers;      /* rows of layers, which can be chosen */
    bool from_zero;   /* the axis of y begins at 0 */
    bool x_from_zero; /* the axis of x begins at 0 */
    bool report;      /* in reports, too */
    /* Reads a line. Returns 1, 0 for a line of another kind, or a negative errno. */
    int (*row)(struct plot *p, struct plot_file *f, const struct jsonl_in *in);
};
extern const struct plot_kind plot_kinds[]; /* ends with a NULL name */

/* Reports an unknown name and returns NULL. */
const struct plot_kind *plot_kind_of(const char *name);

/* Return a number or text of a line; nan or "" if missing. */
double plot_real(const struct jsonl_in *in, const char *key);
const char *plot_word(const struct jsonl_in *in, const char *key, char to[PLOT_NAME]);

/* plot_run_name() makes a name from the `run` line ("FILE: e5m2 aps"). plot_file_name() returns it
 * or, before that line, the file's name. */
struct plot_file plot_file_in(const struct plot *p, const char *path);
void plot_run_name(struct plot_file *f, const struct jsonl_in *in);
const char *plot_file_name(const struct plot_file *f);

/* Rows of train --log. */
int plot_accuracy_row(struct plot *p, struct plot_file *f, const struct jsonl_in *in);
int plot_accuracy_time_row(struct plot *p, struct plot_file *f, const struct jsonl_in *in);
int plot_loss_row(struct plot *p, struct plot_file *f, const struct jsonl_in *in);
int plot_step_loss_row(struct plot *p, struct plot_file *f, const struct jsonl_in *in);
int plot_bytes_row(struct plot *p, struct plot_file *f, const struct jsonl_in *in);
int plot_time_row(struct plot *p, struct plot_file *f, const struct jsonl_in *in);

/* Rows of train --stats; only a file's last step counts. */
int plot_exponent_range_row(struct plot *p, struct plot_file *f, const struct jsonl_in *in);
int plot_exponents_row(struct plot *p, struct plot_file *f, const struct jsonl_in *in);
int plot_model_exponents_row(struct plot *p, struct plot_file *f, const struct jsonl_in *in);
int plot_shift_row(struct plot *p, struct plot_file *f, const struct jsonl_in *in);
int plot_underflow_row(struct plot *p, struct plot_file *f, const struct jsonl_in *in);
int plot_error_row(struct plot *p, struct plot_file *f, const struct jsonl_in *in);

/* Rows of the backward pass. */
int plot_underflow_back_row(struct plot *p, struct plot_file *f, const struct jsonl_in *in);
int plot_scale_back_row(struct plot *p, struct plot_file *f, const struct jsonl_in *in);

/* Read all files. layers: see struct plot. plot_read() fails if a file has no row of the kind or of
 * a named layer. plot_read_some() skips such files, so p->n_points may be 0. Call plot_close() in
 * any case. */
int plot_read(struct plot *p, const struct plot_kind *kind, const char *layers, char *const *paths,
              int n_paths);
int plot_read_some(struct plot *p, const struct plot_kind *kind, char *const *paths, int n_paths);
void plot_close(struct plot *p);

/* Averages successive points down to `most` per series. Returns the largest number averaged, or 1
 * for no change. */
size_t plot_thin(struct plot *p, size_t most);

/* Return the series or bar of that name, made if missing, or a negative errno. */
int plot_series_of(struct plot *p, const char *name);
/* Does not share a series of an earlier file: the new one is "NAME (2)". */
int plot_series_here(struct plot *p, const struct plot_file *f, const char *name);
int plot_tick_of(struct plot *p, const char *name);
/* Makes a new bar, called "NAME (2)" if there is a bar NAME. */
int plot_tick_new(struct plot *p, const char *name);

/* Adds a point to series s at the row's layer; the layer's name labels that x. Returns s if it is
 * negative. */
int plot_add_layer(struct plot *p, int s, const struct jsonl_in *in, double y);
/* Adds a finite point; ignores others. */
int plot_add(struct plot *p, int s, double x, double y);
/* As plot_add(), but averages y with the last point if x is the same. */
int plot_add_mean(struct plot *p, int s, double x, double y);

void plot_table(const struct plot *p, FILE *to);

/* Style of a chart, in gnuplot's syntax; NULL: left out. */
struct plot_look {
    const char *title;    /* any text */
    const char *terminal; /* "svg ..." */
    /* characters of each series' name that the title has; of a single series all, and no key */
    size_t skip;
};

/* Returns the height in pixels: that of the rows if layers are rows, else `height`. */
int plot_height(const struct plot *p, int height);

/* Writes a gnuplot program, data included. */
void plot_script(const struct plot *p, const struct plot_look *look, FILE *to);

/* Draws the page's chart `number` as <svg> ... </svg>, in the colour of the text around it. Returns
 * -EDOM if gnuplot refuses the plot, and -ENOENT unreported without gnuplot. */
int plot_svg(const struct plot *p, int number, FILE *to);

/* Draws to a file, which appears when complete: SVG (.svg), PNG (.png), PDF (.pdf) or gnuplot's
 * program (.gp). title: "" for none; NULL for the kind's, with the part that all names share.
 * Reports a missing gnuplot. */
int plot_chart(const struct plot *p, const char *title, const char *path);

/* Returns 0 if a chart can have this name, or -EINVAL after reporting. */
int plot_check_out(const char *path);

#endif
