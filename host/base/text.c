/* text.c : appends to bounded strings and decodes UTF-8. */
#include "base/text.h"
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct text text_in(char *to, size_t size)
{
    *to = 0;
    return (struct text){.to = to, .size = size};
}

void text_add(struct text *t, const char *format, ...)
{
    if (t->full)
        return;
    va_list ap;
    va_start(ap, format);
    const int n = vsnprintf(t->to + t->n, t->size - t->n, format, ap);
    va_end(ap);
    t->full = n < 0 || (size_t)n >= t->size - t->n;
    t->n += t->full ? strlen(t->to + t->n) : (size_t)n;
}

int text_character(const char *at, unsigned *code)
{
    static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *byte = (const unsigned char *)at;
    const int n = byte[0] < 0x80       ? 1
                  : byte[0] >> 5 == 6  ? 2
                  : byte[0] >> 4 == 14 ? 3
                  : byte[0] >> 3 == 30 ? 4
                                       : 0;
    unsigned number = n > 1 ? byte[0] & (0xffu >> (n + 1)) : byte[0];
    for (int i = 1; i < n; i++) {
        if (byte[i] >> 6 != 2)
            return 0;
        number = number << 6 | (byte[i] & 0x3f);
    }
    if (!n || number < least[n] || number > 0x10ffff || number >> 11 == 27) /* 27: surrogates */
        return 0;
    *code = number;
    return n;
}

int text_printable(const char *at)
{
    unsigned code;
    const int n = text_character(at, &code);
    return n && (code < 0x20 || (code >= 0x7f && code < 0xa0)) ? 0 : n;
}

void text_clean(char *text)
{
    for (char *at = text; *at;) {
        const int n = text_printable(at);
        if (n == 0)
            *at = '?';
        at += n ? n : 1;
    }
}

/* ---- strtod and snprintf in the C locale, which this thread enters for a moment ---- */

/* Needs no memory and no file, so it cannot fail. */
static locale_t enter_c(void)
{
    return uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
}

static void leave_c(locale_t before)
{
    freelocale(uselocale(before));
}

double number_read(const char *text, char **end)
{
    const locale_t before = enter_c();
    const double x = strtod(text, end);
    leave_c(before);
    return x;
}

const char *number_take(const char *text, double *x)
{
    const char *digits = text + (*text == '-' || *text == '+');
    const bool hex = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X');
    char *end;
    if (!(*digits >= '0' && *digits <= '9') && *digits != '.')
        return NULL;
    const double value = number_read(text, &end);
    if (hex || end == text || !isfinite(value))
        return NULL;
    *x = value;
    return end;
}

bool number_whole(const char *text, double *x)
{
    double value;
    const char *end = number_take(text, &value);
    if (!end || *end)
        return false;
    *x = value;
    return true;
}

int number_print(char *to, size_t size, int digits, double x)
{
    const locale_t before = enter_c();
    const int n = snprintf(to, size, "%.*g", digits, x);
    leave_c(before);
    return n;
}
