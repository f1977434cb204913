/* doctor.c : what checks are made of: facts of ranks, and words about them. */
#include "app/doctor/doctor.h"
#include "base/number.h"
#include "base/text.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *doctor_fact(const struct doctor *d, int rank, const char *key)
{
    const struct info *info = &d->ranks[rank];
    for (int i = 0; i < info->n; i++)
        if (!strcmp(info->facts[i].key, key))
            return info->facts[i].value;
    return "";
}

double doctor_number(const struct doctor *d, int rank, const char *key)
{
    const char *word = doctor_fact(d, rank, key);
    return *word ? number_read(word, NULL) : (double)NAN;
}

int doctor_other(const struct doctor *d, const char *key)
{
    for (int r = 1; r < d->n_ranks; r++)
        if (strcmp(doctor_fact(d, r, key), doctor_fact(d, 0, key)) != 0)
            return r;
    return -1;
}

void doctor_say(struct doctor_finding *f, enum doctor_grade grade, const char *format, ...)
{
    va_list ap;
    f->taken = !f->what[0] || grade > f->grade;
    if (!f->taken)
        return;
    f->grade = grade;
    f->mend[0] = '\0';
    va_start(ap, format);
    vsnprintf(f->what, sizeof f->what, format, ap);
    va_end(ap);
    text_clean(f->what);
}

void doctor_mend(struct doctor_finding *f, const char *format, ...)
{
    va_list ap;
    if (!f->taken)
        return;
    va_start(ap, format);
    vsnprintf(f->mend, sizeof f->mend, format, ap);
    va_end(ap);
    text_clean(f->mend);
}
