/* plot_svg.c : a chart as a part of a page: what gnuplot draws, without what only a file of its own needs.
 * Names that it gives to shapes are the same in all charts: the first of a page defines them. */
#include "app/plot/plot.h"
#include "base/err.h"
#include <stdlib.h>
#include <string.h>

static bool begins_with(const char *line, const char *word)
{
    return !strncmp(line + strspn(line, "\t "), word, strlen(word));
}

/* A line that opens a group is kept back until the next one is there: many are empty. */
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

/* From <svg> on. Returns 0, or -EIO: it ends midway. */
static int copy(FILE *from, bool first, FILE *to)
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
        rc = copy(chart, number == 1, to);
        if (rc < 0)
            (void)ERR(rc, "cannot draw: gnuplot left off midway");
        fclose(chart);
    }
    return rc;
}
