/* jsonl.c : writes JSON lines. */
#include "base/jsonl.h"
#include "base/err.h"
#include "base/file.h"
#include "base/text.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

static int failed(struct jsonl *j, int code)
{
    if (!j->failed)
        ERR(-code, "cannot write '%s': %s", j->path, strerror(code));
    j->failed = true;
    return -code;
}

int jsonl_open(struct jsonl *j, const char *path, bool append)
{
    FILE *f = file_writer(path, append);
    if (!f)
        return ERR(-errno, "cannot open '%s': %s", path, file_why(errno));
    *j = (struct jsonl){.f = f, .path = path};
    return 0;
}

void jsonl_to(struct jsonl *j, FILE *f)
{
    *j = (struct jsonl){.f = f, .path = "output"};
}

int jsonl_close(struct jsonl *j)
{
    FILE *f = j->f;
    j->f = NULL;
    return f && fclose(f) ? failed(j, errno) : 0;
}

/* Invalid UTF-8, which JSON cannot contain, becomes U+FFFD. */
static void quoted(FILE *f, const char *text)
{
    unsigned code;
    fputc('"', f);
    for (const char *at = text; *at;) {
        const int n = text_character(at, &code);
        if (n == 0)
            fputs("\\ufffd", f);
        else if (!text_printable(at))
            fprintf(f, "\\u%04x", code);
        else {
            fputs(code == '"' || code == '\\' ? "\\" : "", f);
            fwrite(at, 1, (size_t)n, f);
        }
        at += n ? n : 1;
    }
    fputc('"', f);
}

static void key_of(struct jsonl *j, const char *key)
{
    fputs(j->first ? "" : ",", j->f);
    quoted(j->f, key);
    fputc(':', j->f);
    j->first = false;
}

void jsonl_begin(struct jsonl *j, const char *kind)
{
    fputc('{', j->f);
    j->first = true;
    jsonl_text(j, "kind", kind);
}

void jsonl_text(struct jsonl *j, const char *key, const char *value)
{
    key_of(j, key);
    if (value)
        quoted(j->f, value);
    else
        fputs("null", j->f);
}

void jsonl_real(struct jsonl *j, const char *key, double value)
{
    key_of(j, key);
    char digits[32] = "null";
    if (isfinite(value))
        number_print(digits, sizeof digits, 9, value);
    fputs(digits, j->f);
}

void jsonl_number(struct jsonl *j, const char *key, const char *digits)
{
    key_of(j, key);
    fputs(digits, j->f);
}

void jsonl_uint(struct jsonl *j, const char *key, uint64_t value)
{
    key_of(j, key);
    fprintf(j->f, "%" PRIu64, value);
}

void jsonl_int(struct jsonl *j, const char *key, int64_t value)
{
    key_of(j, key);
    fprintf(j->f, "%" PRId64, value);
}

void jsonl_bool(struct jsonl *j, const char *key, bool value)
{
    key_of(j, key);
    fputs(value ? "true" : "false", j->f);
}

int jsonl_end(struct jsonl *j)
{
    return jsonl_line(j, "}\n", 2);
}

int jsonl_line(struct jsonl *j, const char *line, size_t n)
{
    errno = 0;
    fwrite(line, 1, n, j->f);
    return fflush(j->f) || ferror(j->f) ? failed(j, errno ? errno : EIO) : 0;
}
