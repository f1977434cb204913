/* dataset.h : opens labelled samples, orders them for each epoch, and makes augmented batches. A
 * source (sources.def) loads samples; their kind (struct sample_ops) turns them into numbers and
 * labels. Images with label maps and pictures in files have NN_SIDE_MIN to NN_SIDE_MAX pixels a
 * side (model.h). Files may
 * be plain or .gz. Functions return 0 or -errno (reported).
 *
 * Order of calls: dataset_open(); for each epoch dataset_order(), and dataset_batch() for any part
 * of that order; dataset_close(). */
#ifndef DATASET_H
#define DATASET_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "hls/nn/layer.h"
#include "hls/nn/view.h"
#include "nn/target.h"

/* limits of images with one label that are kept in memory; sides in pixels */
enum { DATASET_SIDE_MIN = 28, DATASET_SIDE_MAX = 64, DATASET_CHANNELS_MAX = 3 };
enum { DATASET_SCALED_MAX = 227, DATASET_CLASSES_MAX = 1000 };

struct text;
struct nn_feed;
struct dataset;

/* Augmentation (hls/nn/view.h), keyed by (seed, epoch, sample), so independent of rank and
 * batch. */
struct dataset_augment {
    struct augment how;
    uint64_t seed, epoch;
};

enum { AUGMENT_CROP = 1, AUGMENT_REFLECT = 2, AUGMENT_FLIP = 4, AUGMENT_CUTOUT = 8 };

/* A kind of samples. test: use the test set instead of the training set. */
struct sample_ops {
    const char *name; /* for messages, "images" */
    enum nn_target_kind target;
    unsigned augments; /* AUGMENT_*; a label map moves with its image */
    bool scales;       /* supports dataset_scale() */
    bool tells_bits;   /* report the loss in bits per label, as for texts */
    /* Called once after loading: keep `subset` training samples (0: all), then compute what depends
     * on them, such as means. */
    int (*settle)(struct dataset *d, size_t subset);
    /* Write samples index[0] to index[n-1] to x [n, dataset_shape]. augment may be NULL. */
    void (*to_real)(const struct dataset *d, bool test, const uint32_t *index, int n,
                    const struct dataset_augment *augment, real *x);
    /* Write labels [n, dataset_target] under the same augmentation. Unless lengths is NULL, write
     * each sample's number of time steps (images: h) to lengths [n]. */
    void (*labels)(const struct dataset *d, bool test, const uint32_t *index, int n,
                   const struct dataset_augment *augment, int32_t *labels, int32_t *lengths);
    /* Fill *out so that a GPU can make x from train_x and test_x, which have a byte for each real
     * of x. NULL: only to_real makes x. */
    void (*bytes_for_gpu)(const struct dataset *d, struct nn_feed *out);
    /* For kinds with samples in d->own, else NULL: crc continues a CRC over these samples, close
     * frees them. */
    uint32_t (*crc)(const struct dataset *d, uint32_t crc);
    void (*close)(struct dataset *d);
    /* For kinds that read files in to_real(): 0, or the errno of its first failure, which it has
     * reported; samples that cannot be read are zeros. NULL: never fails. */
    int (*failed)(const struct dataset *d);
};
/* Images with one label: (pixel / 255 - mean) * inv_std. */
extern const struct sample_ops sample_images;
/* Pictures in files, with one label, decoded by to_real() (sample_files.c). */
extern const struct sample_ops sample_files;
/* Images with a label per pixel; the black border of a crop does not count. */
extern const struct sample_ops sample_maps;

struct dataset {
    const struct sample_ops *samples;
    int h, w, c, n_classes;     /* sequence: w = 1, h time steps of c features */
    int side;                   /* pixels a side that to_real writes; 0: h and w */
    size_t n_train, n_test;     /* both > 0 */
    uint8_t *train_x, *test_x;  /* images: [n, h, w, c] */
    uint16_t *train_y, *test_y; /* NN_CLASS: [n], each < n_classes */
    /* NN_DENSE: [n, h, w], each < n_classes (NN_MAP_CLASSES_MAX at most) or NN_MAP_IGNORED */
    uint8_t *train_map, *test_map;
    /* NN_TRANSCRIPT: labels of the longest transcript; after dataset_suits the number that the
     * network accepts */
    int n_transcript;
    void *own;
    /* per channel of the training images (or the subset), pixels / 255 */
    float mean[DATASET_CHANNELS_MAX];
    float inv_std[DATASET_CHANNELS_MAX];
    char *name; /* the spec, for messages */
};

/* Return the kind of a sample's labels and their number. */
struct nn_target dataset_target(const struct dataset *d);
bool dataset_is_map(const struct dataset *d);
/* for messages */
extern const char *const dataset_targets[NN_TARGET_KINDS];
/* Append ", spec" for each source of this form and kind of labels. */
void dataset_specs(enum nn_form form, enum nn_target_kind target, struct text *out);
/* Check that the labels suit a network's heads. model: its name, for messages. */
int dataset_suits(struct dataset *d, const char *model, struct nn_target wants);

/* Help of dataset_open's specs. */
extern const char dataset_help[];

/* Load a data set. subset: training samples to keep, the first of each class in file order; a
 * multiple of n_classes; 0: all. Label maps, utterances and texts: the first `subset` samples, any
 * number. The test set stays whole. Errors name the file. */
int dataset_open(const char *spec, size_t subset, struct dataset **out);
void dataset_close(struct dataset *d);
/* Return a CRC of sizes and samples (of speech only lengths and transcripts), for ranks to
 * compare. */
uint32_t dataset_crc(const struct dataset *d);

/* Return 0, or the errno with which a sample could not be read (reported). */
int dataset_failed(const struct dataset *d);

/* Parse "none", or names joined by +. */
int augment_spec(const char *words, struct augment *out);
/* Check that the samples' size and kind allow the augmentation. */
int augment_fits(const struct dataset *d, const struct augment *a);

/* Scale images up bilinearly (hls/nn/bilinear.h) to side x side pixels. side: at most
 * DATASET_SCALED_MAX; 0: keep the size. */
int dataset_scale(struct dataset *d, int side);
/* Return the shape of samples after scaling. */
struct nn_shape dataset_shape(const struct dataset *d);

/* Write a permutation of 0 to n-1 that depends only on (seed, epoch) to order [n]. */
void dataset_order(uint64_t seed, uint64_t epoch, size_t n, uint32_t *order);

/* Fill x [n, dataset_shape], labels [n, dataset_target] and lengths [n] with samples index[0] to
 * index[n-1]. lengths and augment may be NULL. */
void dataset_batch(const struct dataset *d, bool test, const uint32_t *index, int n,
                   const struct dataset_augment *augment, real *x, int32_t *labels,
                   int32_t *lengths);

#endif
