/* sample_images.h : declares functions that images with one label share with images with label
 * maps. */
#ifndef SAMPLE_IMAGES_H
#define SAMPLE_IMAGES_H
#include "nn/data/dataset.h"

/* Compute each channel's mean and deviation over the training images. */
void images_moments(struct dataset *d);

/* Choose the view (crop, flip and cutout) of a training image. If a is NULL, the view is the
 * unchanged image. */
struct view images_view(const struct dataset *d, const struct dataset_augment *a, uint32_t index);

/* Functions of struct sample_ops. */
void images_to_real(const struct dataset *d, bool test, const uint32_t *index, int n,
                    const struct dataset_augment *augment, real *x);
void images_for_gpu(const struct dataset *d, struct nn_feed *out);

#endif
