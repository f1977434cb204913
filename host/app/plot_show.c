/* plot_show.c : a plot as a table of text, and as a program of gnuplot. */
#include "app/plot.h"
#include "base/err.h"
#include "base/file.h"
#include "base/number.h"
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the table ---- */

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* All x, once each, rising: [*n], free() gives them back. NULL: no memory. */
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

/* ---- gnuplot ---- */

enum { TICKS_SHOWN = 30 };

static void data(const struct plot *p, FILE *to)
{
    char x[32], y[32];
    for (int s = 0; s < p->n_series; s++) {
        fprintf(to, "$series%d << EOD\n", s);
        for (size_t i = 0; i < p->series[s].n; i++) {
            number_print(x, sizeof x, 9, p->series[s].point[i].x);
            number_print(y, sizeof y, 9, p->series[s].point[i].y);
            fprintf(to, "%s %s\n", x, y);
        }
        fprintf(to, "EOD\n");
    }
}

/* A text between single quotes, its own ones doubled; a line's end in it would end the command. */
static void quoted(const char *text, FILE *to)
{
    fputc('\'', to);
    for (const char *c = text; *c; c++)
        fputs(*c == '\'' ? "''" : (char[]){*c == '\n' || *c == '\r' ? ' ' : *c, '\0'}, to);
    fputc('\'', to);
}

/* As many names as can be read below an axis; of bars all. */
static void ticks(const struct plot *p, FILE *to)
{
    const int each = p->kind->bars ? 1 : 1 + p->n_ticks / TICKS_SHOWN;
    fprintf(to, "set xtics rotate by -60 scale 0 noenhanced (");
    for (int i = 0; i < p->n_ticks; i += each) {
        fprintf(to, "%s", i ? ", " : "");
        quoted(p->tick[i], to);
        fprintf(to, " %d", i);
    }
    fprintf(to, ")\n");
}

void plot_script(const struct plot *p, const char *title, const char *terminal, const char *output,
                 FILE *to)
{
    fprintf(to, "# made by narrowcast plot %s\n", p->kind->name);
    if (terminal)
        fprintf(to, "set terminal %s size 1000,600 background 'white' font 'sans,12'\nset output ",
                terminal);
    if (terminal)
        quoted(output, to), fputc('\n', to);
    data(p, to);
    fprintf(to, "set title ");
    quoted(title, to);
    fprintf(to, " noenhanced\nset xlabel ");
    quoted(p->kind->x, to);
    fprintf(to, "\nset ylabel ");
    quoted(p->kind->y, to);
    fprintf(to, "\nset grid\nset key outside right top noenhanced\n%s%s",
            p->kind->log_x ? "set logscale x 2\n" : "", p->kind->log_y ? "set logscale y\n" : "");
    if (p->kind->bars)
        fprintf(to, "set style data histograms\nset style histogram rowstacked\nset boxwidth 0.7\n"
                    "set style fill solid 0.8 noborder\nset yrange [0:*]\n");
    if (p->n_ticks)
        ticks(p, to);
    fprintf(to, "plot ");
    for (int s = 0; s < p->n_series; s++) {
        fprintf(to, "%s$series%d using ", s ? ", \\\n     " : "", s);
        fprintf(to, p->kind->bars     ? "2"
                    : p->kind->shares ? "1:2 with lines linewidth 2"
                                      : "1:2 with linespoints pointtype 7 pointsize 0.5");
        fprintf(to, " title ");
        quoted(p->series[s].name, to);
    }
    fprintf(to, "\n");
}

static bool ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text), k = strlen(end);
    return n > k && !strcmp(text + n - k, end);
}

/* For a chart of that name. */
static int write_script(const struct plot *p, const char *title, const char *terminal,
                        const char *output, const char *path, const char *name)
{
    FILE *f = file_writer(path, false);
    if (!f)
        return ERR(-errno, "cannot write '%s': %s", name, file_why(errno));
    errno = 0;
    plot_script(p, title, terminal, output, f);
    const bool bad = ferror(f) || fflush(f);
    const int why = errno ? errno : EIO;
    return fclose(f) || bad ? ERR(-why, "cannot write '%s': %s", name, strerror(why)) : 0;
}

/* Runs gnuplot on the program, for a chart of that name. Returns 0 or a negative errno with a line. */
static int run_gnuplot(const char *script, const char *name)
{
    char *argv[] = {"gnuplot", (char *)script, NULL};
    extern char **environ;
    pid_t pid;
    int status;
    const int rc = posix_spawnp(&pid, "gnuplot", NULL, NULL, argv, environ);
    if (rc == ENOENT || rc == EACCES)
        return ERR(-rc,
                   "cannot draw '%s': no gnuplot in PATH: install it (gnuplot-nox), or leave out "
                   "--out for a table, or name a .gp for its program",
                   name);
    if (rc)
        return ERR(-rc, "cannot run gnuplot: %s", strerror(rc));
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return ERR(-errno, "cannot wait for gnuplot: %s", strerror(errno));
    return WIFEXITED(status) && WEXITSTATUS(status) == 0
               ? 0
               : ERR(-EIO, "gnuplot did not make the chart: it said why");
}

/* gnuplot says nothing of a disk that is full. */
static bool is_whole(const char *chart, bool svg)
{
    const char *const end = svg ? "</svg>" : "IEND";
    char tail[16];
    FILE *f = fopen(chart, "r");
    if (!f)
        return false;
    const bool enough = !fseek(f, -(long)sizeof tail, SEEK_END);
    const size_t n = enough ? fread(tail, 1, sizeof tail, f) : 0;
    fclose(f);
    return memmem(tail, n, end, strlen(end)) != NULL;
}

int plot_chart(const struct plot *p, const char *title, const char *path)
{
    const bool svg = ends_with(path, ".svg");
    char script[4096 + 16], chart[4096 + 16];
    if (ends_with(path, ".gp"))
        return write_script(p, title, NULL, NULL, path, path);
    if (!svg && !ends_with(path, ".png"))
        return ERR(-EINVAL, "--out '%s': want a name that ends in .svg, .png or .gp", path);
    if (strlen(path) > 4000)
        return ERR(-ENAMETOOLONG, "--out '%.40s...': its name is too long", path);
    snprintf(script, sizeof script, "%s.%d.gp", path, (int)getpid());
    snprintf(chart, sizeof chart, "%s.%d", path, (int)getpid());
    int rc = write_script(p, title, svg ? "svg" : "pngcairo", chart, script, path);
    if (rc == 0)
        rc = run_gnuplot(script, path);
    if (rc == 0 && !is_whole(chart, svg))
        rc = ERR(-EIO, "cannot write '%s': gnuplot left off midway: is the disk full?", path);
    if (rc == 0 && rename(chart, path))
        rc = ERR(-errno, "cannot write '%s': %s", path, strerror(errno));
    unlink(script);
    if (rc != 0)
        unlink(chart);
    return rc;
}
