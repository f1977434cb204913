/* plot_draw.c : draws a plot with gnuplot, to a file or into a page. */
#include "app/plot/plot.h"
#include "base/err.h"
#include "base/file.h"
#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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

/* *chart: set to a temporary file with the output, which the caller closes. */
static int plot_draw(const struct plot *p, const struct plot_look *look, FILE **chart)
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

static const struct form {
    const char *ending, *terminal; /* terminal: printf format of the size in pixels */
    const char *end;               /* of a whole file */
} forms[] = {
    {".svg", "svg size %d,%d", "</svg>"},
    {".png", "pngcairo size %d,%d", "IEND"},
    {".pdf", "pdfcairo size %de-2in,%de-2in", "%%EOF"},
    {".gp", NULL, NULL},
};

/* NULL: another ending */
static const struct form *form_of(const char *path)
{
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (ends_with(path, forms[i].ending))
            return &forms[i];
    return NULL;
}

/* gnuplot does not report a full disk. */
static bool is_whole(FILE *chart, const char *end)
{
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

/* Returns the length of "FILE: " if all series begin with it, the length of its name if there is
 * one series, or 0. */
static size_t shared(const struct plot *p)
{
    const char *first = p->series[0].name, *colon = strstr(first, ": ");
    const size_t n = colon ? (size_t)(colon + 2 - first) : 0;
    if (p->n_series == 1)
        return strlen(first);
    for (int s = 1; s < p->n_series; s++)
        if (strncmp(p->series[s].name, first, n) != 0)
            return 0;
    return n;
}

/* Adds to the kind's title the part of the names that is not needed in the legend. */
static void own_title(const struct plot *p, size_t skip, char *title, size_t size)
{
    const char *name = p->series[0].name;
    const size_t n = p->n_series > 1 && skip > 2 ? skip - 2 : skip;
    snprintf(title, size, skip ? "%s (%.*s)" : "%s", p->kind->title, (int)n, name);
}

int plot_check_out(const char *path)
{
    return form_of(path)
               ? 0
               : ERR(-EINVAL, "--out '%s': need a name that ends in .svg, .png, .pdf or .gp", path);
}

int plot_chart(const struct plot *p, const char *title, const char *path)
{
    const struct form *form = form_of(path);
    char own[PLOT_NAME + 96], size[64] = "", terminal[128];
    struct plot_look look = {.title = title};
    FILE *chart = NULL;
    TRY(plot_check_out(path));
    if (!title) {
        look.skip = p->kind->bars ? 0 : shared(p);
        own_title(p, look.skip, own, sizeof own);
        look.title = own;
    }
    if (form->terminal) {
        snprintf(size, sizeof size, form->terminal, 1000, plot_height(p, 600));
        snprintf(terminal, sizeof terminal, "%s background 'white' font 'sans,12'", size);
        look.terminal = terminal;
    }
    const int rc = form->terminal ? plot_draw(p, &look, &chart) : write_script(p, &look, &chart);
    if (rc == -ENOENT)
        return ERR(rc,
                   "cannot draw '%s': no gnuplot in PATH: install gnuplot-nox, leave out --out for "
                   "a table, or name a .gp file for the gnuplot program",
                   path);
    TRY(rc);
    if (!form->end || is_whole(chart, form->end))
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
    snprintf(terminal, sizeof terminal, "svg size 860,%d dynamic name 'chart%d' font 'sans,12'",
             plot_height(p, 440), number);
    const struct plot_look look = {.terminal = terminal};
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
