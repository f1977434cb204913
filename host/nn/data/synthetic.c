/* synthetic.c : generates images of ten classes that no linear model can tell apart. A class is a
 * smooth random pattern on a torus, shifted and perhaps negated in each image:
 *
 *   pixel = 128 +- contrast * pattern(y + dy, x + dx) + noise
 *
 * An image and its negative are equally likely in one class, so linear classifiers W and -W have
 * the same cross-entropy. Cross-entropy is convex in W, so W = 0, which guesses at random, is
 * best. */
#include "base/err.h"
#include "hls/arith/draw.h"
#include "nn/data/sources.h"
#include <stdlib.h>

enum { CLASSES = 10, SIDE = 28, TORUS = 32, PEAK = 127, SHIFT = 6, NOISE = 56 };
enum { N_DEFAULT = 8000, SEED_DEFAULT = 1 };

struct pattern {
    int32_t at[TORUS][TORUS]; /* -PEAK..PEAK */
};

static void blur(struct pattern *p)
{
    struct pattern from = *p;
    for (int y = 0; y < TORUS; y++)
        for (int x = 0; x < TORUS; x++) {
            p->at[y][x] = 0;
            for (int dy = -2; dy <= 2; dy++)
                for (int dx = -2; dx <= 2; dx++)
                    p->at[y][x] += from.at[(y + dy) & (TORUS - 1)][(x + dx) & (TORUS - 1)];
        }
}

/* White noise, blurred three times, is nearly Gaussian. Its mean is
 * zero, its largest magnitude PEAK. */
static void make_pattern(uint64_t seed, uint32_t class, struct pattern *p)
{
    struct draw draw = draw_open(seed, DRAW_PATTERN, 0, class);
    int32_t *v = p->at[0], sum = 0, largest = 1;
    for (int i = 0; i < TORUS * TORUS; i++)
        v[i] = (int32_t)draw_below(&draw, 255) - 127;
    for (int i = 0; i < 3; i++)
        blur(p);
    for (int i = 0; i < TORUS * TORUS; i++)
        sum += v[i];
    for (int i = 0; i < TORUS * TORUS; i++) {
        v[i] -= sum / (TORUS * TORUS);
        largest = abs(v[i]) > largest ? abs(v[i]) : largest;
    }
    for (int i = 0; i < TORUS * TORUS; i++)
        v[i] = v[i] * PEAK / largest;
}

static uint8_t clamp(int32_t v)
{
    return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

static void make_image(const struct pattern *p, struct draw *draw, uint8_t *x)
{
    uint32_t dy = draw_below(draw, 2 * SHIFT + 1), dx = draw_below(draw, 2 * SHIFT + 1);
    int32_t contrast = 64 + (int32_t)draw_below(draw, 65); /* 1/128 */
    if (draw_below(draw, 2))
        contrast = -contrast;
    uint32_t bits = 0;
    for (uint32_t i = 0; i < SIDE * SIDE; i++) {
        bits = i % 4 ? bits >> 8 : draw_u32(draw);
        int32_t noise = ((int32_t)(bits & 255) - 128) * NOISE / 128;
        int32_t shown = p->at[(i / SIDE + dy) % TORUS][(i % SIDE + dx) % TORUS];
        x[i] = clamp(128 + contrast * shown / 128 + noise);
    }
}

/* Classes take turns. set: 0: training, 1: test. */
static int make_set(const struct pattern *patterns, uint64_t seed, uint32_t set, size_t n,
                    uint8_t **x, uint16_t **y)
{
    *x = malloc(n * SIDE * SIDE);
    *y = malloc(n * sizeof **y);
    if (!*x || !*y)
        return ERR(-ENOMEM, "cannot allocate %zu synthetic images", n);
    for (size_t i = 0; i < n; i++) {
        (*y)[i] = (uint16_t)(i % CLASSES);
        struct draw draw = draw_open(seed, DRAW_IMAGE, set, (uint32_t)i);
        make_image(&patterns[(*y)[i]], &draw, *x + i * SIDE * SIDE);
    }
    return 0;
}

/* Makes n training images (a multiple of 10, at least 40) and n/4 test images. Integer arithmetic
 * gives equal bytes everywhere. */
int synthetic_load(const char *arg, struct dataset *d)
{
    uint64_t n = N_DEFAULT, seed = SEED_DEFAULT;
    TRY(source_spec("synthetic", arg, CLASSES, &n, &seed));
    struct pattern patterns[CLASSES];
    for (uint32_t k = 0; k < CLASSES; k++)
        make_pattern(seed, k, &patterns[k]);
    d->h = d->w = SIDE;
    d->c = 1;
    d->n_classes = CLASSES;
    d->samples = &sample_images;
    d->n_train = n;
    d->n_test = n / 4;
    TRY(make_set(patterns, seed, 0, d->n_train, &d->train_x, &d->train_y));
    return make_set(patterns, seed, 1, d->n_test, &d->test_x, &d->test_y);
}
