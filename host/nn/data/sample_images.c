/* sample_images.c : normalises, augments and scales images with labels or label maps. */
#include "base/err.h"
#include "hls/nn/bilinear.h"
#include "nn/data/dataset.h"
#include "nn/nn_ops.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Keep every class's first n / n_classes images, in order. */
static int take_subset(struct dataset *d, size_t n)
{
    size_t quota = n / (size_t)d->n_classes, image = (size_t)d->h * (size_t)d->w * (size_t)d->c;
    size_t has[DATASET_CLASSES_MAX] = {0}, taken[DATASET_CLASSES_MAX] = {0}, to = 0;
    if (n % (size_t)d->n_classes)
        return ERR(-EINVAL, "cannot take a subset of %zu images: need a multiple of the %d classes",
                   n, d->n_classes);
    for (size_t i = 0; i < d->n_train; i++)
        has[d->train_y[i]]++;
    for (int k = 0; k < d->n_classes; k++)
        if (has[k] < quota)
            return ERR(-EINVAL,
                       "cannot take a subset of %zu images: '%s' has %zu of class %d, not %zu", n,
                       d->name, has[k], k, quota);
    for (size_t i = 0; i < d->n_train; i++) {
        if (taken[d->train_y[i]]++ >= quota)
            continue;
        d->train_y[to] = d->train_y[i];
        memmove(d->train_x + to++ * image, d->train_x + i * image, image);
    }
    d->n_train = n;
    uint8_t *less = realloc(d->train_x, n * image);
    if (less)
        d->train_x = less;
    return 0;
}

/* Integer sums give the same bits on all machines. A constant channel gets an inv_std of 1. */
static void images_moments(struct dataset *d)
{
    size_t n = d->n_train * (size_t)d->h * (size_t)d->w, n_channels = (size_t)d->c;
    for (size_t c = 0; c < n_channels; c++) {
        uint64_t sum = 0, squares = 0;
        for (const uint8_t *p = d->train_x + c; p < d->train_x + n * n_channels; p += n_channels) {
            sum += *p;
            squares += (uint64_t)*p * *p;
        }
        double mean = (double)sum / (double)n, variance = (double)squares / (double)n - mean * mean;
        d->mean[c] = (float)(mean / 255);
        d->inv_std[c] = variance > 1e-6 ? (float)(255 / sqrt(variance)) : 1;
    }
}

static int images_settle(struct dataset *d, size_t subset)
{
    if (subset)
        TRY(take_subset(d, subset));
    images_moments(d);
    return 0;
}

/* normalised value of each byte */
struct pixels {
    real of[DATASET_CHANNELS_MAX][256];
};

static void fill_pixels(const struct dataset *d, struct pixels *p)
{
    for (int c = 0; c < d->c; c++)
        for (int v = 0; v < 256; v++)
            p->of[c][v] = (real)((v / 255.0 - (double)d->mean[c]) * (double)d->inv_std[c]);
}

static void fill_image(const struct dataset *d, const struct pixels *p, const uint8_t *image,
                       struct view v, real *x)
{
    for (int row = 0; row < d->h; row++) {
        const int from_row = view_line(v.reflect, row + v.dy, d->h);
        const uint8_t *line = from_row >= 0 ? image + from_row * d->w * d->c : NULL;
        for (int col = 0; col < d->w; col++) {
            const int from_col = view_line(v.reflect, (v.flip ? d->w - 1 - col : col) + v.dx, d->w);
            const uint8_t *from = line && from_col >= 0 ? line + from_col * d->c : NULL;
            for (int c = 0; c < d->c; c++)
                *x++ = p->of[c][from ? from[c] : 0];
        }
    }
}

static void cut_square(const struct dataset *d, struct view v, real *x)
{
    for (int row = v.cut_y; row < v.cut_y + v.cut; row++)
        for (int i = v.cut_x * d->c; i < (v.cut_x + v.cut) * d->c; i++)
            x[row * d->w * d->c + i] = 0;
}

static void scale_line(int c, int to, const struct bilinear *across, const real *x, real *y)
{
    for (int col = 0; col < to; col++, y += c)
        for (int i = 0; i < c; i++)
            y[i] = (real)bilinear_mix((float)x[across[col].first * c + i],
                                      (float)x[across[col].second * c + i], across[col].part);
}

/* Lines of x are scaled when needed; two are kept. */
static void scale_image(struct nn_shape from, const real *x, struct nn_shape to, real *y)
{
    struct bilinear across[DATASET_SCALED_MAX];
    real lines[2][DATASET_SCALED_MAX * DATASET_CHANNELS_MAX];
    const int n = to.w * to.c, pitch = from.w * from.c;
    int next = 0; /* line of x to scale */
    for (int col = 0; col < to.w; col++)
        across[col] = bilinear_at(col, from.w, to.w);
    for (int row = 0; row < to.h; row++, y += n) {
        const struct bilinear down = bilinear_at(row, from.h, to.h);
        for (; next <= down.second; next++)
            scale_line(to.c, to.w, across, x + next * pitch, lines[next % 2]);
        const real *a = lines[down.first % 2], *b = lines[down.second % 2];
        for (int i = 0; i < n; i++)
            y[i] = (real)bilinear_mix((float)a[i], (float)b[i], down.part);
    }
}

static struct view images_view(const struct dataset *d, const struct dataset_augment *a,
                               uint32_t index)
{
    return a ? view_choose(a->how, a->seed, a->epoch, index, d->h, d->w) : (struct view){0};
}

static void images_to_real(const struct dataset *d, bool test, const uint32_t *index, int n,
                           const struct dataset_augment *augment, real *x)
{
    const struct nn_shape from = {d->h, d->w, d->c}, to = dataset_shape(d);
    const size_t size = (size_t)d->h * (size_t)d->w * (size_t)d->c,
                 size_to = (size_t)to.h * (size_t)to.w * (size_t)to.c;
    const uint8_t *images = test ? d->test_x : d->train_x;
    struct pixels p;
    real own[DATASET_SIDE_MAX * DATASET_SIDE_MAX * DATASET_CHANNELS_MAX];
    fill_pixels(d, &p);
    for (int i = 0; i < n; i++, x += size_to) {
        const struct view v = images_view(d, augment, index[i]);
        real *const seen = d->side ? own : x;
        fill_image(d, &p, images + index[i] * size, v, seen);
        cut_square(d, v, seen);
        if (d->side)
            scale_image(from, seen, to, x);
    }
}

static void images_labels(const struct dataset *d, bool test, const uint32_t *index, int n,
                          const struct dataset_augment *augment, int32_t *labels, int32_t *lengths)
{
    const uint16_t *y = test ? d->test_y : d->train_y;
    (void)augment; /* a label does not depend on the view */
    for (int i = 0; i < n; i++)
        labels[i] = y[index[i]];
    for (int i = 0; lengths && i < n; i++)
        lengths[i] = dataset_shape(d).h;
}

static void images_for_gpu(const struct dataset *d, struct nn_feed *out)
{
    out->image = (struct nn_shape){d->h, d->w, d->c};
    out->shown = dataset_shape(d);
    for (int c = 0; c < d->c; c++)
        out->mean[c] = d->mean[c], out->inv_std[c] = d->inv_std[c];
}

const struct sample_ops sample_images = {
    .name = "images",
    .target = NN_CLASS,
    .augments = AUGMENT_CROP | AUGMENT_REFLECT | AUGMENT_FLIP | AUGMENT_CUTOUT,
    .scales = true,
    .settle = images_settle,
    .to_real = images_to_real,
    .labels = images_labels,
    .bytes_for_gpu = images_for_gpu,
};

static int maps_settle(struct dataset *d, size_t subset)
{
    if (subset > d->n_train)
        return ERR(-EINVAL, "cannot take a subset of %zu images: '%s' has only %zu", subset,
                   d->name, d->n_train);
    d->n_train = subset ? subset : d->n_train;
    images_moments(d);
    return 0;
}

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

int dataset_scale(struct dataset *d, int side)
{
    if (side == 0)
        return 0;
    if (!d->samples->scales)
        return ERR(-EINVAL, "cannot scale %s of '%s' (--image %d): leave --image out",
                   d->samples->name, d->name, side);
    if (side < d->h || side < d->w || side > DATASET_SCALED_MAX)
        return ERR(-EINVAL,
                   "cannot scale images of '%s' from %dx%d to %dx%d pixels: need at least their "
                   "own size and at most %d",
                   d->name, d->h, d->w, side, side, DATASET_SCALED_MAX);
    d->side = side;
    return 0;
}

struct nn_shape dataset_shape(const struct dataset *d)
{
    return d->side ? (struct nn_shape){d->side, d->side, d->c}
                   : (struct nn_shape){d->h, d->w, d->c};
}
