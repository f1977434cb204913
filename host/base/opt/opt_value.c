/* opt_value.c : converts an option's value from and to text. */
#include "base/opt/opt.h"
#include "base/err.h"
#include "base/text.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static int bad(const struct opt *o, const char *text, const char *want)
{
    return ERR(-EINVAL, "--%s '%s': must be %s", o->name, text, want);
}

static int check_range(const struct opt *o, const char *text, double x)
{
    if ((o->min == 0 && o->max == 0) || (x >= o->min && x <= o->max))
        return 0;
    /* no practical upper limit: mention only the violated one */
    if (o->max >= 9e15)
        return x < o->min ? ERR(-EINVAL, "--%s '%s': must be at least %.15g", o->name, text, o->min)
                          : ERR(-EINVAL, "--%s '%s': must be at most %.9g", o->name, text, o->max);
    return ERR(-EINVAL, "--%s '%s': must be from %.15g to %.15g", o->name, text, o->min, o->max);
}

static int set_int(const struct opt *o, const char *text, int64_t *to)
{
    char *end;
    errno = 0;
    long long x = strtoll(text, &end, 10);
    if (isspace((unsigned char)*text) || end == text || *end)
        return bad(o, text, "a whole number");
    TRY(check_range(o, text, (double)x)); /* beyond 64 bits x is the nearest number */
    if (errno)
        return bad(o, text, "a whole number of 64 bits");
    *to = x;
    return 0;
}

static int set_size(const struct opt *o, const char *text, uint64_t *to)
{
    static const char suffixes[] = "KMG";
    char *end;
    errno = 0;
    unsigned long long x = strtoull(text, &end, 10);
    if (!isdigit((unsigned char)*text)) /* strtoull would take "-1" */
        return bad(o, text, "a whole number of at least 0 (64k, 4M and 1G also work)");
    const char *suffix = *end ? strchr(suffixes, toupper((unsigned char)*end)) : NULL;
    int shift = suffix ? 10 * (int)(suffix - suffixes + 1) : 0;
    if (*end && (!suffix || end[1]))
        return bad(o, text, "a whole number of at least 0 (64k, 4M and 1G also work)");
    const bool over = errno || x > UINT64_MAX >> shift;
    TRY(check_range(o, text, over ? 0x1p64 : (double)(x << shift)));
    if (over)
        return bad(o, text, "a number below 2^64");
    *to = x << shift;
    return 0;
}

static int set_real(const struct opt *o, const char *text, double *to)
{
    double x;
    if (!number_whole(text, &x))
        return bad(o, text, "a finite number");
    TRY(check_range(o, text, x));
    *to = x;
    return 0;
}

static int set_choice(const struct opt *o, const char *text, const char **to)
{
    size_t n = strlen(text);
    for (const char *word = o->metavar; word; word = strchr(word, '|')) {
        word += *word == '|';
        if (n && !strncmp(word, text, n) && (word[n] == '|' || !word[n])) {
            *to = text;
            return 0;
        }
    }
    char guess[OPT_GUESS];
    return ERR(-EINVAL, "--%s '%s': must be one of %s%s", o->name, text, o->metavar,
               opt_guess(text, o->metavar, guess));
}

static int set_flag(const struct opt *o, const char *text, bool *to)
{
    if (strcmp(text, "yes") && strcmp(text, "no"))
        return bad(o, text, "yes or no (or leave the value out)");
    *to = *text == 'y';
    return 0;
}

int opt_set(const struct opt *o, const char *text, void *values)
{
    void *to = (char *)values + o->at;
    switch (o->type) {
    case OPT_FLAG:
        return set_flag(o, text, to);
    case OPT_INT:
        return set_int(o, text, to);
    case OPT_SIZE:
        return set_size(o, text, to);
    case OPT_REAL:
        return set_real(o, text, to);
    case OPT_CHOICE:
        return set_choice(o, text, to);
    case OPT_TEXT:
        *(const char **)to = text;
        return 0;
    case OPT_GROUP:
        break;
    }
    return 0;
}

static void print_real(double x, char text[OPT_NUMBER])
{
    for (int digits = 6; digits <= 17; digits++) {
        number_print(text, OPT_NUMBER, digits, x);
        if (number_read(text, NULL) == x)
            break;
    }
}

const char *opt_get(const struct opt *o, const void *values, char number[OPT_NUMBER])
{
    const void *from = (const char *)values + o->at;
    const char *text = number;
    switch (o->type) {
    case OPT_INT:
        snprintf(number, OPT_NUMBER, "%lld", (long long)*(const int64_t *)from);
        break;
    case OPT_SIZE:
        snprintf(number, OPT_NUMBER, "%llu", (unsigned long long)*(const uint64_t *)from);
        break;
    case OPT_REAL:
        print_real(*(const double *)from, number);
        break;
    case OPT_FLAG:
        text = *(const bool *)from ? "yes" : "no";
        break;
    case OPT_TEXT:
    case OPT_CHOICE:
        text = *(const char *const *)from;
        break;
    case OPT_GROUP:
        text = NULL;
        break;
    }
    return text ? text : "";
}

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

/* Both texts have lines NAME=VALUE. */
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
