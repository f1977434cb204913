/* measure.h : provides benches with memory in large pages, CPU time of a thread, and medians. */
#ifndef MEASURE_H
#define MEASURE_H
#include "base/err.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

/* Allocate zeroed memory for free(). Without `small`, pages of 2 MiB if possible, so that the page
 * table is not measured. NULL after reporting an error. */
static inline void *measure_alloc_pages(size_t bytes, bool small)
{
    const size_t page = (size_t)2 << 20, rounded = (bytes + page) / page * page;
    void *p = aligned_alloc(page, rounded);
    if (!p) {
        (void)ERR(-ENOMEM, "cannot allocate %zu bytes: take a smaller --mib", rounded);
        return NULL;
    }
    /* only advice: errors do not matter */
    madvise(p, rounded, small ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
    return memset(p, 0, rounded);
}

static inline void *measure_alloc(size_t bytes)
{
    return measure_alloc_pages(bytes, false);
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
