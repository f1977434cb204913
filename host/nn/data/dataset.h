/* dataset.h : labelled samples: where they come from, in which order a job sees them, and how they
 * are augmented.
 *
 * A source (sources.def) fills the samples in; what kind they are of (struct sample_ops) says how
 * they become numbers, and which labels they have. Images of bytes with one label each are 28..64
 * pixels a side, those with a label map NN_SIDE_MIN..NN_SIDE_MAX (model.h). Files may be plain or .gz.
 *
 * Images may be scaled up on their way (dataset_scale), to what a network wants.
 *
 * Life: dataset_open() -> per epoch: dataset_order(), then dataset_batch() of any part of it ->
 * dataset_close(). */
#ifndef DATASET_H
#define DATASET_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "hls/nn/layer.h"
#include "hls/nn/view.h"
#include "nn/target.h"

enum { DATASET_SIDE_MIN = 28, DATASET_SIDE_MAX = 64, DATASET_CHANNELS_MAX = 3 }; /* of images */
enum { DATASET_SCALED_MAX = 227, DATASET_CLASSES_MAX = 1000 };

struct text;
struct nn_feed;
struct dataset;

/* How training samples are changed before they are used (hls/nn/view.h). Keyed by (seed, epoch, index
 * of the sample): which rank asks for it, and in which batch, does not matter. Images are scaled
 * last, so that an augmentation means the same at every size. */
struct dataset_augment {
    struct augment how;
    uint64_t seed, epoch;
};

/* Augmentations that a kind of samples knows, by --augment's words. */
enum { AUGMENT_CROP = 1, AUGMENT_REFLECT = 2, AUGMENT_FLIP = 4, AUGMENT_CUTOUT = 8 };

/* What can be done with samples of one kind. test: of the test set, else of the training set. */
struct sample_ops {
    const char *name; /* for messages: "images" */
    enum nn_target_kind target;
    unsigned augments; /* of AUGMENT_*; a label map moves with its image */
    bool scales;       /* dataset_scale can be asked for */
    bool tells_bits;   /* what counts is the loss, in bits a label: how well a text is foretold */
    /* Once, behind the source: keeps `subset` of the training samples (0: all) as dataset_open
     * says, and finds what the others need. Returns 0 or a negative errno with a line. */
    int (*settle)(struct dataset *d, size_t subset);
    /* x [n, dataset_shape] = samples index[0..n); augment: NULL = none */
    void (*to_real)(const struct dataset *d, bool test, const uint32_t *index, int n,
                    const struct dataset_augment *augment, real *x);
    /* labels [n, dataset_target] of the same samples, seen the same way; lengths [n]: their time
     * steps, or h; NULL: not wanted */
    void (*labels)(const struct dataset *d, bool test, const uint32_t *index, int n,
                   const struct dataset_augment *augment, int32_t *labels, int32_t *lengths);
    /* The samples in train_x and test_x are bytes, one for each real, of which a GPU can make x
     * itself: fills in what they are and how. NULL: only to_real can. */
    void (*bytes_for_gpu)(const struct dataset *d, struct nn_feed *out);
    /* For d->own, NULL: there is none: the CRC of what crc is the CRC of, and then of what its samples
     * are made of; frees it */
    uint32_t (*crc)(const struct dataset *d, uint32_t crc);
    void (*close)(struct dataset *d);
};
/* (pixel / 255 - mean) * inv_std, one label an image */
extern const struct sample_ops sample_images;
/* the same with a label for each pixel; the border that a crop shows is black, and does not count */
extern const struct sample_ops sample_maps;

struct dataset {
    const struct sample_ops *samples;
    int h, w, c, n_classes;     /* a sequence: w = 1, h time steps of c features */
    int side;                   /* pixels a side of what to_real gives; 0: h and w */
    size_t n_train, n_test;     /* both > 0 */
    uint8_t *train_x, *test_x;  /* images: [n, h, w, c] */
    uint16_t *train_y, *test_y; /* NN_CLASS: [n], each < n_classes */
    /* NN_DENSE: [n, h, w], each < n_classes (NN_MAP_CLASSES_MAX at most) or NN_MAP_IGNORED */
    uint8_t *train_map, *test_map;
    /* NN_TRANSCRIPT: labels of the longest; from dataset_suits on as many as the network takes */
    int n_transcript;
    void *own; /* of the kind; NULL: nothing */
    /* per channel, of the training images / 255 (of the subset, if there is one) */
    float mean[DATASET_CHANNELS_MAX];
    float inv_std[DATASET_CHANNELS_MAX];
    char name[64]; /* the spec, cut if it is long */
};

/* The labels of a sample; are they those of an image's pixels? */
struct nn_target dataset_target(const struct dataset *d);
bool dataset_is_map(const struct dataset *d);
/* ", spec" of each source that has such samples. */
void dataset_specs(enum nn_form form, enum nn_target_kind target, struct text *out);
/* Can a network learn from it whose heads want this? model: its name. Returns 0 or -EINVAL with a
 * line. */
int dataset_suits(struct dataset *d, const char *model, struct nn_target wants);

/* All specs that dataset_open takes, with what they mean: a sentence. */
extern const char dataset_help[];

/* subset: take only so many training samples, the first n/n_classes of every class in the order of
 * the file (0 = all); must be a multiple of n_classes. The test samples stay as they are. Returns 0,
 * -EINVAL / -ENOENT / -EIO ... with one line that names file and offset. */
int dataset_open(const char *spec, size_t subset, struct dataset **out);
void dataset_close(struct dataset *d);
/* Of sizes and of what its samples are made of: ranks compare theirs. It reads all of them. */
uint32_t dataset_crc(const struct dataset *d);

/* --augment's word: none, or words with + between them. Returns 0 or -EINVAL with a line. */
int augment_words(const char *words, struct augment *out);
/* Are samples of a kind that can be changed so, and large enough? Returns 0 or -EINVAL with a line. */
int augment_fits(const struct dataset *d, const struct augment *a);

/* From now on images are scaled up to side x side pixels, DATASET_SCALED_MAX at most, bilinearly
 * (hls/nn/bilinear.h); 0: as they are. Returns 0, or -EINVAL with a line. */
int dataset_scale(struct dataset *d, int side);
/* Of a sample as dataset_batch() and the feeds give it. */
struct nn_shape dataset_shape(const struct dataset *d);

/* order = the permutation of 0..n-1 that epoch `epoch` uses: depends on (seed, epoch) alone. order
 * [n] */
void dataset_order(uint64_t seed, uint64_t epoch, size_t n, uint32_t *order);

/* Fills x [n, dataset_shape], labels [n, dataset_target] and lengths [n] (NULL: not wanted) from
 * samples index[0..n) of the test or the training set. augment: NULL = none. */
void dataset_batch(const struct dataset *d, bool test, const uint32_t *index, int n,
                   const struct dataset_augment *augment, real *x, int32_t *labels,
                   int32_t *lengths);

#endif
