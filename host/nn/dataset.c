/* dataset.c : opens a data set by its spec: finds its source, and lets its kind of samples make
 * itself ready. */
#include "nn/dataset.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/err.h"
#include "base/word.h"
#include "nn/sources.h"

static const struct {
    const char *name, *more;
    int (*load)(const char *arg, struct dataset *d);
} sources[] = {
#define SOURCE(name, more, means) {#name, more, name##_load},
#include "nn/sources.def"
#undef SOURCE
};

#define SOURCE(name, more, means) ", " #name more
static const char specs[] =
#include "nn/sources.def"
    ;
#undef SOURCE

#define SOURCE(name, more, means) " " #name more " (" means "),"
const char dataset_help[] = "One of"
#include "nn/sources.def"
                            " each read or made as a whole.";
#undef SOURCE

static int load(const char *spec, struct dataset *d)
{
    const char *arg;
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        const char *name = sources[i].name, *more = sources[i].more;
        if (!word_has_name(spec, name, &arg))
            continue;
        if (*more == ':' && (!arg || !*arg))
            return ERR(-EINVAL, "data set '%s' says no %s, expected %s%s", spec, more + 1, name,
                       more);
        return sources[i].load(arg, d);
    }
    return ERR(-EINVAL, "unknown data set '%s', expected one of %s", spec, specs + 2);
}

int dataset_open(const char *spec, size_t subset, struct dataset **out)
{
    struct dataset *d = calloc(1, sizeof *d);
    if (!d)
        return ERR(-ENOMEM, "cannot allocate the data set");
    snprintf(d->name, sizeof d->name, "%s", spec);
    int rc = load(spec, d);
    if (rc == 0)
        rc = d->samples->settle(d, subset);
    if (rc < 0) {
        dataset_close(d);
        return rc;
    }
    *out = d;
    return 0;
}

void dataset_close(struct dataset *d)
{
    if (!d)
        return;
    free(d->train_x);
    free(d->train_y);
    free(d->test_x);
    free(d->test_y);
    free(d);
}

void dataset_batch(const struct dataset *d, bool test, const uint32_t *index, int n,
                   const struct dataset_augment *augment, real *x, int32_t *labels)
{
    d->samples->to_real(d, test, index, n, augment, x);
    d->samples->labels(d, test, index, n, labels);
}
