/* source_spec.c : parses "n,seed" in the spec of generated samples. */
#include "nn/data/sources.h"
#include "base/err.h"
#include <stdlib.h>
#include <string.h>

static const char *parse_u64(const char *s, uint64_t *out)
{
    if (*s < '0' || *s > '9')
        return NULL;
    char *end;
    errno = 0;
    *out = strtoull(s, &end, 10);
    return errno ? NULL : end;
}

int source_spec(const char *name, const char *arg, unsigned multiple, uint64_t *n, uint64_t *seed)
{
    if (!arg)
        return 0;
    const char *s = parse_u64(arg, n);
    if (s && *s++ == ',')
        s = parse_u64(s, seed);
    else
        s = NULL;
    if (!s || *s)
        return ERR(-EINVAL, "data set '%s:%s' is malformed, expected %s:n,seed (two whole numbers)",
                   name, arg, name);
    if (*n < SOURCE_N_MIN || *n > SOURCE_N_MAX || *n % multiple)
        return ERR(-EINVAL,
                   "data set '%s:%s' has %llu images, expected a multiple of %u from %d to %d",
                   name, arg, (unsigned long long)*n, multiple, SOURCE_N_MIN, SOURCE_N_MAX);
    return 0;
}

long source_cut_number(char *spec)
{
    char *comma = strrchr(spec, ',');
    if (!comma || !comma[1] || strspn(comma + 1, "0123456789") != strlen(comma + 1))
        return -1;
    *comma = '\0';
    return strtol(comma + 1, NULL, 10);
}
