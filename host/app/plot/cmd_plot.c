/* cmd_plot.c : runs `narrowcast plot`. */
#include "app/app.h"
#include "app/plot/plot.h"
#include "base/err.h"
#include "base/opt/opt.h"
#include <stdlib.h>

struct plot_options {
    const char *out, *title, *layers;
};

#define AT(field) offsetof(struct plot_options, field)
static const struct opt opts[] = {
    {"out", "FILE", NULL,
     "File of the chart: FILE.svg, FILE.png or FILE.pdf, drawn by gnuplot, or FILE.gp, the gnuplot "
     "program. Default: print a table.",
     TEXT_AT(out)},
    {"title", "TEXT", NULL,
     "Title of the chart. Default: what the kind shows, and the part that the names of all series "
     "share. An empty TEXT: no title.",
     TEXT_AT(title)},
    {"layers", "NAME,...", NULL,
     "Plot only the layers of these names from files of --stats. s1b0 selects all layers that "
     "begin with s1b0.",
     TEXT_AT(layers)},
};

static void list_kinds(FILE *to)
{
    fprintf(to, "\nkinds\n");
    for (const struct plot_kind *k = plot_kinds; k->name; k++)
        opt_help_row(to, k->name, k->about);
}

static const struct opt_command command = {
    .name = "plot",
    .args = "KIND FILE [FILE ...]",
    .min_args = 2,
    .max_args = 1 << 16,
    .about = "Draws a chart, or prints a table, of the JSON lines that trainings and benches have "
             "written.",
    .examples = "  host/ranks.sh 4 build/narrowcast train --format e3m0 --scale none \\\n"
                "      --log none.jsonl\n"
                "  host/ranks.sh 4 build/narrowcast train --format e3m0 --scale aps \\\n"
                "      --log aps.jsonl\n"
                "  build/narrowcast plot accuracy none.jsonl aps.jsonl --out accuracy.svg\n"
                "  build/narrowcast train --stats stats.jsonl\n"
                "  build/narrowcast plot exponents stats.jsonl --layers s0b0,classifier\n"
                "  build/narrowcast predict --json --size 64k --link 10G >predict.json\n"
                "  build/narrowcast plot predict predict.json --out predict.png\n",
    .opts = opts,
    .n_opts = sizeof opts / sizeof *opts,
    .more = list_kinds,
};

static int show(const struct plot *p, const struct plot_options *o)
{
    if (o->out)
        return plot_chart(p, o->title, o->out);
    plot_table(p, stdout);
    return 0;
}

int cmd_plot(int argc, char **argv)
{
    struct plot_options o = {0};
    struct opt_parsed parsed;
    TRY(opt_parse(&command, argc, argv, &o, &parsed));
    if (parsed.help)
        return opt_help(&command, &parsed, stdout), 0;
    const struct plot_kind *kind = plot_kind_of(parsed.args[0]);
    if (!kind)
        return -EINVAL;
    if (o.title && !o.out)
        return ERR(-EINVAL, "--title '%s' needs --out FILE: a table has no title", o.title);
    if (o.out)
        TRY(plot_check_out(o.out));
    struct plot *p = calloc(1, sizeof *p);
    if (!p)
        return ERR(-ENOMEM, "cannot plot: no memory");
    int rc = plot_read(p, kind, o.layers, parsed.args + 1, parsed.n_args - 1);
    if (rc == 0)
        rc = show(p, &o);
    plot_close(p);
    free(p);
    return rc;
}
