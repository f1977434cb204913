/* quantile_words.c : words of a quantile, and back. */
#include "base/err.h"
#include "base/number.h"
#include "codec/quantile.h"
#include "hls/arith/relative_lists.h"
#include <string.h>

const char quantile_ranges[] = "q=X, 0 < X <= 1, every=N steps, 1 to 1e9, samples=N, 1 to 16384";

struct quantile quantile_default(void)
{
    return (struct quantile){.part = 0.95, .every = 100, .samples = 1024};
}

/* A number from `least` to `most` behind "name=", up to the end. */
static int read_real(const char *at, size_t n, const char *name, double least, double most,
                     double *out)
{
    const size_t skip = strlen(name);
    char *end;
    if (n <= skip || memcmp(at, name, skip) != 0)
        return 0;
    const double x = number_read(at + skip, &end);
    if (end != at + n || !(x >= least && x <= most))
        return -EINVAL;
    *out = x;
    return 1;
}

static int read_whole(const char *at, size_t n, const char *name, double most, uint32_t *out)
{
    double x = 0;
    const int rc = read_real(at, n, name, 1, most, &x);
    if (rc <= 0)
        return rc;
    if ((double)(uint32_t)x != x)
        return -EINVAL;
    *out = (uint32_t)x;
    return 1;
}

int quantile_read(const char *at, size_t n, struct quantile *q)
{
    int rc = read_real(at, n, "q=", 1e-9, 1, &q->part);
    if (!rc)
        rc = read_whole(at, n, "every=", 1e9, &q->every);
    if (!rc)
        rc = read_whole(at, n, "samples=", RELATIVE_SAMPLES_MAX, &q->samples);
    return rc;
}

void quantile_print_real(const char *name, double x, struct text *to)
{
    char number[32], *end;
    int digits = 0;
    do
        number_print(number, sizeof number, ++digits, x);
    while (digits < 17 && number_read(number, &end) != x);
    text_add(to, "%s%s", name, number);
}

void quantile_print(const struct quantile *q, struct text *to)
{
    quantile_print_real("q=", q->part, to);
    text_add(to, ",every=%u,samples=%u", q->every, q->samples);
}
