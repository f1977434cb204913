/* page_command.c : the command that a log's first line tells of: of the options those that are not the
 * defaults. */
#include "app/plot/page.h"
#include "app/train/train_options.h"
#include "base/number.h"
#include <math.h>
#include <string.h>

/* A word as a shell reads it. */
static void add_word(struct text *to, const char *word)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
    if (*word && !word[strspn(word, plain)]) {
        text_add(to, "%s", word);
        return;
    }
    text_add(to, "'");
    for (const char *c = word; *c; c++)
        text_add(to, *c == '\'' ? "'\\''" : "%c", *c);
    text_add(to, "'");
}

/* Does the log's value say what no word of a command says: that the option was not given? Numbers below
 * their range do (--epochs beside --steps). */
static bool is_default(const struct opt *o, const char *value)
{
    struct train_options defaults = {0};
    char number[OPT_NUMBER];
    if (!*value || (o->type == OPT_FLAG && strcmp(value, "true") != 0))
        return true;
    if (o->type == OPT_FLAG)
        return false;
    if (o->fallback && opt_set(o, o->fallback, &defaults))
        return false;
    const bool is_number = o->type == OPT_INT || o->type == OPT_SIZE || o->type == OPT_REAL;
    return !strcmp(value, opt_get(o, &defaults, number)) ||
           (is_number && (o->min != 0 || o->max != 0) && number_read(value, NULL) < o->min);
}

void page_command(const struct page_run *r, struct text *to)
{
    const bool emulated = !strcmp(r->command, "emulate");
    if (emulated)
        text_add(to, "narrowcast emulate --ranks %.0f", r->ranks);
    else if (r->ranks > 1)
        text_add(to, "mpirun -np %.0f narrowcast train", r->ranks);
    else
        text_add(to, "narrowcast train");
    for (int i = 0; i < train_command.n_opts && r->option; i++) {
        const struct opt *o = &train_command.opts[i];
        if (o->type == OPT_GROUP || is_default(o, r->option[i]))
            continue;
        text_add(to, " --%s", o->name);
        if (o->type == OPT_FLAG)
            continue;
        text_add(to, " ");
        add_word(to, r->option[i]);
    }
}
