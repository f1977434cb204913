/* cifar10.c : reads CIFAR-10's binary files: records of a label and three planes of 32x32 pixels.
 *
 *   | label 1 byte | red 1024 | green 1024 | blue 1024 |   usually 10000 times, at least once
 * Source: www.cs.toronto.edu/~kriz/cifar.html, "binary version". */
#include "base/err.h"
#include "nn/data/datafile.h"
#include "nn/data/sources.h"
#include <stdlib.h>

enum {
    SIDE = 32,
    N_CHANNELS = 3,
    CLASSES = 10,
    PLANE = SIDE * SIDE,
    IMAGE = N_CHANNELS * PLANE,
    RECORD = 1 + IMAGE,
    N_MAX = 1000000
};

static void interleave(const uint8_t *planes, uint8_t *pixels)
{
    for (int i = 0; i < PLANE; i++)
        for (int c = 0; c < N_CHANNELS; c++)
            pixels[i * N_CHANNELS + c] = planes[c * PLANE + i];
}

static int check_records(const struct datafile *f, const uint8_t *records, size_t bytes)
{
    if (bytes == 0)
        return datafile_err(f, 0, "the file is empty, expected records of %d bytes", RECORD);
    if (bytes % RECORD)
        return datafile_err(
            f, bytes,
            "the file ends inside a record, expected %zu bytes more (records of %d bytes)",
            RECORD - bytes % RECORD, RECORD);
    for (size_t at = 0; at < bytes; at += RECORD)
        if (records[at] >= CLASSES)
            return datafile_err(f, at, "label %u, expected 0 to %d", records[at], CLASSES - 1);
    return 0;
}

static int append(const uint8_t *records, size_t n, uint8_t **x, uint16_t **y, size_t *n_before)
{
    size_t total = *n_before + n;
    uint8_t *more_x = realloc(*x, total * IMAGE);
    if (more_x)
        *x = more_x;
    uint16_t *more_y = realloc(*y, total * sizeof **y);
    if (more_y)
        *y = more_y;
    if (!more_x || !more_y)
        return ERR(-ENOMEM, "cannot allocate %zu images", total);
    for (size_t i = 0; i < n; i++) {
        more_y[*n_before + i] = records[i * RECORD];
        interleave(records + i * RECORD + 1, more_x + (*n_before + i) * IMAGE);
    }
    *n_before = total;
    return 0;
}

static const char where[] =
    "CIFAR-10 (www.cs.toronto.edu/~kriz/cifar.html), its binary version, in this folder: "
    "data_batch_1.bin to data_batch_5.bin, test_batch.bin";

static int load_file(const char *dir, const char *name, uint8_t **x, uint16_t **y, size_t *n)
{
    struct datafile f;
    uint8_t *records = NULL;
    size_t bytes;
    TRY(datafile_open_any(dir, (const char *const[]){name, NULL}, where, &f));
    int rc = datafile_all(&f, (size_t)N_MAX * RECORD, &records, &bytes);
    if (rc == 0)
        rc = check_records(&f, records, bytes);
    if (rc == 0)
        rc = append(records, bytes / RECORD, x, y, n);
    free(records);
    datafile_close(&f);
    return rc;
}

int cifar10_load(const char *dir, struct dataset *d)
{
    static const char *const train[] = {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                                        "data_batch_4.bin", "data_batch_5.bin"};
    d->h = d->w = SIDE;
    d->c = N_CHANNELS;
    d->n_classes = CLASSES;
    d->samples = &sample_images;
    for (size_t i = 0; i < sizeof train / sizeof *train; i++)
        TRY(load_file(dir, train[i], &d->train_x, &d->train_y, &d->n_train));
    return load_file(dir, "test_batch.bin", &d->test_x, &d->test_y, &d->n_test);
}
