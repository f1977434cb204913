/* sample_maps.c : images of bytes with a label for each pixel, which is where its pixel is seen. */
#include "base/err.h"
#include "nn/data/sample_images.h"

static int maps_settle(struct dataset *d, size_t subset)
{
    if (subset > d->n_train)
        return ERR(-EINVAL, "cannot take a subset of %zu images: '%s' has %zu", subset, d->name,
                   d->n_train);
    d->n_train = subset ? subset : d->n_train;
    images_moments(d);
    return 0;
}

/* A pixel that lies outside the image has no label. */
static void fill_map(const struct dataset *d, const uint8_t *map, struct view v, int32_t *labels)
{
    for (int row = 0; row < d->h; row++) {
        const int from_row = view_line(v.reflect, row + v.dy, d->h);
        for (int col = 0; col < d->w; col++) {
            const int from_col = view_line(v.reflect, (v.flip ? d->w - 1 - col : col) + v.dx, d->w);
            const int label =
                from_row >= 0 && from_col >= 0 ? map[from_row * d->w + from_col] : NN_MAP_IGNORED;
            *labels++ = label == NN_MAP_IGNORED ? NN_IGNORED : label;
        }
    }
}

static void maps_labels(const struct dataset *d, bool test, const uint32_t *index, int n,
                        const struct dataset_augment *augment, int32_t *labels, int32_t *lengths)
{
    const size_t pixels = (size_t)d->h * (size_t)d->w;
    const uint8_t *maps = test ? d->test_map : d->train_map;
    for (int i = 0; i < n; i++, labels += pixels)
        fill_map(d, maps + index[i] * pixels, images_view(d, augment, index[i]), labels);
    for (int i = 0; lengths && i < n; i++)
        lengths[i] = d->h;
}

const struct sample_ops sample_maps = {
    .name = "images with label maps",
    .target = NN_DENSE,
    .augments = AUGMENT_CROP | AUGMENT_REFLECT | AUGMENT_FLIP,
    .settle = maps_settle,
    .to_real = images_to_real,
    .labels = maps_labels,
    .bytes_for_gpu = images_for_gpu,
};
