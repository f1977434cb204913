/* info.c : adds a fact for `narrowcast info`. */
#include "app/doctor/info.h"
#include "base/text.h"
#include <stdarg.h>
#include <stdio.h>

void info_add(struct info *info, const char *key, const char *format, ...)
{
    if (info->n == INFO_MAX)
        return;
    struct info_fact *fact = &info->facts[info->n++];
    va_list ap;
    va_start(ap, format);
    snprintf(fact->key, sizeof fact->key, "%s", key);
    vsnprintf(fact->value, sizeof fact->value, format, ap);
    va_end(ap);
    text_clean(fact->key);
    text_clean(fact->value);
}
