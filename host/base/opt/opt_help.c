/* opt_help.c : prints the help of a subcommand from its table of options. */
#include "base/plugin.h"
#include "base/err.h"
#include "base/opt/opt.h"
#include <stdlib.h>
#include <string.h>

enum { COLUMN = 26, WIDTH = 80 }; /* start of explanations; line width */

static int wrap(FILE *to, const char *text, int at, int indent)
{
    while (*text && *text != '\n') {
        int n = (int)strcspn(text, " \n");
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

static void paragraphs(FILE *to, const char *text)
{
    while (*text) {
        const int n = (int)strcspn(text, "\n");
        if (*text == ' ')
            fprintf(to, "%.*s", n, text);
        else
            wrap(to, text, 0, 0);
        fputc('\n', to);
        text += n + (text[n] == '\n');
    }
}

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
    if (o->fallback || o->type == OPT_FLAG || !strcasestr(o->help, "default"))
        wrap(to, fallback, at, COLUMN);
    fputc('\n', to);
}

static void write_help(const struct opt_command *cmd, bool shared, FILE *to)
{
    const int first = shared ? 0 : cmd->n_shared;
    fprintf(to, "usage: %s%s%s%s%s\n\n", cmd->alone ? "" : "narrowcast ", cmd->name,
            cmd->n_opts ? " [options]" : "", *cmd->args ? " " : "", cmd->args);
    paragraphs(to, cmd->about);
    if (cmd->n_opts && cmd->opts[first].type != OPT_GROUP)
        fprintf(to, "\noptions\n");
    for (int i = first; i < cmd->n_opts; i++)
        if (cmd->opts[i].type == OPT_GROUP)
            fprintf(to, "\n%s\n", cmd->opts[i].name);
        else
            help_option(&cmd->opts[i], to);
    if (cmd->more && (shared || !cmd->shared))
        cmd->more(to);
    if (cmd->shared)
        fprintf(to, "\nOptions of %s: see `narrowcast %s --help`.\n", cmd->shared, cmd->shared);
    fprintf(to, "\nDefaults are in brackets, or in the text of the option.\n"
                "`--name value` and `--name=value` are equivalent. The last of a repeated option\n"
                "counts. `--help WORD` prints only one option, section or row.\n");
    if (cmd->examples)
        fprintf(to, "\nexamples\n%s", cmd->examples);
}

/* The caller frees the result. */
static char *help_text(const struct opt_command *cmd, bool shared)
{
    char *text = NULL;
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);
    if (!f)
        return NULL;
    write_help(cmd, shared, f);
    if (!fclose(f))
        return text;
    free(text);
    return NULL;
}

struct help_line {
    const char *text, *next;
    size_t n;
    bool headline, row; /* row: first line of an option, or of a word in a list */
};

static struct help_line line_at(const char *at, const struct help_line *before)
{
    struct help_line line = {.text = at, .n = strcspn(at, "\n")};
    line.next = at + line.n + (at[line.n] == '\n');
    line.headline =
        before && before->n == 0 && line.n > 0 && *at != ' ' && !strncmp(line.next, "  ", 2);
    line.row = line.n > 2 && !strncmp(at, "  ", 2) && at[2] != ' ';
    return line;
}

static bool has_words(const struct help_line *line, const char *words)
{
    char text[128];
    snprintf(text, sizeof text, "%.*s", (int)line->n, line->text);
    return strcasestr(text, words) != NULL;
}

/* Row " --lr X" matches lr, row " qsgd:B" matches qsgd. */
static bool is_of(const struct help_line *row, const char *dashes, const char *word)
{
    const size_t d = strlen(dashes), n = strlen(word);
    return row->row && !strncmp(row->text + 2, dashes, d) &&
           !strncasecmp(row->text + 2 + d, word, n) && strchr(" :[\n", row->text[2 + d + n]);
}

/* `list` looks like "a|b:X|c" or "a[:X] (why), b or c.", up to a full stop. */
static bool lists(const char *list, const char *word)
{
    const size_t n = strlen(word);
    const bool blanks = strcspn(list, ",;") > strcspn(list, ".");
    while (*list && strncmp(list, ". ", 2) != 0) {
        const size_t k = strcspn(list, " |,:[=.");
        const char *end = list + k;
        const bool ends = blanks || *end != ' ' || end[1] == '(' || !strncmp(end, " or ", 4);
        if (k == n && ends && !strncasecmp(list, word, n))
            return true;
        list += strcspn(list, " |,");
        list += strspn(list, " |,");
        if (*list == '(')
            list += strcspn(list, ")");
    }
    return false;
}

static bool is_value(const struct opt *o, const char *word)
{
    static const char begin[] = "One of ";
    const char *list = o->type == OPT_GROUP ? NULL : strstr(o->help, begin);
    return (list && lists(list + strlen(begin), word)) ||
           (o->type == OPT_CHOICE && lists(o->metavar, word));
}

enum topic_kind { TOPIC_OPTION, TOPIC_ROW, TOPIC_VALUE, TOPIC_SECTION, TOPIC_NONE };

enum { SHORT_WORD = 3 }; /* letters: "the" is part of many titles */

static bool is_title(const struct help_line *title, const char *word)
{
    return has_words(title, word) && (title->n == strlen(word) || strlen(word) > SHORT_WORD);
}

static bool print_topic(const char *text, const char *word, enum topic_kind kind, FILE *to)
{
    char option[64];
    struct help_line line, before = {.n = 1};
    bool found = false, in_section = false, in_row = false;
    snprintf(option, sizeof option, "--%s", word);
    for (const char *at = text; *at; at = line.next, before = line) {
        line = line_at(at, at > text ? &before : NULL);
        if (line.headline)
            in_section = kind == TOPIC_OPTION ? has_words(&line, option) : is_title(&line, word);
        in_section &= line.n > 0;
        if (line.row || line.n == 0)
            in_row = is_of(&line, kind == TOPIC_OPTION ? "--" : "", word);
        if ((kind != TOPIC_ROW && in_section) || (kind != TOPIC_SECTION && in_row)) {
            found |= kind != TOPIC_OPTION || in_row;
            if (to)
                fprintf(to, "%s%.*s\n", found && line.headline ? "\n" : "", (int)line.n, line.text);
        }
    }
    return found;
}

/* The order is: an option, a row of a list, options that accept the word as a value, a section. If
 * `to` is NULL, the text is only searched, as in print_topic(). */
static bool print_word(const struct opt_command *cmd, const char *text, const char *word, FILE *to)
{
    char head[64];
    snprintf(head, sizeof head, "%.*s", (int)strcspn(word, ":=["), word);
    for (int kind = TOPIC_OPTION; kind < TOPIC_NONE; kind++) {
        const char *topic = kind == TOPIC_SECTION ? word : head;
        bool found = kind != TOPIC_VALUE && print_topic(text, topic, (enum topic_kind)kind, NULL);
        if (found && to)
            (void)print_topic(text, topic, (enum topic_kind)kind, to);
        for (int i = 0; i < cmd->n_opts && kind == TOPIC_VALUE; i++)
            if (is_value(&cmd->opts[i], head))
                found |= print_topic(text, cmd->opts[i].name, TOPIC_OPTION, to);
        if (found)
            return true;
    }
    return false;
}

bool opt_help_has(const struct opt_command *cmd, const char *word)
{
    char *text = help_text(cmd, true);
    const bool has = text && *word && print_word(cmd, text, word, NULL);
    free(text);
    return has;
}

int opt_help_check(const struct opt_command *cmd, const char *topic)
{
    const char *names[OPT_MAX], *word = topic + strspn(topic, "-");
    if (opt_help_has(cmd, word))
        return 0;
    const char *nearest = *word ? opt_nearest(word, names, opt_names(cmd, names)) : NULL;
    return ERR(-EINVAL, "no option, section or row '%s' in '%s%s --help'%s%s%s", topic,
               cmd->alone ? "" : "narrowcast ", cmd->name, nearest ? ": did you mean '" : "",
               nearest ? nearest : "", nearest ? "'?" : "");
}

void opt_help(const struct opt_command *cmd, const struct opt_parsed *parsed, FILE *to)
{
    char *text = help_text(cmd, parsed->topic != NULL);
    if (!text)
        return;
    if (parsed->topic) {
        const char *word = parsed->topic + strspn(parsed->topic, "-");
        char *part = NULL;
        size_t bytes;
        FILE *f = open_memstream(&part, &bytes);
        if (f) {
            print_word(cmd, text, word, f);
            fclose(f);
            opt_print(to, part + (*part == '\n'));
            free(part);
        }
    } else {
        opt_print(to, text);
    }
    free(text);
}

void opt_print(FILE *to, const char *text)
{
    static const char script[] = "host/ranks.sh", folder[] = "build/", bench[] = "build/bench_";
    const bool installed = beside_installed();
    while (installed && *text) {
        const char *end = text + strcspn(text, "\n"), *of_bench = strstr(text, bench);
        if (!strncmp(text, script, strlen(script)))
            fputs("mpirun -np", to), text += strlen(script);
        else if (!strncmp(text, folder, strlen(folder)))
            text += strlen(folder);
        else if (text[0] == '\n' && of_bench && of_bench < end + 1 + strcspn(end + 1, "\n"))
            text = end + 1 + strcspn(end + 1, "\n"); /* benches are not installed */
        else
            fputc(*text++, to);
    }
    fputs(text, to);
}
