/* plot_show.c : shows a plot as a table, and as a gnuplot program. */
#include "app/plot/plot.h"
#include "base/err.h"
#include "base/file.h"
#include "base/text.h"
#include <math.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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

enum { TICKS_SHOWN = 30, DOTS_MAX = 200, LEVEL_MAX = 12 };

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

/* Splits the text at single quotes, because gnuplot ends a text at a doubled quote that is first or
 * follows another. Line ends would end the command, and some characters would spoil SVG. */
static void quoted(const char *text, FILE *to)
{
    fputc('\'', to);
    for (const char *at = text; *at;) {
        const int n = text_printable(at);
        if (*at == '\'')
            fputs("'.\"'\".'", to);
        else
            fprintf(to, "%.*s", n ? n : 1, n ? at : " ");
        at += n ? n : 1;
    }
    fputc('\'', to);
}

static void ticks(const struct plot *p, FILE *to)
{
    const int each = p->kind->bars ? 1 : 1 + p->n_ticks / TICKS_SHOWN;
    fprintf(to, "set xtics rotate by %s scale 0 noenhanced (",
            p->kind->bars && p->n_ticks <= LEVEL_MAX ? "20 right" : "-60");
    for (int i = 0; i < p->n_ticks; i += each) {
        fprintf(to, "%s", i ? ", " : "");
        quoted(p->tick[i], to);
        fprintf(to, " %d", i);
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
    return !p->kind->bars;
}

static const char *style_of(const struct plot *p, const struct plot_series *s)
{
    if (p->kind->bars)
        return "2";
    return p->kind->shares || s->n > DOTS_MAX ? "1:2 with lines linewidth 2"
                                              : "1:2 with linespoints pointtype 7 pointsize 0.5";
}

static void lines(const struct plot *p, FILE *to)
{
    bool first = true;
    fprintf(to, "plot ");
    for (int s = 0; s < p->n_series; s++) {
        if (!is_drawn(p, &p->series[s]))
            continue;
        fprintf(to, "%s$series%d using %s linetype %d title ", first ? "" : ", \\\n     ", s,
                style_of(p, &p->series[s]), s + 1);
        quoted(p->series[s].name, to);
        first = false;
    }
    fprintf(to, "\n");
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

static void axis(char name, struct range r, bool log, bool from_zero, FILE *to)
{
    char least[32], most[32];
    if (log && r.least > 0)
        fprintf(to, name == 'x' ? "set logscale x 2\n" : "set logscale y\n");
    if (from_zero && r.most > 0) {
        fprintf(to, "set %crange [0:*]\n", name);
    } else if (r.least == r.most || from_zero) {
        const double by = fmax(1, fabs(r.least) / 2); /* visible in 9 digits */
        number_print(least, sizeof least, 9, log && r.least > 0 ? r.least / 2 : r.least - by);
        number_print(most, sizeof most, 9, log && r.least > 0 ? r.least * 2 : r.least + by);
        fprintf(to, "set %crange [%s:%s]\n", name, least, most);
    }
}

void plot_script(const struct plot *p, const struct plot_look *look, FILE *to)
{
    fprintf(to, "# made by narrowcast plot %s\nset encoding utf8\n", p->kind->name);
    if (look->terminal)
        fprintf(to, "set terminal %s\n", look->terminal);
    data(p, to);
    if (look->title)
        fprintf(to, "set title "), quoted(look->title, to), fprintf(to, " noenhanced\n");
    fprintf(to, "set xlabel ");
    quoted(p->kind->x, to);
    fprintf(to, "\nset ylabel ");
    quoted(p->kind->y, to);
    fprintf(to, "\nset grid\nset key %s noenhanced\n", look->key ? look->key : "outside right top");
    if (!p->kind->bars)
        axis('x', range_of(p, false), p->kind->log_x, false, to);
    axis('y', range_of(p, true), p->kind->log_y, p->kind->bars || p->kind->from_zero, to);
    if (p->kind->bars)
        fprintf(to, "set style data histograms\nset style histogram rowstacked\nset boxwidth 0.7\n"
                    "set style fill solid 0.8 noborder\n");
    if (p->n_ticks)
        ticks(p, to);
    colours(to);
    lines(p, to);
}

static bool ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text), k = strlen(end);
    return n > k && !strcmp(text + n - k, end);
}

static void last_line(FILE *said, char *to, size_t size)
{
    char line[256];
    int number = 0;
    *to = '\0';
    rewind(said);
    while (fgets(line, sizeof line, said)) {
        const char *from = line + strspn(line, " \t\r\n");
        line[strcspn(line, "\r\n")] = '\0';
        if (*from && sscanf(from, "line %*d: %n", &number) == 0)
            snprintf(to, size, "%s", from + number);
        number = 0;
    }
}

/* Passes descriptors, because gnuplot takes some file names for commands. -ENOENT is not
 * reported. */
static int run_gnuplot(int from, int to, int said)
{
    /* -d: without the user's settings */
    char *argv[] = {"gnuplot", "-d", NULL};
    extern char **environ;
    posix_spawn_file_actions_t files;
    pid_t pid;
    int status, rc = posix_spawn_file_actions_init(&files);
    if (rc)
        return ERR(-rc, "cannot run gnuplot: %s", strerror(rc));
    rc = posix_spawn_file_actions_adddup2(&files, from, STDIN_FILENO);
    rc = rc ? rc : posix_spawn_file_actions_adddup2(&files, to, STDOUT_FILENO);
    rc = rc ? rc : posix_spawn_file_actions_adddup2(&files, said, STDERR_FILENO);
    rc = rc ? rc : posix_spawnp(&pid, "gnuplot", &files, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&files);
    if (rc == ENOENT || rc == EACCES)
        return -ENOENT;
    if (rc)
        return ERR(-rc, "cannot run gnuplot: %s", strerror(rc));
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return ERR(-errno, "cannot wait for gnuplot: %s", strerror(errno));
    return status;
}

static int ask_gnuplot(int from, int to)
{
    char line[256];
    FILE *said = tmpfile();
    if (!said)
        return ERR(-errno, "cannot draw: no temporary file: %s", strerror(errno));
    int rc = run_gnuplot(from, to, fileno(said));
    last_line(said, line, sizeof line);
    if (rc > 0)
        rc = ERR(WIFEXITED(rc) ? -EDOM : -EIO, "gnuplot did not make the chart: %s",
                 *line ? line : "it gave no reason");
    else if (rc == 0 && *line)
        err_warn("gnuplot: %s", line);
    fclose(said);
    return rc;
}

static int write_script(const struct plot *p, const struct plot_look *look, FILE **script)
{
    FILE *f = tmpfile();
    if (!f)
        return ERR(-errno, "cannot draw: no temporary file: %s", strerror(errno));
    plot_script(p, look, f);
    if (fflush(f) || ferror(f)) {
        fclose(f);
        return ERR(-EIO, "cannot draw: no space for temporary files");
    }
    rewind(f);
    *script = f;
    return 0;
}

int plot_draw(const struct plot *p, const struct plot_look *look, FILE **chart)
{
    FILE *script = NULL, *drawn = tmpfile();
    if (!drawn)
        return ERR(-errno, "cannot draw: no temporary file: %s", strerror(errno));
    int rc = write_script(p, look, &script);
    if (rc == 0) {
        rc = ask_gnuplot(fileno(script), fileno(drawn));
        fclose(script);
    }
    if (rc == 0)
        *chart = drawn;
    else
        fclose(drawn);
    return rc;
}

/* gnuplot does not report a full disk. */
static bool is_whole(FILE *chart, bool svg)
{
    const char *const end = svg ? "</svg>" : "IEND";
    char tail[16];
    const bool enough = !fseek(chart, -(long)sizeof tail, SEEK_END);
    const size_t n = enough ? fread(tail, 1, sizeof tail, chart) : 0;
    rewind(chart);
    return memmem(tail, n, end, strlen(end)) != NULL;
}

/* Closes `from`. */
static int copy(FILE *from, const char *path)
{
    struct file_out out;
    char block[1 << 16];
    size_t n;
    int rc = file_out_open(&out, path);
    while (rc == 0 && (n = fread(block, 1, sizeof block, from)) > 0)
        (void)file_out_write(&out, block, n); /* file_out_commit() returns the error */
    fclose(from);
    return rc ? rc : file_out_commit(&out);
}

#define SIZE " size 1000,600 background 'white' font 'sans,12'"

int plot_chart(const struct plot *p, const char *title, const char *path)
{
    const bool svg = ends_with(path, ".svg"), program = ends_with(path, ".gp");
    const struct plot_look look = {.title = title,
                                   .terminal = program ? NULL
                                               : svg   ? "svg" SIZE
                                                       : "pngcairo" SIZE};
    FILE *chart = NULL;
    if (!svg && !program && !ends_with(path, ".png"))
        return ERR(-EINVAL, "--out '%s': need a name that ends in .svg, .png or .gp", path);
    const int rc = program ? write_script(p, &look, &chart) : plot_draw(p, &look, &chart);
    if (rc == -ENOENT)
        return ERR(rc,
                   "cannot draw '%s': no gnuplot in PATH: install gnuplot-nox, leave out --out for "
                   "a table, or name a .gp file for the gnuplot program",
                   path);
    TRY(rc);
    if (program || is_whole(chart, svg))
        return copy(chart, path);
    fclose(chart);
    return ERR(-EIO, "cannot write '%s': gnuplot stopped midway: is the disk full?", path);
}

/* gnuplot gives shapes the same names in all charts, so only a page's first chart defines them. */

static bool begins_with(const char *line, const char *word)
{
    return !strncmp(line + strspn(line, "\t "), word, strlen(word));
}

/* the line that opens a group, held back because many groups are empty */
struct held {
    char *group; /* malloc */
    FILE *to;
};

static void put(struct held *h, const char *line)
{
    const bool empty = h->group && begins_with(line, "</g>");
    if (h->group && !empty)
        fputs(h->group, h->to);
    free(h->group);
    h->group = begins_with(line, "<g fill=") ? strdup(line) : NULL;
    if (!h->group && !empty)
        fputs(line, h->to);
}

/* Returns -EIO unreported if the chart is incomplete. */
static int plot_svg_copy(FILE *from, bool first, FILE *to)
{
    struct held h = {.to = to};
    char *line = NULL;
    size_t room = 0;
    bool inside = false, whole = false, defines = false;
    while (getline(&line, &room, from) > 0) {
        inside |= begins_with(line, "<svg");
        defines |= begins_with(line, "<defs>");
        whole |= begins_with(line, "</svg>");
        if (begins_with(line, "<g id=\"gnuplot_canvas\""))
            put(&h, "<g>\n");
        else if (inside && (first || !defines) && !begins_with(line, "<desc>") &&
                 !begins_with(line, "<title>"))
            put(&h, line);
        defines &= !begins_with(line, "</defs>");
    }
    free(h.group);
    free(line);
    return whole ? 0 : -EIO;
}

int plot_svg(const struct plot *p, int number, FILE *to)
{
    char terminal[96];
    snprintf(terminal, sizeof terminal, "svg size 860,440 dynamic name 'chart%d' font 'sans,12'",
             number);
    const struct plot_look look = {.terminal = terminal, .key = "outside above left Left reverse"};
    FILE *chart = NULL;
    int rc = plot_draw(p, &look, &chart);
    if (rc == 0) {
        rewind(chart);
        rc = plot_svg_copy(chart, number == 1, to);
        if (rc < 0)
            (void)ERR(rc, "cannot draw: gnuplot stopped midway");
        fclose(chart);
    }
    return rc;
}
