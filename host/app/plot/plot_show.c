/* plot_show.c : shows a plot as a table, and as a gnuplot program. */
#include "app/plot/plot.h"
#include "base/text.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The caller frees the result; NULL: no memory. */
static double *all_x(const struct plot *p, size_t *n)
{
    double *x = malloc((p->n_points + 1) * sizeof *x);
    size_t at = 0;
    *n = 0;
    for (int s = 0; s < p->n_series && x; s++)
        for (size_t i = 0; i < p->series[s].n; i++)
            x[at++] = p->series[s].point[i].x;
    if (!x)
        return NULL;
    qsort(x, at, sizeof *x, by_size);
    for (size_t i = 0; i < at; i++)
        if (i == 0 || x[i] > x[*n - 1])
            x[(*n)++] = x[i];
    return x;
}

static int width_of(const char *name)
{
    const int n = (int)strlen(name);
    return n < 10 ? 10 : n;
}

void plot_table(const struct plot *p, FILE *to)
{
    size_t n, at[PLOT_SERIES] = {0};
    int first = width_of(p->kind->x);
    for (int i = 0; i < p->n_ticks; i++)
        first = width_of(p->tick[i]) > first ? width_of(p->tick[i]) : first;
    fprintf(to, "%-*s", first, p->kind->bars ? "" : p->kind->x);
    for (int s = 0; s < p->n_series; s++)
        fprintf(to, "  %*s", width_of(p->series[s].name), p->series[s].name);
    fprintf(to, "   (%s)\n", p->kind->y);
    double *x = all_x(p, &n);
    for (size_t i = 0; i < n && x; i++) {
        char text[32];
        number_print(text, sizeof text, 9, x[i]);
        fprintf(to, "%-*s", first, p->n_ticks && *p->tick[(int)x[i]] ? p->tick[(int)x[i]] : text);
        for (int s = 0; s < p->n_series; s++) {
            const struct plot_series *of = &p->series[s];
            const bool has = at[s] < of->n && of->point[at[s]].x == x[i];
            if (has)
                number_print(text, sizeof text, 5, of->point[at[s]++].y);
            fprintf(to, "  %*s", width_of(of->name), has ? text : "");
        }
        fprintf(to, "\n");
    }
    free(x);
}

enum { ROWS_MAX = 200, ROWS_LEAST = 300 }; /* ROWS_LEAST: pixels */
enum { DOTS_MAX = 200, LEVEL_MAX = 12, WHOLE_MAX = 15, LOG_MIN = 8 };

/* Layers are rows, from the top: names beside dots can be read, names below a curve cannot. */
static bool has_rows(const struct plot *p)
{
    return p->kind->map || (p->n_ticks > 0 && !p->kind->bars);
}

static const char *row_name(const struct plot *p, int i)
{
    return p->kind->map ? p->series[i].name : p->tick[i];
}

/* Sets row [PLOT_TICKS] of each name, and returns the number of rows. Layers that were not chosen
 * have no name and no row. */
static int rows_of(const struct plot *p, int row[PLOT_TICKS])
{
    const int names = p->kind->map ? p->n_series : p->n_ticks;
    int n = 0;
    for (int i = 0; i < names; i++) {
        row[i] = n;
        n += *row_name(p, i) != '\0';
    }
    return n;
}

/* Lines of the key, at most: gnuplot puts 1 to 3 names on a line, by their lengths. */
static int key_lines(const struct plot *p)
{
    size_t longest = 0;
    if (p->kind->map)
        return 0;
    for (int s = 0; s < p->n_series; s++)
        longest = strlen(p->series[s].name) > longest ? strlen(p->series[s].name) : longest;
    const int each = longest <= 22 ? 3 : longest <= 40 ? 2 : 1;
    return (p->n_series + each - 1) / each;
}

int plot_height(const struct plot *p, int height)
{
    int row[PLOT_TICKS];
    const int names = key_lines(p), more = names > 3 ? 18 * (names - 3) : 0;
    if (!has_rows(p))
        return height + more;
    const int n = rows_of(p, row), rows = 180 + 18 * (n < ROWS_MAX ? n : ROWS_MAX);
    return (rows < ROWS_LEAST ? ROWS_LEAST : rows) + more;
}

/* Distance from the middle of the row, so that equal values of several series are all seen. */
static double beside(const struct plot *p, int s)
{
    return 0.6 * ((s + 0.5) / p->n_series - 0.5);
}

static void data(const struct plot *p, const int *row, FILE *to)
{
    char x[32], y[32];
    for (int s = 0; s < p->n_series; s++) {
        fprintf(to, "$series%d << EOD\n", s);
        for (size_t i = 0; i < p->series[s].n; i++) {
            number_print(x, sizeof x, 9, p->series[s].point[i].x);
            number_print(y, sizeof y, 9, p->series[s].point[i].y);
            if (p->kind->map)
                fprintf(to, "%s %d %s\n", x, row[s], y);
            else if (row)
                fprintf(to, "%s %.6g\n", y, row[(int)p->series[s].point[i].x] + beside(p, s));
            else
                fprintf(to, "%s %s\n", x, y);
        }
        fprintf(to, "EOD\n");
    }
}

/* Splits the text at single quotes, because gnuplot ends a text at a doubled quote that is first or
 * follows another. Line ends would end the command, and some characters would spoil SVG. */
static void put_quoted(const char *text, bool is_tick, FILE *to)
{
    fputc('\'', to);
    for (const char *at = text; *at;) {
        const int n = text_printable(at);
        if (*at == '\'')
            fputs("'.\"'\".'", to);
        else if (*at == '%' && is_tick)
            fputs("%%", to);
        else
            fprintf(to, "%.*s", n ? n : 1, n ? at : " ");
        at += n ? n : 1;
    }
    fputc('\'', to);
}

static void quoted(const char *text, FILE *to)
{
    put_quoted(text, false, to);
}

static void names_below(const struct plot *p, FILE *to)
{
    fprintf(to, "set xtics rotate by %s scale 0 noenhanced (",
            p->n_ticks <= LEVEL_MAX ? "20 right" : "-60");
    for (int i = 0; i < p->n_ticks; i++) {
        fprintf(to, "%s", i ? ", " : "");
        put_quoted(p->tick[i], true, to);
        fprintf(to, " %d", i);
    }
    fprintf(to, ")\n");
}

static void names_left(const struct plot *p, const int *row, int n, size_t skip, FILE *to)
{
    const int each = 1 + (n - 1) / ROWS_MAX, names = p->kind->map ? p->n_series : p->n_ticks;
    const char *comma = "";
    fprintf(to, "set yrange [%d.5:-0.5]\nset ytics scale 0 noenhanced (", n - 1);
    for (int i = 0; i < names; i++) {
        if (!*row_name(p, i) || row[i] % each)
            continue;
        fputs(comma, to);
        put_quoted(row_name(p, i) + (p->kind->map ? skip : 0), true, to);
        fprintf(to, " %d", row[i]);
        comma = ", ";
    }
    fprintf(to, ")\n");
}

/* visible on white and black */
static void colours(FILE *to)
{
    static const char *const rgb[] = {"#3b7dd8", "#d9730d", "#2e9e5b", "#d63a54", "#9a5fd0",
                                      "#1795a5", "#a87432", "#d050a0", "#808080"};
    enum { N = sizeof rgb / sizeof *rgb };
    for (int i = 0; i < N; i++)
        fprintf(to, "set linetype %d linecolor rgb '%s'\n", i + 1, rgb[i]);
    fprintf(to, "set linetype cycle %d\n", N);
}

static bool is_drawn(const struct plot *p, const struct plot_series *s)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->point[i].y != 0)
            return true;
    return s->n > 0 && !p->kind->bars;
}

struct range {
    double least, most;
};

static struct range range_of(const struct plot *p, bool of_y)
{
    struct range r = {HUGE_VAL, -HUGE_VAL};
    for (int s = 0; s < p->n_series; s++)
        for (size_t i = 0; i < p->series[s].n; i++) {
            const double at = of_y ? p->series[s].point[i].y : p->series[s].point[i].x;
            r.least = fmin(r.least, at);
            r.most = fmax(r.most, at);
        }
    return r;
}

static const char *style_of(const struct plot *p, const struct plot_series *s)
{
    if (p->kind->bars)
        return "2";
    if (p->kind->map)
        return "1:2:(0.5):(0.5):3 with boxxyerror linecolor palette fillstyle solid noborder";
    if (has_rows(p))
        return "1:2 with points pointtype 7 pointsize 0.9";
    return p->kind->shares || s->n > DOTS_MAX ? "1:2 with lines linewidth 2"
                                              : "1:2 with linespoints pointtype 7 pointsize 0.5";
}

static void lines(const struct plot *p, size_t skip, FILE *to)
{
    bool first = true;
    fprintf(to, "plot ");
    for (int s = 0; s < p->n_series; s++) {
        const struct plot_series *of = &p->series[s];
        if (!is_drawn(p, of) && !(first && s == p->n_series - 1)) /* gnuplot needs one */
            continue;
        fprintf(to, "%s$series%d using %s", first ? "" : ", \\\n     ", s, style_of(p, of));
        if (p->kind->map) {
            fprintf(to, " notitle");
        } else {
            fprintf(to, " linetype %d title ", s + 1);
            quoted(of->name + (skip < strlen(of->name) ? skip : 0), to);
        }
        first = false;
    }
    fprintf(to, "\n");
}

/* log: NULL, or the axis and base of `set logscale`, whose ticks are too few for a short range */
static void axis(char name, struct range r, const char *log, bool from_zero, FILE *to)
{
    char least[32], most[32];
    if (log && r.least > 0 && (r.least == r.most || r.most >= LOG_MIN * r.least))
        fprintf(to, "set logscale %s\n", log);
    if (from_zero && r.most > 0) {
        fprintf(to, "set %crange [0:*]\n", name);
    } else if (r.least == r.most || from_zero) {
        const double by = fmax(1, fabs(r.least) / 2); /* visible in 9 digits */
        number_print(least, sizeof least, 9, log && r.least > 0 ? r.least / 2 : r.least - by);
        number_print(most, sizeof most, 9, log && r.least > 0 ? r.least * 2 : r.least + by);
        fprintf(to, "set %crange [%s:%s]\n", name, least, most);
    }
}

/* Whole numbers, such as epochs, get no ticks between them. */
static void whole_ticks(const struct plot *p, struct range x, FILE *to)
{
    for (int s = 0; s < p->n_series; s++)
        for (size_t i = 0; i < p->series[s].n; i++)
            if (p->series[s].point[i].x != floor(p->series[s].point[i].x))
                return;
    const double from = p->kind->x_from_zero ? fmin(x.least, 0) : x.least;
    const bool one = x.least == x.most; /* axis() makes the range as wide as |x| */
    if (x.most - from <= WHOLE_MAX && !(one && fabs(x.most) > WHOLE_MAX))
        fprintf(to, "set xtics 1\n");
}

static void rows(const struct plot *p, const int *row, int n, size_t skip, FILE *to)
{
    const struct range x = range_of(p, false);
    names_left(p, row, n, skip, to);
    if (!p->kind->map) {
        axis('x', range_of(p, true), p->kind->log_y ? "x" : NULL, p->kind->from_zero, to);
        return;
    }
    whole_ticks(p, x, to);
    fprintf(to,
            "set xrange [%.9g:%.9g]\nset cbrange [0:*]\nset cblabel '%s'\n"
            "set palette defined (0 '#f4f7fb', 0.5 '#3b7dd8', 1 '#0b2a5c')\n",
            x.least - 0.5, x.most + 0.5, p->kind->y);
}

static void curves(const struct plot *p, FILE *to)
{
    const struct range x = range_of(p, false);
    axis('x', x, p->kind->log_x ? "x 2" : NULL, p->kind->x_from_zero, to);
    if (!p->kind->log_x)
        whole_ticks(p, x, to);
    axis('y', range_of(p, true), p->kind->log_y ? "y" : NULL, p->kind->from_zero, to);
}

static void bars(const struct plot *p, FILE *to)
{
    axis('y', range_of(p, true), NULL, true, to);
    fprintf(to, "set style data histograms\nset style histogram rowstacked\nset boxwidth 0.7\n"
                "set style fill solid 0.8 noborder\n");
    if (p->n_ticks)
        names_below(p, to);
}

void plot_script(const struct plot *p, const struct plot_look *look, FILE *to)
{
    int row[PLOT_TICKS];
    const bool in_rows = has_rows(p);
    const int n = in_rows ? rows_of(p, row) : 0;
    fprintf(to, "# made by narrowcast plot %s\nset encoding utf8\n", p->kind->name);
    if (look->terminal)
        fprintf(to, "set terminal %s\n", look->terminal);
    data(p, in_rows ? row : NULL, to);
    if (look->title && *look->title)
        fprintf(to, "set title "), quoted(look->title, to), fprintf(to, " noenhanced\n");
    fprintf(to, "set xlabel ");
    quoted(in_rows && !p->kind->map ? p->kind->y : p->kind->x, to);
    fprintf(to, "\nset ylabel ");
    quoted(in_rows ? "" : p->kind->y, to);
    fprintf(to, "\nset grid\nset key outside above left Left reverse maxcols 3 noenhanced\n");
    if (look->skip && p->n_series == 1)
        fprintf(to, "unset key\n");
    if (p->kind->bars)
        bars(p, to);
    else if (in_rows)
        rows(p, row, n, look->skip, to);
    else
        curves(p, to);
    colours(to);
    lines(p, look->skip, to);
}
