/* err.c : one line for every failure. The only state: whether lines are held, and the one that is (errors before
 * warnings, the first before later ones). */
#include "base/err.h"
#include <stdarg.h>
#include <stdio.h>

static struct {
    bool held, full, full_of_error;
    char line[512];
} err;

static void say(bool error, const char *format, va_list ap)
{
    char text[448];
    const char *kind = error ? "" : "warning: ";
    vsnprintf(text, sizeof text, format, ap);
    if (!err.held) {
        fprintf(stderr, "narrowcast: %s%s\n", kind, text);
    } else if (!err.full || (error && !err.full_of_error)) {
        snprintf(err.line, sizeof err.line, "narrowcast: %s%s\n", kind, text);
        err.full = true;
        err.full_of_error = error;
    }
}

int err_say(int code, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    say(true, format, ap);
    va_end(ap);
    return code;
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
    err.held = true;
}

void err_release(bool print)
{
    if (print && err.full)
        fputs(err.line, stderr);
    err.held = err.full = err.full_of_error = false;
}
