/* dataset.c : opens a data set by its spec, takes a subset of it, and finds its mean and
 * deviation. */
#include "nn/dataset.h"
#include "base/err.h"
#include "nn/cifar10.h"
#include "nn/idx.h"
#include "nn/synthetic.h"
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every kind of data set: how its spec looks, and who fills it in (arg: what follows the colon,
 * NULL without one). */
static const struct {
    const char *kind, *spec;
    int (*load)(const char *arg, struct dataset *d);
    bool needs_dir;
} sources[] = {
    {"idx", "idx:DIR", idx_load, true},
    {"cifar10", "cifar10:DIR", cifar10_load, true},
    {"synthetic", "synthetic[:n,seed]", synthetic_load, false},
};

static int load(const char *spec, struct dataset *d)
{
    const char *colon = strchr(spec, ':');
    size_t kind_len = colon ? (size_t)(colon - spec) : strlen(spec);
    const char *arg = colon ? colon + 1 : NULL;
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        if (strlen(sources[i].kind) != kind_len || strncmp(spec, sources[i].kind, kind_len) != 0)
            continue;
        if (sources[i].needs_dir && (!arg || !*arg))
            return ERR(-EINVAL, "data set '%s' names no directory, expected %s", spec,
                       sources[i].spec);
        return sources[i].load(arg, d);
    }
    return ERR(-EINVAL, "unknown data set '%s', expected %s, %s or %s", spec, sources[0].spec,
               sources[1].spec, sources[2].spec);
}

/* Keeps the first n/n_classes training images of every class, in their order. */
static int take_subset(struct dataset *d, size_t n)
{
    size_t quota = n / (size_t)d->n_classes, image = (size_t)d->h * (size_t)d->w * (size_t)d->c;
    size_t has[DATASET_CLASSES] = {0}, taken[DATASET_CLASSES] = {0}, to = 0;
    if (n % (size_t)d->n_classes)
        return ERR(-EINVAL, "cannot take a subset of %zu images: is no multiple of the %d classes",
                   n, d->n_classes);
    for (size_t i = 0; i < d->n_train; i++)
        has[d->train_y[i]]++;
    for (int k = 0; k < d->n_classes; k++)
        if (has[k] < quota)
            return ERR(-EINVAL,
                       "cannot take a subset of %zu images: '%s' has %zu of class %d, not %zu", n,
                       d->name, has[k], k, quota);
    for (size_t i = 0; i < d->n_train; i++) {
        if (taken[d->train_y[i]]++ >= quota)
            continue;
        d->train_y[to] = d->train_y[i];
        memmove(d->train_x + to++ * image, d->train_x + i * image, image);
    }
    d->n_train = n;
    uint8_t *less = realloc(d->train_x, n * image);
    if (less)
        d->train_x = less;
    return 0;
}

/* Sums are integers, so the same on every machine. A channel of one value alone gets an inv_std of
 * 1. */
static void find_moments(struct dataset *d)
{
    size_t n = d->n_train * (size_t)d->h * (size_t)d->w, n_channels = (size_t)d->c;
    for (size_t c = 0; c < n_channels; c++) {
        uint64_t sum = 0, squares = 0;
        for (const uint8_t *p = d->train_x + c; p < d->train_x + n * n_channels; p += n_channels) {
            sum += *p;
            squares += (uint64_t)*p * *p;
        }
        double mean = (double)sum / (double)n, variance = (double)squares / (double)n - mean * mean;
        d->mean[c] = (float)(mean / 255);
        d->inv_std[c] = variance > 1e-6 ? (float)(255 / sqrt(variance)) : 1;
    }
}

int dataset_open(const char *spec, size_t subset, struct dataset **out)
{
    struct dataset *d = calloc(1, sizeof *d);
    if (!d)
        return ERR(-ENOMEM, "cannot allocate the data set");
    snprintf(d->name, sizeof d->name, "%s", spec);
    int rc = load(spec, d);
    if (rc == 0 && subset)
        rc = take_subset(d, subset);
    if (rc < 0) {
        dataset_close(d);
        return rc;
    }
    find_moments(d);
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
