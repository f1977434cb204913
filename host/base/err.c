/* err.c : one line for every failure. The only state: what is held, and by whom; under a lock, since a
 * rank's threads may fail at once. */
#include "base/err.h"
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static struct err_lines err_own, *err = &err_own;
static pthread_mutex_t err_lock = PTHREAD_MUTEX_INITIALIZER;

static void say(bool error, const char *format, va_list ap)
{
    char text[448];
    const char *kind = error ? "" : "warning: ";
    vsnprintf(text, sizeof text, format, ap);
    pthread_mutex_lock(&err_lock);
    if (!err->held) {
        fprintf(stderr, "narrowcast: %s%s\n", kind, text);
    } else if (!err->full || (error && !err->full_of_error)) {
        snprintf(err->line, sizeof err->line, "narrowcast: %s%s\n", kind, text);
        err->full = true;
        err->full_of_error = error;
    }
    pthread_mutex_unlock(&err_lock);
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
    char text[448];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    pthread_mutex_lock(&err_lock);
    if (err->held && err->full_of_error) {
        const size_t n = strcspn(err->line, "\n");
        snprintf(err->line + n, sizeof err->line - n - 1, "%s", text);
        strcat(err->line, "\n");
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
    char text[448];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    fprintf(stderr, "narrowcast: warning: %s\n", text);
}

void err_hold(void)
{
    pthread_mutex_lock(&err_lock);
    err->held = true;
    pthread_mutex_unlock(&err_lock);
}

void err_release(bool print)
{
    pthread_mutex_lock(&err_lock);
    if (print && err->full)
        fputs(err->line, stderr);
    err->held = err->full = err->full_of_error = false;
    pthread_mutex_unlock(&err_lock);
}

struct err_lines *err_turn(struct err_lines *lines)
{
    pthread_mutex_lock(&err_lock);
    struct err_lines *before = err == &err_own ? NULL : err;
    err = lines ? lines : &err_own;
    pthread_mutex_unlock(&err_lock);
    return before;
}
