/* opt_help.c : the help of a subcommand, printed from its table of options. */
#include "base/opt.h"
#include <string.h>

enum { COLUMN = 30, WIDTH = 110 }; /* where explanations begin, where lines end */

/* Prints words from column `at` on, wrapped, further lines beginning at `indent`; returns the
 * column it ends in. */
static int wrap(FILE *to, const char *text, int at, int indent)
{
    while (*text) {
        int n = (int)strcspn(text, " ");
        if (at > indent && at + 1 + n > WIDTH) {
            fprintf(to, "\n%*s", indent, "");
            at = indent;
        }
        bool space = at > indent;
        fprintf(to, "%s%.*s", space ? " " : "", n, text);
        at += n + space;
        text += n;
        text += strspn(text, " ");
    }
    return at;
}

/* Behind a word that ends in column `at`; returns the column it ends in. */
static int explain(FILE *to, int at, const char *help)
{
    if (at + 2 > COLUMN) {
        fputc('\n', to);
        at = 0;
    }
    fprintf(to, "%*s", COLUMN - at, "");
    return wrap(to, help, COLUMN, COLUMN);
}

void opt_help_row(FILE *to, const char *word, const char *help)
{
    explain(to, fprintf(to, "  %s", word), help);
    fputc('\n', to);
}

static void help_option(const struct opt *o, FILE *to)
{
    int at =
        fprintf(to, "  --%s%s%s", o->name, o->metavar ? " " : "", o->metavar ? o->metavar : "");
    at = explain(to, at, o->help);
    char fallback[128];
    snprintf(fallback, sizeof fallback, "[%s]",
             o->fallback           ? o->fallback
             : o->type == OPT_FLAG ? "no"
                                   : "none");
    wrap(to, fallback, at, COLUMN);
    fputc('\n', to);
}

void opt_help(const struct opt_command *cmd, FILE *to)
{
    fprintf(to, "usage: %s%s%s%s%s\n\n%s\n", cmd->alone ? "" : "narrowcast ", cmd->name,
            cmd->n_opts ? " [options]" : "", *cmd->args ? " " : "", cmd->args, cmd->about);
    if (cmd->n_opts && cmd->opts[0].type != OPT_GROUP)
        fprintf(to, "\noptions\n");
    for (int i = 0; i < cmd->n_opts; i++)
        if (cmd->opts[i].type == OPT_GROUP)
            fprintf(to, "\n%s\n", cmd->opts[i].name);
        else
            help_option(&cmd->opts[i], to);
    if (cmd->more)
        cmd->more(to);
    fprintf(to, "\nDefaults stand in brackets. `--name value` and `--name=value` are the same.\n");
    if (cmd->examples)
        fprintf(to, "\nexamples\n%s", cmd->examples);
}
