/* opt_lines.c : all values of a table as lines, and what two such texts differ in. */
#include "base/opt/opt.h"
#include <string.h>

const char *opt_key(const struct opt *o, char key[OPT_KEY])
{
    snprintf(key, OPT_KEY, "%s", o->name);
    for (char *c = key; *c; c++)
        if (*c == '-')
            *c = '_';
    return key;
}

void opt_lines(const struct opt_command *cmd, const void *values, unsigned mark, struct text *to)
{
    char number[OPT_NUMBER];
    for (int i = 0; i < cmd->n_opts; i++) {
        const struct opt *o = &cmd->opts[i];
        if (o->type != OPT_GROUP && (!mark || o->mark & mark))
            text_add(to, "%s=%s\n", o->name, opt_get(o, values, number));
    }
}

/* The value of the line that begins like `line`, up to its '='; "" when there is none. */
static const char *look_up(const char *lines, const char *line)
{
    const size_t n = strcspn(line, "=\n");
    for (; *lines; lines += strcspn(lines, "\n"), lines += *lines == '\n')
        if (!strncmp(lines, line, n) && lines[n] == '=')
            return lines + n + 1;
    return "";
}

static void put(char *to, size_t size, const char *from, const char *end_marks)
{
    size_t n = strcspn(from, end_marks);
    n = n < size ? n : size - 1;
    memcpy(to, from, n);
    to[n] = 0;
}

/* The first line of a that b does not have: NULL, or where it begins; both values. */
static const char *first_missing(const char *a, const char *b, const char **value_a,
                                 const char **value_b)
{
    for (; *a; a += strcspn(a, "\n"), a += *a == '\n') {
        *value_a = a + strcspn(a, "=\n") + (a[strcspn(a, "=\n")] == '=');
        *value_b = look_up(b, a);
        const size_t n = strcspn(*value_a, "\n");
        if (n != strcspn(*value_b, "\n") || strncmp(*value_a, *value_b, n))
            return a;
    }
    return NULL;
}

bool opt_lines_differ(const char *mine, const char *theirs, struct opt_difference *first)
{
    const char *value_mine, *value_theirs,
        *line = first_missing(mine, theirs, &value_mine, &value_theirs);
    if (!line)
        line = first_missing(theirs, mine, &value_theirs, &value_mine);
    if (!line)
        return false;
    put(first->name, sizeof first->name, line, "=\n");
    put(first->mine, sizeof first->mine, value_mine, "\n");
    put(first->theirs, sizeof first->theirs, value_theirs, "\n");
    return true;
}
