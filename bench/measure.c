/* measure.c : provides memory, clocks, gradients and medians to benches. */
#include "bench/measure.h"
#include "base/err.h"
#include "base/file.h"
#include "hls/arith/philox.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

void *measure_alloc_pages(size_t bytes, bool small)
{
    const size_t page = (size_t)2 << 20, rounded = (bytes + page) / page * page;
    void *p = aligned_alloc(page, rounded);
    if (!p) {
        (void)ERR(-ENOMEM, "cannot allocate %zu bytes: take fewer MiB", rounded);
        return NULL;
    }
    /* only advice: errors do not matter */
    madvise(p, rounded, small ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
    return memset(p, 0, rounded);
}

void *measure_alloc(size_t bytes)
{
    return measure_alloc_pages(bytes, false);
}

double measure_cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void end_output(void)
{
    if (file_end_standard() < 0)
        _exit(1);
}

void measure_check_output(void)
{
    atexit(end_output);
}

int measure_options(const struct opt_command *command, int argc, char **argv, void *options,
                    struct opt_parsed *parsed)
{
    measure_check_output();
    if (opt_parse(command, argc - 1, argv + 1, options, parsed) < 0)
        return 2;
    if (parsed->help)
        opt_help(command, parsed, stdout);
    return parsed->help ? 0 : -1;
}

static int measure_by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double measure_median(double *x, size_t n)
{
    qsort(x, n, sizeof *x, measure_by_size);
    return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

void measure_gradients(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const double u = (philox_u32(1, 2 * i) + 0.5) * 0x1p-32,
                     angle = philox_u32(1, 2 * i + 1) * 0x1p-32 * 2 * 3.14159265358979;
        const double magnitude = exp2(-12 + 4 * sqrt(-2 * log(u)) * cos(angle));
        x[i] = (float)(i % 3 ? magnitude : -magnitude);
    }
}
