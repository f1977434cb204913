/* measure.h : what benches measure with: memory in large pages, CPU time of a thread, medians. */
#ifndef MEASURE_H
#define MEASURE_H
#include "base/err.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

/* Large pages where there are any: the table of pages is not what is measured. */
static inline void *measure_alloc(size_t bytes)
{
    const size_t page = (size_t)2 << 20, rounded = (bytes + page) / page * page;
    void *p = aligned_alloc(page, rounded);
    if (!p) {
        (void)ERR(-ENOMEM, "cannot allocate %zu bytes: take a smaller --mib", rounded);
        return NULL;
    }
    madvise(p, rounded, MADV_HUGEPAGE); /* advice: no matter if it is not taken */
    return memset(p, 0, rounded);
}

static inline double measure_cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline int measure_by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static inline double measure_median(double *x, size_t n)
{
    qsort(x, n, sizeof *x, measure_by_size);
    return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

#endif
