/* doctor.c : gathers the facts of all ranks for the checks, and records findings. */
#include "app/doctor/doctor.h"
#include "base/text.h"
#include "base/err.h"
#include "comm/comm.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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

enum { ROUNDS = 5 };

void doctor_lines(const struct info *info, char lines[DOCTOR_BYTES])
{
    struct text text = text_in(lines, DOCTOR_BYTES);
    for (int i = 0; i < info->n && !text.full; i++)
        text_add(&text, "%s=%.*s\n", info->facts[i].key, (int)strcspn(info->facts[i].value, "\n"),
                 info->facts[i].value);
}

void doctor_unlines(const char lines[DOCTOR_BYTES], struct info *info)
{
    const char *at = lines, *end = lines + strnlen(lines, DOCTOR_BYTES - 1);
    *info = (struct info){0};
    while (at < end) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at)), *equals;
        if (!line_end)
            return; /* the text was cut */
        equals = memchr(at, '=', (size_t)(line_end - at));
        if (equals) {
            char key[sizeof info->facts[0].key];
            snprintf(key, sizeof key, "%.*s", (int)(equals - at), at);
            info_add(info, key, "%.*s", (int)(line_end - equals - 1), equals + 1);
        }
        at = line_end + 1;
    }
}

static double wall_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int compare_clock(struct comm *c, int r, double *ahead_s, double *sure_s)
{
    double theirs, least_s = HUGE_VAL;
    for (int i = 0; i < ROUNDS; i++) {
        const double start_s = wall_s();
        theirs = start_s;
        TRY(comm_pass(c, 0, r, &theirs, sizeof theirs));
        theirs = wall_s();
        TRY(comm_pass(c, r, 0, &theirs, sizeof theirs));
        const double took_s = wall_s() - start_s;
        if (comm_rank(c) == 0 && took_s < least_s) {
            least_s = took_s;
            *ahead_s = theirs - start_s - took_s / 2;
            *sure_s = took_s / 2;
        }
    }
    return 0;
}

static int compare_clocks(struct comm *c, struct doctor *d)
{
    const int rank = comm_rank(c);
    double none[2];
    for (int r = 1; r < comm_n_ranks(c); r++)
        if (rank == 0)
            TRY(compare_clock(c, r, &d->ahead_s[r], &d->sure_s[r]));
        else if (rank == r)
            TRY(compare_clock(c, r, &none[0], &none[1]));
    return 0;
}

int doctor_gather(struct comm *c, const struct info *mine, struct doctor *d)
{
    const size_t n = (size_t)comm_n_ranks(c);
    const bool first = comm_rank(c) == 0;
    char lines[DOCTOR_BYTES], *all = first ? malloc(n * DOCTOR_BYTES) : NULL;
    *d = (struct doctor){.n_ranks = (int)n, .nodes = malloc(n * sizeof *d->nodes)};
    if (first) {
        d->ranks = calloc(n, sizeof *d->ranks);
        d->ahead_s = calloc(n, sizeof *d->ahead_s);
        d->sure_s = calloc(n, sizeof *d->sure_s);
    }
    const bool room = d->nodes && (!first || (all && d->ranks && d->ahead_s && d->sure_s));
    int rc =
        comm_agree(c, room ? 0 : ERR(-ENOMEM, "no memory to gather the facts of %zu ranks", n));
    if (rc == 0) {
        doctor_lines(mine, lines);
        rc = comm_gather(c, lines, sizeof lines, all);
    }
    for (size_t r = 0; r < n && first && rc == 0; r++)
        doctor_unlines(all + r * DOCTOR_BYTES, &d->ranks[r]);
    free(all);
    rc = rc ? rc : comm_nodes(c, d->nodes);
    return rc ? rc : compare_clocks(c, d);
}

void doctor_close(struct doctor *d)
{
    free(d->ranks);
    free(d->nodes);
    free(d->ahead_s);
    free(d->sure_s);
    *d = (struct doctor){0};
}
