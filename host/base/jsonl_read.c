/* jsonl_read.c : reads JSON lines from untrusted files. */
#include "base/jsonl_read.h"
#include "base/err.h"
#include "base/text.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

int jsonl_in_open(struct jsonl_in *in, const char *path)
{
    *in = (struct jsonl_in){.path = path};
    FILE *f = fopen(path, "r");
    if (!f)
        return ERR(-errno, "cannot open '%s': %s", path, strerror(errno));
    in->f = f;
    in->line = malloc(JSONL_LINE_MAX + 1);
    in->fields = malloc(JSONL_FIELDS_MAX * sizeof *in->fields);
    if (in->line && in->fields)
        return 0;
    jsonl_in_close(in);
    return ERR(-ENOMEM, "cannot read '%s': no memory", path);
}

void jsonl_in_close(struct jsonl_in *in)
{
    if (in->f)
        fclose(in->f);
    free(in->line);
    free(in->fields);
    *in = (struct jsonl_in){.path = in->path};
}

/* ---- JSON: functions get an item's start and return its end, or NULL for another kind ---- */

static const char *spaces(const char *at)
{
    while (*at == ' ' || *at == '\t' || *at == '\r')
        at++;
    return at;
}

static const char *text_end(const char *at)
{
    if (*at++ != '"')
        return NULL;
    while (*at && *at != '"')
        at += *at == '\\' && at[1] ? 2 : 1;
    return *at ? at + 1 : NULL;
}

static const char *digits_end(const char *at)
{
    const char *end = at + strspn(at, "0123456789");
    return end > at ? end : NULL;
}

static const char *number_end(const char *at)
{
    const char *end = digits_end(at + (*at == '-'));
    if (end && *end == '.')
        end = digits_end(end + 1);
    if (end && (*end == 'e' || *end == 'E'))
        end = digits_end(end + 1 + (end[1] == '+' || end[1] == '-'));
    return end;
}

static const char *word_end(const char *at)
{
    static const char *const words[] = {"true", "false", "null"};
    for (int i = 0; i < 3; i++)
        if (!strncmp(at, words[i], strlen(words[i])))
            return at + strlen(words[i]);
    return number_end(at);
}

/* The only check of nested lists and objects: jsonl_in_list(), jsonl_member() and jsonl_item() rely
 * on it. */
static const char *value_end(const char *at, int depth)
{
    if (*at == '"')
        return text_end(at);
    if (*at != '[' && *at != '{')
        return word_end(at);
    const char close = *at == '[' ? ']' : '}';
    const bool pairs = close == '}';
    if (depth == JSONL_DEPTH_MAX)
        return NULL;
    at = spaces(at + 1);
    if (*at == close)
        return at + 1;
    for (;;) {
        if (pairs) {
            at = text_end(at);
            at = at ? spaces(at) : at;
            if (!at || *at != ':')
                return NULL;
            at = spaces(at + 1);
        }
        at = value_end(at, depth + 1);
        at = at ? spaces(at) : at;
        if (!at || (*at != ',' && *at != close))
            return NULL;
        if (*at == close)
            return at + 1;
        at = spaces(at + 1);
    }
}

enum { NO_OBJECT = -1, MANY_KEYS = -2 };

/* Returns the number of fields, or one of these. */
static int find_fields(struct jsonl_in *in)
{
    const char *at = spaces(in->line);
    int n = 0;
    if (*at != '{' || !value_end(at, 0) || *spaces(value_end(at, 0)))
        return NO_OBJECT;
    at = spaces(at + 1);
    while (*at != '}') {
        if (n == JSONL_FIELDS_MAX)
            return MANY_KEYS;
        struct jsonl_field *f = &in->fields[n++];
        const char *end = text_end(at);
        f->key = at + 1;
        f->key_bytes = (size_t)(end - at) - 2;
        f->value = spaces(spaces(end) + 1);
        end = value_end(f->value, 1);
        f->value_bytes = (size_t)(end - f->value);
        at = spaces(end);
        at = *at == ',' ? spaces(at + 1) : at;
    }
    return n;
}

/* Returns 0 at the end or at a torn last line, else 1 or an error. */
static int read_line(struct jsonl_in *in)
{
    size_t n = 0;
    int c;
    errno = 0;
    while ((c = getc_unlocked(in->f)) != EOF && c != '\n') {
        if (c == '\0' || n == JSONL_LINE_MAX)
            return ERR(-EINVAL, "cannot read '%s', line %llu: %s", in->path,
                       (unsigned long long)in->line_no + 1,
                       c ? "it is longer than 1 MiB" : "it is not text");
        in->line[n++] = (char)c;
    }
    if (ferror(in->f))
        return ERR(errno ? -errno : -EIO, "cannot read '%s': %s", in->path,
                   strerror(errno ? errno : EIO));
    in->line[n] = '\0';
    in->line_no++;
    if (c == EOF && n > 0)
        return find_fields(in) >= 0;
    return c != EOF;
}

static bool is_deep(const char *at)
{
    int depth = 0;
    while (*at && depth <= JSONL_DEPTH_MAX) {
        const char *end = text_end(at);
        depth += (*at == '[' || *at == '{') - (*at == ']' || *at == '}');
        at = end ? end : at + 1;
    }
    return depth > JSONL_DEPTH_MAX;
}

static int refuse(const struct jsonl_in *in, int fault)
{
    static const char mark[] = "\xef\xbb\xbf";
    char why[64] = "need a JSON object on each line";
    if (fault == MANY_KEYS)
        snprintf(why, sizeof why, "need a JSON object with at most %d keys", JSONL_FIELDS_MAX);
    else if (is_deep(in->line))
        snprintf(why, sizeof why, "need a JSON object nested at most %d deep", JSONL_DEPTH_MAX);
    else if (!strncmp(in->line, mark, strlen(mark)))
        snprintf(why, sizeof why, "need a JSON object, without a byte order mark before it");
    return ERR(-EINVAL, "cannot read '%s', line %llu: %s", in->path,
               (unsigned long long)in->line_no, why);
}

int jsonl_in_next(struct jsonl_in *in)
{
    in->n_fields = 0;
    do {
        const int rc = read_line(in);
        if (rc <= 0)
            return rc;
    } while (!*spaces(in->line));
    const int n = find_fields(in);
    if (n < 0)
        return refuse(in, n);
    in->n_fields = n;
    return 1;
}

static const struct jsonl_field *find(const struct jsonl_in *in, const char *key)
{
    for (int i = 0; i < in->n_fields; i++)
        if (in->fields[i].key_bytes == strlen(key) &&
            !memcmp(in->fields[i].key, key, in->fields[i].key_bytes))
            return &in->fields[i];
    return NULL;
}

bool jsonl_in_text(const struct jsonl_in *in, const char *key, char *to, size_t size)
{
    const struct jsonl_field *f = find(in, key);
    if (!f || *f->value != '"')
        return false;
    snprintf(to, size, "%.*s", (int)f->value_bytes - 2, f->value + 1);
    return true;
}

bool jsonl_in_raw(const struct jsonl_in *in, const char *key, char *to, size_t size)
{
    const struct jsonl_field *f = find(in, key);
    if (!f)
        return false;
    snprintf(to, size, "%.*s", (int)f->value_bytes, f->value);
    return true;
}

static char unescape(const char *at, size_t *n)
{
    static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
    const char *known = *at ? strchr(from, *at) : NULL;
    unsigned code;
    *n = *at != 0;
    if (*at != 'u')
        return known ? to[known - from] : *at;
    if (strlen(at) < 5 || sscanf(at + 1, "%4x", &code) != 1)
        return '?';
    *n = 5;
    return code > 0 && code < 0x80 ? (char)code : '?';
}

void jsonl_in_plain(char *text)
{
    const size_t bytes = strlen(text);
    char *to = text;
    if (*text != '"')
        return;
    for (const char *at = text + 1; at < text + bytes && *at != '"';) {
        size_t n = 1;
        const bool escaped = *at == '\\';
        *to++ = escaped ? unescape(at + 1, &n) : *at;
        at += n + escaped;
    }
    *to = '\0';
}

bool jsonl_in_real(const struct jsonl_in *in, const char *key, double *to)
{
    const struct jsonl_field *f = find(in, key);
    const double x = f && number_end(f->value) ? number_read(f->value, NULL) : (double)NAN;
    if (!isfinite(x))
        return false;
    *to = x;
    return true;
}

bool jsonl_in_list(const struct jsonl_in *in, const char *key, double *to, size_t most, size_t *n)
{
    const struct jsonl_field *f = find(in, key);
    if (!f || *f->value != '[')
        return false;
    size_t got = 0;
    for (const char *at = spaces(f->value + 1); *at != ']'; got++) {
        if (!number_end(at) && strncmp(at, "null", 4))
            return false;
        if (got < most)
            to[got] = number_end(at) ? number_read(at, NULL) : (double)NAN;
        at = spaces(value_end(at, 1));
        at = *at == ',' ? spaces(at + 1) : at;
    }
    *n = got;
    return true;
}

bool jsonl_in_is(const struct jsonl_in *in, const char *kind)
{
    const struct jsonl_field *f = find(in, "kind");
    return f && *f->value == '"' && f->value_bytes == strlen(kind) + 2 &&
           !memcmp(f->value + 1, kind, f->value_bytes - 2);
}

const char *jsonl_in_value(const struct jsonl_in *in, const char *key)
{
    const struct jsonl_field *f = find(in, key);
    return f ? f->value : NULL;
}

const char *jsonl_member(const char *object, const char *key)
{
    const size_t bytes = strlen(key);
    if (*object != '{')
        return NULL;
    for (const char *at = spaces(object + 1); *at != '}';) {
        const char *end = text_end(at), *value = spaces(spaces(end) + 1);
        if ((size_t)(end - at) == bytes + 2 && !memcmp(at + 1, key, bytes))
            return value;
        at = spaces(value_end(value, 1));
        at = *at == ',' ? spaces(at + 1) : at;
    }
    return NULL;
}

const char *jsonl_item(const char **at)
{
    if (**at != '[' && **at != ',')
        return NULL;
    const char *item = spaces(*at + 1);
    if (*item == ']')
        return NULL;
    *at = spaces(value_end(item, 1));
    return item;
}
