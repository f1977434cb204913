/* idx.c : reads MNIST's files: a header of big-endian words, then bytes.
 *
 *     images  0x00000803  n  h  w  then n*h*w pixels        labels  0x00000801  n  then n labels
 * The magic ends in the element type (8: unsigned bytes) and the number of dimensions. Source:
 * yann.lecun.com/exdb/mnist, "the idx file format". */
#include <stdlib.h>
#include "base/err.h"
#include "nn/data/datafile.h"
#include "nn/data/sources.h"

enum { CLASSES = 10, N_MAX = 10000000 };

static uint32_t be32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* sizes[0] is the count. */
static int read_header(struct datafile *f, const char *kind, unsigned n_dims, uint32_t *sizes)
{
    uint8_t b[16];
    TRY(datafile_read(f, b, 4, "the magic number"));
    uint32_t magic = be32(b), want = 0x0800 | n_dims;
    if (magic >> 8 != want >> 8)
        return ERR(-EINVAL, "'%s' is not an IDX %s file: magic 0x%08x at offset 0, expected 0x%08x",
                   f->path, kind, magic, want);
    if (magic != want)
        return ERR(
            -EINVAL,
            "'%s' is not an IDX %s file: %u dimensions at offset 3, expected %u (magic 0x%08x)",
            f->path, kind, magic & 255, n_dims, want);
    TRY(datafile_read(f, b, (size_t)4 * n_dims, "the header"));
    for (unsigned i = 0; i < n_dims; i++)
        sizes[i] = be32(b + (size_t)4 * i);
    if (sizes[0] < 1 || sizes[0] > N_MAX)
        return datafile_err(f, 4, "%u %ss, expected 1 to %d", sizes[0], kind, N_MAX);
    return 0;
}

static int check_side(const struct datafile *f, uint64_t at, uint32_t side, const char *what,
                      int trained)
{
    if (side < DATASET_SIDE_MIN || side > DATASET_SIDE_MAX)
        return datafile_err(f, at, "images of %u %s, expected %d to %d", side, what,
                            DATASET_SIDE_MIN, DATASET_SIDE_MAX);
    if (trained && (int)side != trained)
        return datafile_err(f, at, "images of %u %s, expected %d as in the training images", side,
                            what, trained);
    return 0;
}

static int read_body(struct datafile *f, size_t n, size_t each, uint8_t **data)
{
    uint64_t at = datafile_at(f);
    size_t bytes;
    TRY(datafile_slurp(f, n * each, data, &bytes));
    if (bytes < n * each)
        return datafile_err(f, at + bytes, "the file ends, expected %zu bytes more",
                            n * each - bytes);
    return datafile_end(f);
}

static int read_labels(struct datafile *f, size_t n, uint16_t **y)
{
    const uint64_t at = datafile_at(f);
    uint8_t *bytes = NULL;
    int rc = read_body(f, n, 1, &bytes);
    for (size_t i = 0; rc == 0 && i < n; i++)
        if (bytes[i] >= CLASSES)
            rc = datafile_err(f, at + i, "label %u, expected 0 to %d", bytes[i], CLASSES - 1);
    if (rc == 0 && !(*y = malloc(n * sizeof **y)))
        rc = ERR(-ENOMEM, "cannot allocate %zu labels", n);
    for (size_t i = 0; rc == 0 && i < n; i++)
        (*y)[i] = bytes[i];
    free(bytes);
    return rc;
}

/* d->h and d->w are 0 before the first pair. */
static int read_pair(struct datafile *images, struct datafile *labels, struct dataset *d,
                     uint8_t **x, uint16_t **y, size_t *n)
{
    uint32_t size[3] = {0}, n_labels = 0;
    TRY(read_header(images, "image", 3, size));
    TRY(check_side(images, 8, size[1], "rows", d->h));
    TRY(check_side(images, 12, size[2], "columns", d->w));
    TRY(read_header(labels, "label", 1, &n_labels));
    if (n_labels != size[0])
        return datafile_err(labels, 4, "%u labels, expected %u, the number of images in '%s'",
                            n_labels, size[0], images->path);
    TRY(read_labels(labels, n_labels, y));
    TRY(read_body(images, n_labels, (size_t)size[1] * size[2], x));
    d->h = (int)size[1];
    d->w = (int)size[2];
    *n = n_labels;
    return 0;
}

static const char where[] =
    "MNIST (yann.lecun.com/exdb/mnist) or Fashion-MNIST (github.com/zalandoresearch/fashion-mnist) "
    "in this folder: train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte, "
    "t10k-labels-idx1-ubyte";

/* Names as published, and as some programs unpack them. */
static const char *const names[2][2][3] = {
    {{"train-images-idx3-ubyte", "train-images.idx3-ubyte", NULL},
     {"train-labels-idx1-ubyte", "train-labels.idx1-ubyte", NULL}},
    {{"t10k-images-idx3-ubyte", "t10k-images.idx3-ubyte", NULL},
     {"t10k-labels-idx1-ubyte", "t10k-labels.idx1-ubyte", NULL}}};

static int load_pair(const char *dir, const char *const pair[2][3], struct dataset *d, uint8_t **x,
                     uint16_t **y, size_t *n)
{
    struct datafile images, labels;
    TRY(datafile_open_any(dir, pair[0], where, &images));
    int rc = datafile_open_any(dir, pair[1], where, &labels);
    if (rc < 0)
        goto close_images;
    rc = read_pair(&images, &labels, d, x, y, n);
    datafile_close(&labels);
close_images:
    datafile_close(&images);
    return rc;
}

int idx_load(const char *dir, struct dataset *d)
{
    d->c = 1;
    d->n_classes = CLASSES;
    d->samples = &sample_images;
    TRY(load_pair(dir, names[0], d, &d->train_x, &d->train_y, &d->n_train));
    return load_pair(dir, names[1], d, &d->test_x, &d->test_y, &d->n_test);
}
