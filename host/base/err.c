/* err.c : one line for every failure. The only state: what is held, and by whom, and how many lines
 * about strangers were said; under a lock, since a rank's threads may fail at once. */
#include "base/err.h"
#include "base/clock.h"
#include "base/err_line.h"
#include "base/text.h"
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static struct err_lines err_own;
static _Thread_local struct err_lines *err_mine; /* NULL: err_own */
static pthread_mutex_t err_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    double since_s; /* when these began to be counted */
    int said;
    uint64_t unsaid, ever_unsaid;
} strangers;

static struct err_lines *lines(void)
{
    return err_mine ? err_mine : &err_own;
}

/* Says a line to whom it may concern. Not locked: the caller's function may take its time. */
static void put(const struct err_lines *err, bool error, const char *text)
{
    char line[ERR_LINE_BYTES / 2 + 64];
    if (err->to) {
        err->to(err->arg, error, text);
        return;
    }
    snprintf(line, sizeof line, "narrowcast: %s%s\n", error ? "" : "warning: ", text);
    err_line(line);
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

void err_note(const char *format, ...)
{
    char text[ERR_LINE_BYTES - 128];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text - 1, format, ap);
    va_end(ap);
    text_clean(text);
    strcat(text, "\n");
    err_line(text);
}

/* May one more line about strangers be said? *unsaid: how many were not, which is to be said first. */
static bool may_say(uint64_t *unsaid)
{
    const double now = clock_s();
    pthread_mutex_lock(&err_lock);
    if (!strangers.said || now - strangers.since_s >= ERR_STRANGERS_S) {
        strangers.said = 0;
        strangers.since_s = now;
    }
    const bool may = strangers.said < ERR_STRANGERS;
    *unsaid = may ? strangers.unsaid : 0;
    if (may) {
        strangers.said++;
        strangers.unsaid = 0;
    } else {
        strangers.unsaid++;
        strangers.ever_unsaid++;
    }
    pthread_mutex_unlock(&err_lock);
    return may;
}

static void say_unsaid(uint64_t n)
{
    if (n)
        err_warn("%llu more lines like these were left out", (unsigned long long)n);
}

int err_stranger(int code, const char *format, ...)
{
    uint64_t unsaid;
    va_list ap;
    if (!may_say(&unsaid))
        return code;
    say_unsaid(unsaid);
    va_start(ap, format);
    say(false, format, ap);
    va_end(ap);
    return code;
}

void err_strangers_end(void)
{
    pthread_mutex_lock(&err_lock);
    const uint64_t unsaid = strangers.unsaid;
    strangers.unsaid = 0;
    pthread_mutex_unlock(&err_lock);
    say_unsaid(unsaid);
}

uint64_t err_left_out(void)
{
    pthread_mutex_lock(&err_lock);
    const uint64_t n = strangers.ever_unsaid;
    pthread_mutex_unlock(&err_lock);
    return n + err_lines_left_out();
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
