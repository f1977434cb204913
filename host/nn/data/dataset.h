/* dataset.h : opens labelled samples, orders them for each epoch, and makes augmented batches. A
 * source (sources.def) loads samples; their kind (struct sample_ops) turns them into numbers and
 * labels. Images with one label have 28..64 pixels a side, with label maps NN_SIDE_MIN..NN_SIDE_MAX
 * (model.h). Files may be plain or .gz. Functions return 0 or -errno (reported).
 *
 * Life: dataset_open() -> per epoch: dataset_order(), dataset_batch() of any
 * part of it -> dataset_close(). */
#ifndef DATASET_H
#define DATASET_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "hls/nn/layer.h"
#include "hls/nn/view.h"
#include "nn/target.h"

/* of images with one label */
enum { DATASET_SIDE_MIN = 28, DATASET_SIDE_MAX = 64, DATASET_CHANNELS_MAX = 3 };
enum { DATASET_SCALED_MAX = 227, DATASET_CLASSES_MAX = 1000 };

struct text;
struct nn_feed;
struct dataset;

/* Augmentation (hls/nn/view.h), keyed by (seed, epoch, sample), whatever the rank or batch. Images
 * are scaled afterwards, so it means the same at every size. */
struct dataset_augment {
    struct augment how;
    uint64_t seed, epoch;
};

/* Augmentations that a kind of samples supports. */
enum { AUGMENT_CROP = 1, AUGMENT_REFLECT = 2, AUGMENT_FLIP = 4, AUGMENT_CUTOUT = 8 };

/* A kind of samples. test: of the test set, else the training set. */
struct sample_ops {
    const char *name; /* for messages: "images" */
    enum nn_target_kind target;
    unsigned augments; /* of AUGMENT_*; a label map moves with its image */
    bool scales;       /* dataset_scale is supported */
    bool tells_bits;   /* report the loss in bits a label, as for texts */
    /* Called once after loading: keeps `subset` training samples (0: all) and
     * prepares the other functions. */
    int (*settle)(struct dataset *d, size_t subset);
    /* x [n, dataset_shape] = samples index[0..n); augment NULL: none. */
    void (*to_real)(const struct dataset *d, bool test, const uint32_t *index, int n,
                    const struct dataset_augment *augment, real *x);
    /* labels [n, dataset_target] under the same augmentation; lengths [n]: time
     * steps, or h; NULL: not wanted. */
    void (*labels)(const struct dataset *d, bool test, const uint32_t *index, int n,
                   const struct dataset_augment *augment, int32_t *labels, int32_t *lengths);
    /* Describes train_x and test_x, which have a byte for each real, so that a GPU can make x
     * itself. NULL: only to_real can. */
    void (*bytes_for_gpu)(const struct dataset *d, struct nn_feed *out);
    /* For d->own; NULL: none. crc: continues a CRC over the samples. */
    uint32_t (*crc)(const struct dataset *d, uint32_t crc);
    void (*close)(struct dataset *d);
};
/* Images with one label: (pixel / 255 - mean) * inv_std. */
extern const struct sample_ops sample_images;
/* Images with a label for each pixel; the black border of a crop does not count. */
extern const struct sample_ops sample_maps;

struct dataset {
    const struct sample_ops *samples;
    int h, w, c, n_classes;     /* a sequence: w = 1, h time steps of c features */
    int side;                   /* pixels a side that to_real returns; 0: h and w */
    size_t n_train, n_test;     /* both > 0 */
    uint8_t *train_x, *test_x;  /* images: [n, h, w, c] */
    uint16_t *train_y, *test_y; /* NN_CLASS: [n], each < n_classes */
    /* NN_DENSE: [n, h, w], each < n_classes (NN_MAP_CLASSES_MAX at most) or NN_MAP_IGNORED */
    uint8_t *train_map, *test_map;
    /* NN_TRANSCRIPT: labels of the longest; after dataset_suits as many as the network takes */
    int n_transcript;
    void *own; /* data of the kind, or NULL */
    /* per channel, of the training images (or the subset) / 255 */
    float mean[DATASET_CHANNELS_MAX];
    float inv_std[DATASET_CHANNELS_MAX];
    char name[64]; /* the spec, truncated */
};

/* Return the labels of a sample; true if they are a label map. */
struct nn_target dataset_target(const struct dataset *d);
bool dataset_is_map(const struct dataset *d);
/* A message's text for each kind of labels. */
extern const char *const dataset_targets[NN_TARGET_KINDS];
/* Append ", spec" for each source of such samples. */
void dataset_specs(enum nn_form form, enum nn_target_kind target, struct text *out);
/* Check that the heads of network `model` want such labels. */
int dataset_suits(struct dataset *d, const char *model, struct nn_target wants);

/* Help text of all specs that dataset_open accepts. */
extern const char dataset_help[];

/* Load a data set. subset: training samples to use, a multiple of n_classes: the first of each
 * class in file order; 0: all. The test set stays whole. Errors name file and offset. */
int dataset_open(const char *spec, size_t subset, struct dataset **out);
void dataset_close(struct dataset *d);
/* Return a CRC of the sizes and all samples (speech: only lengths and transcripts), by which ranks
 * compare their data. Reads all of them. */
uint32_t dataset_crc(const struct dataset *d);

/* Parse an --augment spec: none, or names joined by +. */
int augment_words(const char *words, struct augment *out);
/* Check that the samples are of a kind that supports the augmentation, and large enough. */
int augment_fits(const struct dataset *d, const struct augment *a);

/* From now on scale images up bilinearly (hls/nn/bilinear.h) to side x side pixels, at
 * most DATASET_SCALED_MAX; 0: not. */
int dataset_scale(struct dataset *d, int side);
/* Return the shape of a sample of dataset_batch() and the feeds. */
struct nn_shape dataset_shape(const struct dataset *d);

/* Write order [n], a permutation of 0..n-1 that depends only on (seed, epoch). */
void dataset_order(uint64_t seed, uint64_t epoch, size_t n, uint32_t *order);

/* Fill x [n, dataset_shape], labels [n, dataset_target] and lengths [n] (NULL: not wanted) with
 * samples index[0..n). augment NULL: none. */
void dataset_batch(const struct dataset *d, bool test, const uint32_t *index, int n,
                   const struct dataset_augment *augment, real *x, int32_t *labels,
                   int32_t *lengths);

#endif
