/* dataset_batch.c : bytes to normalised pixels, cropped and flipped. */
#include "nn/dataset.h"
#include "hls/draw.h"

/* What each byte becomes, by channel. */
struct pixels {
    real of[DATASET_CHANNELS_MAX][256];
};

static void fill_pixels(const struct dataset *d, struct pixels *p)
{
    for (int c = 0; c < d->c; c++)
        for (int v = 0; v < 256; v++)
            p->of[c][v] = (real)((v / 255.0 - (double)d->mean[c]) * (double)d->inv_std[c]);
}

/* Where an image is taken from: pixel (y, x) shows the image at (y + dy, x + dx), read right to
 * left if flipped. */
struct view {
    int dy, dx, flip;
};

static struct view choose_view(const struct dataset_augment *a, uint32_t image)
{
    struct draw draw = draw_open(a->seed, DRAW_AUGMENT, a->epoch, image);
    uint32_t places = 2 * (uint32_t)a->crop + 1;
    struct view v;
    v.dy = (int)draw_below(&draw, places) - a->crop;
    v.dx = (int)draw_below(&draw, places) - a->crop;
    v.flip = a->flip && draw_u32(&draw) >> 31;
    return v;
}

static void fill_image(const struct dataset *d, const struct pixels *p, const uint8_t *image,
                       struct view v, real *x)
{
    for (int row = 0; row < d->h; row++) {
        int from_row = row + v.dy;
        const uint8_t *line =
            from_row >= 0 && from_row < d->h ? image + from_row * d->w * d->c : NULL;
        for (int col = 0; col < d->w; col++) {
            int from_col = (v.flip ? d->w - 1 - col : col) + v.dx;
            const uint8_t *from =
                line && from_col >= 0 && from_col < d->w ? line + from_col * d->c : NULL;
            for (int c = 0; c < d->c; c++)
                *x++ = p->of[c][from ? from[c] : 0];
        }
    }
}

void dataset_batch(const struct dataset *d, const uint32_t *index, int n,
                   const struct dataset_augment *augment, real *x, int32_t *labels)
{
    size_t size = (size_t)d->h * (size_t)d->w * (size_t)d->c;
    struct pixels p;
    fill_pixels(d, &p);
    for (int i = 0; i < n; i++) {
        struct view v = augment ? choose_view(augment, index[i]) : (struct view){0};
        fill_image(d, &p, d->train_x + index[i] * size, v, x + (size_t)i * size);
        labels[i] = d->train_y[index[i]];
    }
}

void dataset_test_batch(const struct dataset *d, size_t first, int n, real *x, int32_t *labels)
{
    size_t size = (size_t)d->h * (size_t)d->w * (size_t)d->c;
    struct pixels p;
    fill_pixels(d, &p);
    for (int i = 0; i < n; i++) {
        fill_image(d, &p, d->test_x + (first + (size_t)i) * size, (struct view){0},
                   x + (size_t)i * size);
        labels[i] = d->test_y[first + (size_t)i];
    }
}
