/* number.c : strtod and snprintf in the C locale, which costs this thread a moment in it. */
#include "base/number.h"
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

/* The locale "C" needs no memory and no file: it is always there. */
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

int number_print(char *to, size_t size, int digits, double x)
{
    const locale_t before = enter_c();
    const int n = snprintf(to, size, "%.*g", digits, x);
    leave_c(before);
    return n;
}
