/* err.c : one line for every failure. The only state: what is held, and by whom; under a lock, since a
 * rank's threads may fail at once. */
#include "base/err.h"
#include "base/text.h"
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static struct err_lines err_own;
static _Thread_local struct err_lines *err_mine; /* NULL: err_own */
static pthread_mutex_t err_lock = PTHREAD_MUTEX_INITIALIZER;

static struct err_lines *lines(void)
{
    return err_mine ? err_mine : &err_own;
}

/* Says a line to whom it may concern. Not locked: the caller's function may take its time. */
static void put(const struct err_lines *err, bool error, const char *text)
{
    if (err->to)
        err->to(err->arg, error, text);
    else
        fprintf(stderr, "narrowcast: %s%s\n", error ? "" : "warning: ", text);
}

enum { TEXT_BYTES = 448 };

/* A line may quote a file, a peer or a name: no byte of theirs moves a cursor or ends the line. */
static void write_line(char text[TEXT_BYTES], const char *format, va_list ap)
{
    vsnprintf(text, TEXT_BYTES, format, ap);
    text_clean(text);
}

static void say(bool error, const char *format, va_list ap)
{
    struct err_lines *err = lines();
    char text[TEXT_BYTES];
    write_line(text, format, ap);
    pthread_mutex_lock(&err_lock);
    const bool held = err->held;
    if (held && (!err->full || (error && !err->full_of_error))) {
        snprintf(err->line, sizeof err->line, "%s", text);
        err->full = true;
        err->full_of_error = error;
    }
    if (error && !err->first[0])
        snprintf(err->first, sizeof err->first, "%s", text);
    pthread_mutex_unlock(&err_lock);
    if (!held)
        put(err, error, text);
}

int err_say(int code, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    say(true, format, ap);
    va_end(ap);
    return code;
}

void err_add(const char *format, ...)
{
    struct err_lines *err = lines();
    char text[TEXT_BYTES];
    va_list ap;
    va_start(ap, format);
    write_line(text, format, ap);
    va_end(ap);
    pthread_mutex_lock(&err_lock);
    if (err->held && err->full_of_error) {
        const bool is_first = strcmp(err->first, err->line) == 0;
        const size_t n = strlen(err->line);
        snprintf(err->line + n, sizeof err->line - n, "%s", text);
        if (is_first)
            memcpy(err->first, err->line, sizeof err->first);
    }
    pthread_mutex_unlock(&err_lock);
}

void err_warn(const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    say(false, format, ap);
    va_end(ap);
}

void err_news(const char *format, ...)
{
    char text[TEXT_BYTES];
    va_list ap;
    va_start(ap, format);
    write_line(text, format, ap);
    va_end(ap);
    put(lines(), false, text);
}

void err_hold(void)
{
    struct err_lines *err = lines();
    pthread_mutex_lock(&err_lock);
    err->held = true;
    pthread_mutex_unlock(&err_lock);
}

void err_release(bool print)
{
    struct err_lines *err = lines();
    char text[sizeof err->line];
    pthread_mutex_lock(&err_lock);
    const bool full = print && err->full, error = err->full_of_error;
    if (full)
        memcpy(text, err->line, sizeof text);
    err->held = err->full = err->full_of_error = false;
    pthread_mutex_unlock(&err_lock);
    if (full)
        put(err, error, text);
}

struct err_lines *err_turn(struct err_lines *mine)
{
    struct err_lines *before = err_mine;
    err_mine = mine;
    return before;
}
