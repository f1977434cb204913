/* test_gpu_feed.c : images made by the GPU have dataset_batch()'s bits before the rounding to
 * the type. */
#include "gpu_layers.h"
#include "nn/data/dataset.h"

enum { TRAIN = 40 };
static const struct augment none, usual = {.crop = 4, .flip = 1},
                                  davidnet = {.crop = 4, .reflect = 1, .flip = 1, .cutout = 8};

struct feed_test {
    struct dataset data;
    struct dev_feed f;
    uint32_t *which;
    uint64_t *keys; /* pinned: seed, epoch */
    uint8_t *bytes;
    float *want;
    int32_t *labels;
    size_t size, shown;
    void *x;
};

static struct feed_test feed_test_open(struct layers *g, int h, int w, int c, int batch,
                                       struct augment augment, int side)
{
    struct feed_test t = {.size = (size_t)(h * w * c)};
    t.data = (struct dataset){
        .samples = &sample_images, .h = h, .w = w, .c = c, .n_classes = 10, .n_train = TRAIN};
    t.data.train_x = layers_memory(TRAIN * t.size);
    t.data.train_y = layers_memory(TRAIN * sizeof *t.data.train_y);
    for (size_t i = 0; i < TRAIN * t.size; i++)
        t.data.train_x[i] = (uint8_t)(philox_u32(g->key, i) >> 7);
    t.data.side = side;
    t.f = (struct dev_feed){
        .image = {h, w, c}, .shown = dataset_shape(&t.data), .batch = batch, .augment = augment};
    t.shown = (size_t)(t.f.shown.h * t.f.shown.w * c);
    for (int i = 0; i < c; i++) {
        t.data.mean[i] = t.f.mean[i] = 0.43f + 0.02f * (float)i;
        t.data.inv_std[i] = t.f.inv_std[i] = 4.1f - 0.13f * (float)i;
    }
    t.labels = layers_memory((size_t)batch * sizeof *t.labels);
    t.which = g->run->alloc_pinned((size_t)batch * sizeof *t.which);
    t.keys = g->run->alloc_pinned(2 * sizeof *t.keys);
    t.bytes = g->run->alloc((size_t)batch * t.size);
    t.want = layers_memory((size_t)batch * t.shown * sizeof *t.want);
    t.x = layers_put(g, t.want, (size_t)batch * t.shown);
    return t;
}

static void feed_test_close(struct layers *g, struct feed_test *t)
{
    layers_drop(g);
    g->run->free(t->bytes);
    g->run->free_pinned(t->which);
    g->run->free_pinned(t->keys);
    free(t->data.train_x), free(t->data.train_y), free(t->want), free(t->labels);
}

static void next(struct layers *g, struct feed_test *t, uint64_t seed, uint64_t epoch)
{
    const struct dataset_augment augment = {t->f.augment, seed, epoch};
    t->keys[0] = seed;
    t->keys[1] = epoch;
    for (int i = 0; i < t->f.batch; i++) {
        t->which[i] = philox_u32(seed + epoch, (uint64_t)i) % TRAIN;
        g->run->copy(t->bytes + (size_t)i * t->size, t->data.train_x + t->which[i] * t->size,
                     t->size, g->s);
    }
    dataset_batch(&t->data, false, t->which, t->f.batch, &augment, t->want, t->labels, NULL);
}

/* side: length after scaling; 0: not scaled. */
static void check_feed(struct layers *g, int h, int w, int c, int batch, struct augment augment,
                       int side)
{
    struct feed_test t = feed_test_open(g, h, w, c, batch, augment, side);
    for (uint64_t epoch = 0; epoch < 3; epoch++) {
        next(g, &t, 99 + (epoch << 40), epoch << 31 | epoch);
        g->nn->feed(g->d, &t.f, t.bytes, t.which, t.keys, t.x);
        layers_same(g, "feed", t.x, t.want, (size_t)batch * t.shown);
    }
    feed_test_close(g, &t);
}

static void check_graph(struct layers *g, int side)
{
    struct feed_test t = feed_test_open(g, 32, 32, 3, 8, davidnet, side);
    struct dev_graph *graph;
    if (g->run->graph_begin(g->s) < 0)
        exit(1);
    g->nn->feed(g->d, &t.f, t.bytes, t.which, t.keys, t.x);
    if (g->run->graph_end(g->s, &graph) < 0)
        exit(1);
    for (uint64_t epoch = 5; epoch < 8; epoch++) {
        next(g, &t, 1, epoch);
        g->run->graph_launch(graph, g->s);
        layers_same(g, "feed in a graph", t.x, t.want, (size_t)t.f.batch * t.shown);
    }
    g->run->graph_close(graph);
    feed_test_close(g, &t);
}

static void check_many(struct layers *g)
{
    struct feed_test t = feed_test_open(g, 2, 2, 1, 65537, none, 0);
    next(g, &t, 3, 0);
    CHECK(g->nn->feed(g->d, &t.f, t.bytes, t.which, t.keys, t.x) == 0, "a feed of 65537 images");
    layers_same(g, "feed of many", t.x, t.want, 65537 * t.shown);
    feed_test_close(g, &t);
}

int main(void)
{
    struct layers g;
    layers_open(&g, 45);
    for (size_t m = 0; m < sizeof layers_maths / sizeof *layers_maths; m++)
        for (g.skew = 0; g.skew < 2; g.skew++) {
            layers_math(&g, layers_maths[m]);
            check_feed(&g, 32, 32, 3, 40, usual, 0);
            check_feed(&g, 32, 32, 3, 3, none, 0);
            check_feed(&g, 28, 28, 1, 7, (struct augment){.crop = 2}, 0);
            check_feed(&g, 33, 31, 3, 5, (struct augment){.flip = 1}, 0);
            check_feed(&g, 32, 31, 3, 6, (struct augment){.crop = 64, .flip = 1}, 0);
            check_feed(&g, 32, 32, 3, 40, davidnet, 0);
            check_feed(&g, 28, 30, 1, 9, (struct augment){.crop = 27, .reflect = 1}, 0);
            check_feed(&g, 33, 31, 3, 6, (struct augment){.cutout = 31}, 0);
            check_feed(&g, 32, 32, 3, 5, usual, 64);
            check_feed(&g, 28, 28, 1, 3, (struct augment){.crop = 2, .flip = 1}, 47);
            check_feed(&g, 33, 31, 3, 2, (struct augment){.flip = 1}, 70);
            check_feed(&g, 32, 32, 3, 2, davidnet, 227);
            check_feed(&g, 30, 28, 3, 4, (struct augment){.crop = 4}, 30);
            check_graph(&g, 0);
            check_graph(&g, 40);
        }
    g.skew = 0;
    layers_math(&g, NN_FP32);
    check_many(&g);
    layers_close(&g);
    DONE();
}
