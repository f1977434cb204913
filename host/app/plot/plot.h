/* plot.h : the parts of `narrowcast plot`: rows of somebody's JSON lines become series of points, which
 * become a table, or a chart by gnuplot.
 *
 *     KIND -> plot_kinds[]   FILE... -> lines -> kind->row() -> plot_point()   plot_table(), plot_chart() */
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
    size_t order; /* of the rows */
    size_t n;     /* of values that y is the mean of */
};
struct plot_series {
    char name[PLOT_NAME]; /* printable, whatever the file had */
    struct plot_point
        *point; /* [n]; when all is read x rises, and of equal ones the last is kept */
    size_t n, room;
};

struct plot_kind;
struct plot {
    const struct plot_kind *kind;
    const char *layers;  /* names of those that are drawn, with commas between; NULL: all */
    uint64_t layers_met; /* bit i: a row had the i-th of them */
    struct plot_series series[PLOT_SERIES];
    int n_series;
    char tick[PLOT_TICKS][PLOT_NAME]; /* what x = 0, 1, ... are called; "": nothing */
    int n_ticks;
    size_t n_points;
};

/* The file that is read: what its rows have in common. */
struct plot_file {
    const char *path;
    char name[PLOT_NAME], of[PLOT_NAME]; /* without folder and ending; what a row said of it */
    int first_series;                    /* the series that there were before it */
    double step;                         /* the last one that a row was of */
    double fp32_bytes, batch; /* of a training: what a step would send in fp32; images of a step */
    int tick;                 /* of its bar, from 1 on; 0: it has none */
};

/* A kind of chart. */
struct plot_kind {
    const char *name, *about;
    const char *wants; /* the files, in words */
    const char *x, *y; /* of the axes */
    bool log_x, log_y, bars;
    bool shares;        /* what is drawn of a series are its parts of its sum, % */
    bool layers;        /* its rows are of layers, of which some can be chosen */
    bool from_zero;     /* the axis of y begins at 0 */
    const char *report; /* the headline of its chart in a report; NULL: it is in none */
    /* Takes a line. Returns 1, 0: it is of another kind, or a negative errno with a line. */
    int (*row)(struct plot *p, struct plot_file *f, const struct jsonl_in *in);
};
extern const struct plot_kind plot_kinds[]; /* the last one's name is NULL */

/* NULL, with a line that names all, where there is none. */
const struct plot_kind *plot_kind_of(const char *name);

/* Numbers and words of a line; nan and "" where there are none. */
double plot_real(const struct jsonl_in *in, const char *key);
const char *plot_word(const struct jsonl_in *in, const char *key, char to[PLOT_NAME]);

/* A file that is about to be read; a line of it of kind `run`, with which a log begins: what travels in the
 * run is its name from now on, "FILE: e5m2 aps"; the name, that of the file where there was no such
 * line. */
struct plot_file plot_file_in(const struct plot *p, const char *path);
void plot_run_name(struct plot_file *f, const struct jsonl_in *in);
const char *plot_file_name(const struct plot_file *f);

/* Rows of train --log (plot_stats.c). */
int plot_accuracy_row(struct plot *p, struct plot_file *f, const struct jsonl_in *in);
int plot_loss_row(struct plot *p, struct plot_file *f, const struct jsonl_in *in);
int plot_step_loss_row(struct plot *p, struct plot_file *f, const struct jsonl_in *in);
int plot_bytes_row(struct plot *p, struct plot_file *f, const struct jsonl_in *in);
int plot_time_row(struct plot *p, struct plot_file *f, const struct jsonl_in *in);

/* Rows of train --stats (plot_stats.c): of which the last step that is there counts. */
int plot_exponent_range_row(struct plot *p, struct plot_file *f, const struct jsonl_in *in);
int plot_exponents_row(struct plot *p, struct plot_file *f, const struct jsonl_in *in);
int plot_model_exponents_row(struct plot *p, struct plot_file *f, const struct jsonl_in *in);
int plot_shift_row(struct plot *p, struct plot_file *f, const struct jsonl_in *in);
int plot_underflow_row(struct plot *p, struct plot_file *f, const struct jsonl_in *in);
int plot_error_row(struct plot *p, struct plot_file *f, const struct jsonl_in *in);

/* Rows of train --stats about the way back (plot_stats.c). */
int plot_underflow_back_row(struct plot *p, struct plot_file *f, const struct jsonl_in *in);
int plot_scale_back_row(struct plot *p, struct plot_file *f, const struct jsonl_in *in);

/* Reads all lines of all files. layers: see struct plot. Returns 0 or a negative errno with a line; also
 * where a file has no row of the kind, or none a layer that was named. plot_close() in any case.
 * plot_read_some(): files without such a row are passed over, and p->n_points may be 0. */
int plot_read(struct plot *p, const struct plot_kind *kind, const char *layers, char *const *paths,
              int n_paths);
int plot_read_some(struct plot *p, const struct plot_kind *kind, char *const *paths, int n_paths);
void plot_close(struct plot *p);

/* No line has more points than `most`: each is the mean of several that follow one another. Returns how
 * many at most; 1: nothing changed. */
size_t plot_thin(struct plot *p, size_t most);

/* The series of that name, or a new one; the bar of that name. Negative errno with a line: too many. */
int plot_series_of(struct plot *p, const char *name);
/* The same, but of this file alone: what another one has by that name is another one. */
int plot_series_here(struct plot *p, const struct plot_file *f, const char *name);
int plot_tick_of(struct plot *p, const char *name);
/* A new bar of that name: where there is one already, "NAME (2)". */
int plot_tick_new(struct plot *p, const char *name);

/* A point more, of series s (a negative errno: it is passed on), at the layer that a row is of, whose name
 * x gets. Returns as plot_add(). */
int plot_add_layer(struct plot *p, int s, const struct jsonl_in *in, double y);
/* A point more, of series s; one that is not finite is left out. Returns 0 or a negative errno with a
 * line. */
int plot_add(struct plot *p, int s, double x, double y);
/* The same, but where the series' last point is at x, its y becomes the mean of all that it was given. */
int plot_add_mean(struct plot *p, int s, double x, double y);

void plot_table(const struct plot *p, FILE *to);

/* How a chart is drawn, in gnuplot's words; what is NULL is left out. */
struct plot_look {
    const char *title;    /* above it, any text */
    const char *terminal; /* "svg ..." */
    const char *key;      /* where the names of lines stand */
};

/* All of it as a program of gnuplot, numbers included. */
void plot_script(const struct plot *p, const struct plot_look *look, FILE *to);

/* Draw a plot by gnuplot: *chart is its standard output, a temporary file that the caller closes.
 * Returns 0 or a negative errno with a line, -EDOM if gnuplot refuses the plot; -ENOENT, in silence:
 * there is no gnuplot. */
int plot_draw(const struct plot *p, const struct plot_look *look, FILE **chart);

/* The chart alone, as a part of a page: <svg> ... </svg>, whose texts and lines are of the colour that
 * stands around it; number: of the chart in the page. Returns as plot_draw(). */
int plot_svg(const struct plot *p, int number, FILE *to);

/* path: .svg, .png, or .gp: the program alone. The chart takes its name when it is whole. Returns 0
 * or a negative errno with a line; also where there is no gnuplot. */
int plot_chart(const struct plot *p, const char *title, const char *path);

#endif
