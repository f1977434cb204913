/* shapes.c : generates images of coloured, rotated, overlapping shapes with exact label maps.
 *
 *   background (smooth noise) -> 2 to 5 shapes, later ones hide earlier ones -> noise over all
 *
 * Colours are random, so only the shape tells the class. Pixels whose right or lower neighbour has
 * another class are borders and do not count. Integer arithmetic gives equal bytes everywhere. */
#include "base/err.h"
#include "hls/arith/draw.h"
#include "nn/data/sources.h"
#include <stdlib.h>

enum { SIDE = 64, CHANNELS = 3, PIXELS = SIDE * SIDE, IMAGE = PIXELS * CHANNELS };
enum { CELL = 8, GRID = SIDE / CELL + 1, NOISE = 24 }; /* NOISE: amplitude */
enum { SHAPES_MIN = 2, SHAPES_MAX = 5, RADIUS_MIN = 10, RADIUS_MAX = 24 };
enum { N_DEFAULT = 4000, SEED_DEFAULT = 1 };
enum shape_class { BACKGROUND, DISC, RING, RECTANGLE, CROSS, TRIANGLE, CLASSES };

/* c / h and s / h are rational cosines and sines. */
static const struct turn {
    int c, s, h;
} turns[] = {{1, 0, 1},    {24, 7, 25}, {12, 5, 13}, {15, 8, 17}, {4, 3, 5},   {20, 21, 29},
             {21, 20, 29}, {3, 4, 5},   {8, 15, 17}, {5, 12, 13}, {7, 24, 25}, {0, 1, 1}};

struct shape {
    enum shape_class class;
    int y, x, radius, half; /* half: half a rectangle's height */
    struct turn turn;
    int colour[CHANNELS], down[CHANNELS], across[CHANNELS]; /* change per 8 pixels */
};

static int between(struct draw *draw, int least, int most)
{
    return least + (int)draw_below(draw, (uint32_t)(most - least + 1));
}

static struct shape draw_shape(struct draw *draw)
{
    struct shape s = {.class = (enum shape_class)between(draw, DISC, TRIANGLE),
                      .y = between(draw, 0, SIDE - 1),
                      .x = between(draw, 0, SIDE - 1),
                      .radius = between(draw, RADIUS_MIN, RADIUS_MAX)};
    s.half = between(draw, s.radius / 3, s.radius);
    s.turn = turns[draw_below(draw, sizeof turns / sizeof *turns)];
    for (int c = 0; c < CHANNELS; c++) {
        s.colour[c] = between(draw, 0, 255);
        s.down[c] = between(draw, -16, 16);
        s.across[c] = between(draw, -16, 16);
    }
    return s;
}

static bool is_inside(const struct shape *s, int dy, int dx)
{
    const struct turn t = s->turn;
    const int r = s->radius, square = dx * dx + dy * dy;
    /* rotated coordinates, times h */
    const int u = t.c * dx + t.s * dy, v = t.c * dy - t.s * dx, reach = r * t.h;
    switch (s->class) {
    case DISC:
        return square <= r * r;
    case RING:
        return square <= r * r && 4 * square >= r * r;
    case RECTANGLE:
        return abs(u) <= reach && abs(v) <= s->half * t.h;
    case CROSS:
        return (abs(u) <= reach && 3 * abs(v) <= reach) || (abs(v) <= reach && 3 * abs(u) <= reach);
    default:
        return v >= -reach && v <= reach && 2 * abs(u) <= v + reach; /* TRIANGLE */
    }
}

static void paint_background(struct draw *draw, int *image)
{
    int grid[GRID][GRID];
    for (int c = 0; c < CHANNELS; c++) {
        for (int i = 0; i < GRID * GRID; i++)
            grid[i / GRID][i % GRID] = between(draw, 80, 175);
        for (int i = 0; i < PIXELS; i++) {
            const int row = i / SIDE / CELL, col = i % SIDE / CELL, y = i / SIDE % CELL,
                      x = i % CELL;
            const int above = grid[row][col] * (CELL - x) + grid[row][col + 1] * x,
                      below = grid[row + 1][col] * (CELL - x) + grid[row + 1][col + 1] * x;
            image[i * CHANNELS + c] = (above * (CELL - y) + below * y) / (CELL * CELL);
        }
    }
}

static void paint_shape(const struct shape *s, int *image, uint8_t *map)
{
    for (int i = 0; i < PIXELS; i++) {
        const int dy = i / SIDE - s->y, dx = i % SIDE - s->x;
        if (!is_inside(s, dy, dx))
            continue;
        map[i] = (uint8_t)s->class;
        for (int c = 0; c < CHANNELS; c++)
            image[i * CHANNELS + c] = s->colour[c] + (s->down[c] * dy + s->across[c] * dx) / 8;
    }
}

/* Right and lower neighbours are not marked yet. */
static void mark_borders(uint8_t *map)
{
    for (int i = 0; i < PIXELS; i++) {
        const bool right = i % SIDE < SIDE - 1 && map[i + 1] != map[i],
                   below = i / SIDE < SIDE - 1 && map[i + SIDE] != map[i];
        if (right || below)
            map[i] = NN_MAP_IGNORED;
    }
}

static uint8_t clamp(int v)
{
    return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

static void add_noise(struct draw *draw, const int *image, uint8_t *x)
{
    uint32_t bits = 0;
    for (int i = 0; i < IMAGE; i++) {
        bits = i % 4 ? bits >> 8 : draw_u32(draw);
        x[i] = clamp(image[i] + ((int)(bits & 255) - 128) * NOISE / 128);
    }
}

static void make_image(struct draw *draw, uint8_t *x, uint8_t *map)
{
    int image[IMAGE];
    paint_background(draw, image);
    for (int n = between(draw, SHAPES_MIN, SHAPES_MAX); n > 0; n--) {
        const struct shape s = draw_shape(draw);
        paint_shape(&s, image, map);
    }
    mark_borders(map);
    add_noise(draw, image, x);
}

/* set: 0: training, 1: test. */
static int make_set(uint64_t seed, uint32_t set, size_t n, uint8_t **x, uint8_t **maps)
{
    *x = malloc(n * IMAGE);
    *maps = calloc(n, PIXELS); /* BACKGROUND */
    if (!*x || !*maps)
        return ERR(-ENOMEM, "cannot allocate %zu images with shapes", n);
    for (size_t i = 0; i < n; i++) {
        struct draw draw = draw_open(seed, DRAW_SHAPES, set, (uint32_t)i);
        make_image(&draw, *x + i * IMAGE, *maps + i * PIXELS);
    }
    return 0;
}

int shapes_load(const char *arg, struct dataset *d)
{
    uint64_t n = N_DEFAULT, seed = SEED_DEFAULT;
    TRY(source_spec("shapes", arg, 4, &n, &seed));
    d->h = d->w = SIDE;
    d->c = CHANNELS;
    d->n_classes = CLASSES;
    d->samples = &sample_maps;
    d->n_train = n;
    d->n_test = n / 4;
    TRY(make_set(seed, 0, d->n_train, &d->train_x, &d->train_map));
    return make_set(seed, 1, d->n_test, &d->test_x, &d->test_map);
}
