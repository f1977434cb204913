/* sample_files.c : decodes a picture whenever it is needed, on threads.
 *
 *   picture --crop: a random part; else all--> scaled --flip, one in two--> (v/255 - mean)/std
 *
 * Training images are cut and scaled as by torchvision's RandomResizedCrop and flipped at random,
 * test images (and training images without --augment) as by Resize(SIDE * 256/224) and CenterCrop
 * (Goyal et al. 2017, 5.1). Random numbers depend only on (seed, epoch, image). */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "base/crc.h"
#include "base/err.h"
#include "hls/arith/draw.h"
#include "nn/data/dataset.h"
#include "nn/data/picture.h"
#include "nn/data/resize.h"
#include "nn/data/sample_files.h"
#include "nn/model.h"

enum { TRIES = 10 };

static void files_close(struct dataset *d)
{
    struct files *f = d->own;
    if (!f)
        return;
    struct files_list *const lists[] = {&f->train, &f->test};
    for (int i = 0; i < 2; i++)
        free(lists[i]->names), free(lists[i]->name), free(lists[i]->label);
    free(f->classes);
    free(f);
}

/* Pictures of a class follow each other. Moments are ImageNet's, as in torchvision's models. */
static int files_settle(struct dataset *d, size_t subset)
{
    static const float mean[FILES_CHANNELS] = {0.485F, 0.456F, 0.406F},
                       std[] = {0.229F, 0.224F, 0.225F};
    struct files_list *l = &((struct files *)d->own)->train;
    const size_t quota = subset / (size_t)d->n_classes;
    size_t to = 0;
    for (int c = 0; c < FILES_CHANNELS; c++)
        d->mean[c] = mean[c], d->inv_std[c] = 1 / std[c];
    if (!subset)
        return 0;
    if (subset % (size_t)d->n_classes)
        return ERR(-EINVAL, "cannot take a subset of %zu images: need a multiple of the %d classes",
                   subset, d->n_classes);
    for (size_t i = 0, first = 0; i < l->n; i++) {
        first = l->label[i] == l->label[first] ? first : i;
        if (i - first >= quota)
            continue;
        l->name[to] = l->name[i];
        l->label[to++] = l->label[i];
    }
    if (to != subset)
        return ERR(-EINVAL,
                   "cannot take a subset of %zu images: '%s' has classes of fewer than %zu", subset,
                   d->name, quota);
    d->n_train = l->n = subset;
    return 0;
}

static double uniform(struct draw *draw, double low, double high)
{
    return low + draw_u32(draw) * 0x1p-32 * (high - low);
}

/* d / 2, rounded as Python's round() does. */
static int half_even(int d)
{
    return d / 2 + (d & d / 2 & 1);
}

/* All of the picture, with a margin of 1/8 of its shorter side in all. */
static struct resize middle(const struct picture *p, int side)
{
    const int shorter = p->h < p->w ? p->h : p->w, to = (int)(side * 256LL / 224);
    struct resize r = {.h = p->h, .w = p->w, .side = side};
    r.to_h = (int)((int64_t)to * p->h / shorter);
    r.to_w = (int)((int64_t)to * p->w / shorter);
    r.top = half_even(r.to_h - side);
    r.left = half_even(r.to_w - side);
    return r;
}

static struct resize cut(int y, int x, int h, int w, int side)
{
    return (struct resize){
        .y = y, .x = x, .h = h, .w = w, .to_h = side, .to_w = side, .side = side};
}

/* If no part of a drawn size fits, the largest one in the middle whose sides differ by at most
 * 4:3. */
static struct resize random_part(const struct picture *p, struct draw *draw, int side)
{
    for (int i = 0; i < TRIES; i++) {
        const double area = uniform(draw, 0.08, 1) * p->h * p->w;
        const double ratio = exp(uniform(draw, log(3. / 4), log(4. / 3)));
        const int w = (int)(sqrt(area * ratio) + 0.5), h = (int)(sqrt(area / ratio) + 0.5);
        if (w < 1 || h < 1 || w > p->w || h > p->h)
            continue;
        const int y = (int)draw_below(draw, (uint32_t)(p->h - h + 1));
        return cut(y, (int)draw_below(draw, (uint32_t)(p->w - w + 1)), h, w, side);
    }
    const int most_w = (int)(p->h * 4. / 3 + 0.5), most_h = (int)(p->w * 4. / 3 + 0.5);
    const int w = p->w < most_w ? p->w : most_w, h = p->h < most_h ? p->h : most_h;
    return cut((p->h - h) / 2, (p->w - w) / 2, h, w, side);
}

static void normalise(const struct dataset *d, const uint8_t *square, bool flip, real *x)
{
    for (int row = 0; row < d->h; row++)
        for (int col = 0; col < d->w; col++) {
            const uint8_t *from =
                square + (row * d->w + (flip ? d->w - 1 - col : col)) * FILES_CHANNELS;
            for (int c = 0; c < FILES_CHANNELS; c++)
                *x++ = (real)((from[c] / 255.0 - (double)d->mean[c]) * (double)d->inv_std[c]);
        }
}

struct work {
    const struct dataset *d;
    const struct files_list *list;
    const uint32_t *index;
    int n;
    const struct dataset_augment *augment;
    real *x;
    atomic_int next; /* of index */
};

static int make(const struct work *w, int i, uint8_t *square)
{
    const struct dataset *d = w->d;
    const struct dataset_augment *a = w->augment;
    struct draw draw =
        a ? draw_open(a->seed, DRAW_PLACES, a->epoch, w->index[i]) : (struct draw){0};
    struct picture p;
    TRY(picture_read(w->list->path, w->list->names + w->list->name[w->index[i]], &p));
    const bool flip = a && draw_u32(&draw) >> 31 && a->how.flip;
    const struct resize r = a && a->how.crop ? random_part(&p, &draw, d->h) : middle(&p, d->h);
    const int rc = picture_resize(&p, &r, square);
    free(p.pixels);
    if (rc == 0)
        normalise(d, square, flip, w->x + (size_t)i * (size_t)d->h * (size_t)d->w * FILES_CHANNELS);
    return rc;
}

/* A thread; it keeps its first error, of picture `at`. */
struct worker {
    struct work *work;
    struct err_lines lines;
    int rc, at;
    pthread_t thread;
    bool runs;
};

static void drop(void *arg, bool error, const char *line)
{
    (void)arg, (void)error, (void)line;
}

static void *run(void *arg)
{
    struct worker *me = arg;
    struct work *w = me->work;
    const size_t bytes = (size_t)w->d->h * (size_t)w->d->w * FILES_CHANNELS;
    struct err_lines *before = err_turn(&me->lines);
    uint8_t *square = buf_alloc(bytes);
    for (int i; (i = atomic_fetch_add(&w->next, 1)) < w->n;) {
        const int rc = square ? make(w, i, square) : -ENOMEM;
        if (rc == 0)
            continue;
        memset(w->x + (size_t)i * bytes, 0, bytes * sizeof *w->x);
        if (me->at == w->n)
            me->rc = rc, me->at = i;
    }
    free(square);
    err_turn(before);
    return NULL;
}

/* Reports the error of the first picture, once in a run. */
static void settle_errors(struct files *f, const struct worker *workers, int n)
{
    const struct worker *first = workers;
    for (int i = 1; i < n; i++)
        if (workers[i].rc < 0 && (first->rc == 0 || workers[i].at < first->at))
            first = &workers[i];
    int none = 0;
    if (first->rc < 0 && atomic_compare_exchange_strong(&f->failed, &none, first->rc))
        (void)ERR(first->rc, "%s", first->lines.first);
}

static void files_to_real(const struct dataset *d, bool test, const uint32_t *index, int n,
                          const struct dataset_augment *augment, real *x)
{
    struct files *f = d->own;
    struct work work = {.d = d,
                        .list = test ? &f->test : &f->train,
                        .index = index,
                        .n = n,
                        .augment = augment,
                        .x = x};
    const int n_workers = f->n_threads < n ? f->n_threads : n;
    struct worker *workers = buf_alloc((size_t)n_workers * sizeof *workers);
    if (!workers) {
        atomic_store(&f->failed, -ENOMEM);
        memset(x, 0, (size_t)n * (size_t)d->h * (size_t)d->w * FILES_CHANNELS * sizeof *x);
        return;
    }
    for (int i = 0; i < n_workers; i++)
        workers[i] = (struct worker){.work = &work, .lines = {.to = drop}, .at = n};
    for (int i = 1; i < n_workers; i++) /* without a thread the others do its work */
        workers[i].runs = pthread_create(&workers[i].thread, NULL, run, &workers[i]) == 0;
    (void)run(&workers[0]);
    for (int i = 1; i < n_workers; i++)
        if (workers[i].runs)
            pthread_join(workers[i].thread, NULL);
    settle_errors(f, workers, n_workers);
    free(workers);
}

static void files_labels(const struct dataset *d, bool test, const uint32_t *index, int n,
                         const struct dataset_augment *augment, int32_t *labels, int32_t *lengths)
{
    const struct files *f = d->own;
    (void)augment; /* a label does not depend on the view */
    for (int i = 0; i < n; i++)
        labels[i] = (test ? &f->test : &f->train)->label[index[i]];
    for (int i = 0; lengths && i < n; i++)
        lengths[i] = d->h;
}

/* Contents are not read: only names and labels count. */
static uint32_t files_crc(const struct dataset *d, uint32_t crc)
{
    const struct files *f = d->own;
    const struct files_list *const lists[] = {&f->train, &f->test};
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < lists[k]->n; i++) {
            const char *name = lists[k]->names + lists[k]->name[i];
            crc = crc_more(crc, name, strlen(name) + 1);
            crc = crc_more(crc, &lists[k]->label[i], sizeof *lists[k]->label);
        }
    return crc;
}

static int files_failed(const struct dataset *d)
{
    return atomic_load(&((struct files *)d->own)->failed);
}

const struct sample_ops sample_files = {
    .name = "pictures",
    .target = NN_CLASS,
    .augments = AUGMENT_CROP | AUGMENT_FLIP,
    .settle = files_settle,
    .to_real = files_to_real,
    .labels = files_labels,
    .crc = files_crc,
    .close = files_close,
    .failed = files_failed,
};
