/* sample_images.h : declares functions that images with one label share with images with label
 * maps. */
#ifndef SAMPLE_IMAGES_H
#define SAMPLE_IMAGES_H
#include "nn/data/dataset.h"

/* Compute channels' mean and deviation over the training images. */
void images_moments(struct dataset *d);

/* Choose a training image's view (crop, flip, cutout). a NULL: the unchanged image. */
struct view images_view(const struct dataset *d, const struct dataset_augment *a, uint32_t index);

/* Functions of struct sample_ops. */
void images_to_real(const struct dataset *d, bool test, const uint32_t *index, int n,
                    const struct dataset_augment *augment, real *x);
void images_for_gpu(const struct dataset *d, struct nn_feed *out);

#endif
