/* dataset.h : labelled images: where they come from, in which order a job sees them, and how they
 * are augmented.
 *
 *   idx:DIR         MNIST, Fashion-MNIST: {train,t10k}-{images-idx3,labels-idx1}-ubyte
 *   cifar10:DIR     the binary version: data_batch_{1..5}.bin, test_batch.bin
 *   synthetic[:n,seed]   n generated 28x28 training images (n/4 for the test) that no linear model
 *                        can separate
 *
 * Files may be plain or .gz. All have 10 classes; images are 28..64 pixels a side.
 *
 * Life: dataset_open() -> per epoch: dataset_order(), then dataset_batch() of any part of it ->
 * dataset_close(). */
#ifndef DATASET_H
#define DATASET_H
#include <stddef.h>
#include <stdint.h>
#include "nn/real.h"

enum {
    DATASET_CLASSES = 10,
    DATASET_SIDE_MIN = 28,
    DATASET_SIDE_MAX = 64,
    DATASET_CHANNELS_MAX = 3
};

struct dataset {
    int h, w, c, n_classes;
    size_t n_train, n_test;    /* both > 0 */
    uint8_t *train_x, *test_x; /* [n, h, w, c] */
    uint8_t *train_y, *test_y; /* [n], each < n_classes */
    /* per channel, of the training images / 255 (of the subset, if there is one) */
    float mean[DATASET_CHANNELS_MAX];
    float inv_std[DATASET_CHANNELS_MAX];
    char name[64]; /* the spec, cut if it is long */
};

/* subset: take only so many training images, the first n/n_classes of every class in the order of
 * the file (0 = all); must be a multiple of n_classes. The test images stay as they are. Returns 0,
 * -EINVAL / -ENOENT / -EIO ... with one line that names file and offset. */
int dataset_open(const char *spec, size_t subset, struct dataset **out);
void dataset_close(struct dataset *d);

/* order = the permutation of 0..n-1 that epoch `epoch` uses: depends on (seed, epoch) alone. order
 * [n] */
void dataset_order(uint64_t seed, uint64_t epoch, size_t n, uint32_t *order);

/* How training images are changed before they are used: a crop at a random place of the image
 * inside a black border, then in one case of two a left-right flip. Keyed by (seed, epoch, image
 * index): which rank asks for the image, and in which batch, does not matter. The border is pixel 0
 * BEFORE normalisation, as in the usual CIFAR recipe (pad, crop, flip, then normalise). */
struct dataset_augment {
    int crop; /* pixels of border, 0 = none; usually 4 */
    int flip; /* 0 or 1 */
    uint64_t seed, epoch;
};

/* Fills x [n, h, w, c] (normalised: (pixel / 255 - mean) * inv_std) and labels [n] from training
 * images index[0..n). augment: NULL = none. */
void dataset_batch(const struct dataset *d, const uint32_t *index, int n,
                   const struct dataset_augment *augment, real *x, int32_t *labels);

/* Fills x and labels from test images [first, first + n). */
void dataset_test_batch(const struct dataset *d, size_t first, int n, real *x, int32_t *labels);

#endif
