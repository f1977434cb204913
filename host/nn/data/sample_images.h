/* sample_images.h : what images of bytes with one label each and those with label maps share. */
#ifndef SAMPLE_IMAGES_H
#define SAMPLE_IMAGES_H
#include "nn/data/dataset.h"

/* Mean and deviation of each channel, of the training images that there are. */
void images_moments(struct dataset *d);

/* How a training image is seen; NULL: as it is. */
struct view images_view(const struct dataset *d, const struct dataset_augment *a, uint32_t index);

/* Slots of sample_ops. */
void images_to_real(const struct dataset *d, bool test, const uint32_t *index, int n,
                    const struct dataset_augment *augment, real *x);
void images_for_gpu(const struct dataset *d, struct nn_feed *out);

#endif
