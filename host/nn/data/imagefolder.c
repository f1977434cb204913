/* imagefolder.c : reads folders of pictures by class, as those of ImageNet (ILSVRC 2012), and
 * decodes a picture whenever it is needed.
 *
 *   DIR/train/CLASS/FILE.jpg     CLASS: any name; classes are numbered in the names' order
 *   DIR/val/CLASS/FILE.jpg       (.jpeg and .png, too, in any case)
 *
 *   picture --crop: a random part; else all--> scaled --flip, one in two--> (v/255 - mean)/std
 *
 * Training images are cut and scaled as by torchvision's RandomResizedCrop and flipped at random,
 * test images (and training images without --augment) as by Resize(SIDE * 256/224) and CenterCrop
 * (Goyal et al. 2017, 5.1). Random numbers depend only on (seed, epoch, image). */
#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "base/crc.h"
#include "base/err.h"
#include "hls/arith/draw.h"
#include "nn/data/picture.h"
#include "nn/data/resize.h"
#include "nn/data/sources.h"
#include "nn/model.h"

enum { SIDE_DEFAULT = 224, THREADS_MAX = 64, CHANNELS = 3, TRIES = 10 };

/* pictures of train/ or val/ */
struct list {
    char *names; /* "CLASS/FILE", each with its zero */
    size_t n_bytes, room_bytes;
    size_t *name;    /* [n] in names */
    uint16_t *label; /* [n] */
    size_t n, room;
    char path[PATH_MAX];
};

struct files {
    struct list train, test;
    char (*classes)[NAME_MAX + 1]; /* [n_classes] */
    int n_threads;
    atomic_int failed;
};

/* ---- lists of files ---- */

static void *grown(void *list, size_t *room, size_t needed, size_t item)
{
    if (needed <= *room)
        return list;
    const size_t more = 2 * needed + 64;
    void *to = realloc(list, more * item);
    if (to)
        *room = more;
    else
        (void)ERR(-ENOMEM, "cannot allocate a list of %zu pictures", needed);
    return to;
}

static int add(struct list *l, const char *class, const char *file, int label)
{
    const size_t bytes = strlen(class) + strlen(file) + 2;
    size_t room = l->room;
    char *names = grown(l->names, &l->room_bytes, l->n_bytes + bytes, 1);
    if (!names)
        return -ENOMEM;
    l->names = names;
    size_t *name = grown(l->name, &room, l->n + 1, sizeof *l->name);
    if (!name)
        return -ENOMEM;
    l->name = name;
    uint16_t *labels = grown(l->label, &l->room, l->n + 1, sizeof *l->label);
    if (!labels)
        return -ENOMEM;
    l->label = labels;
    snprintf(l->names + l->n_bytes, bytes, "%s/%s", class, file);
    l->name[l->n] = l->n_bytes;
    l->label[l->n++] = (uint16_t)label;
    l->n_bytes += bytes;
    return 0;
}

static int is_picture(const struct dirent *d)
{
    const char *end = strrchr(d->d_name, '.');
    return d->d_name[0] != '.' && end &&
           (!strcasecmp(end, ".jpg") || !strcasecmp(end, ".jpeg") || !strcasecmp(end, ".png"));
}

static int add_class(struct list *l, const char *class, int label)
{
    char path[PATH_MAX + NAME_MAX + 2];
    struct dirent **files = NULL;
    snprintf(path, sizeof path, "%s/%s", l->path, class);
    const int n = source_list(path, is_picture, &files);
    int rc = n < 0 ? ERR(n, "cannot read folder '%s': %s", path, strerror(-n)) : 0;
    if (n == 0)
        rc = ERR(-ENOENT, "'%s' has no pictures, expected *.jpg, *.jpeg or *.png", path);
    for (int i = 0; i < n && rc == 0; i++)
        rc = add(l, class, files[i]->d_name, label);
    source_list_free(files, n);
    return rc;
}

static int find_class(const struct files *f, int n_classes, const char *name)
{
    int low = 0, high = n_classes;
    while (low < high) {
        const int middle = (low + high) / 2, order = strcmp(name, f->classes[middle]);
        if (order == 0)
            return middle;
        *(order < 0 ? &high : &low) = order < 0 ? middle : middle + 1;
    }
    return -1;
}

/* Lists the classes' folders; files beside them do not count. */
static int list_classes(const struct list *l, struct dirent ***out)
{
    int kept = 0;
    const int n = source_list(l->path, NULL, out);
    if (n < 0)
        return ERR(n,
                   "cannot read folder '%s': %s: need a folder such as ImageNet's "
                   "(image-net.org, ILSVRC 2012) with train/CLASS/*.jpg and val/CLASS/*.jpg",
                   l->path, strerror(-n));
    for (int i = 0; i < n; i++) {
        char path[PATH_MAX + NAME_MAX + 2];
        snprintf(path, sizeof path, "%s/%s", l->path, (*out)[i]->d_name);
        DIR *folder = opendir(path);
        if (folder)
            closedir(folder), (*out)[kept++] = (*out)[i];
        else
            free((*out)[i]);
    }
    return kept;
}

static int list_train(struct files *f, int *n_classes)
{
    struct dirent **classes = NULL;
    const int n = list_classes(&f->train, &classes);
    int rc = n < 0 ? n : 0;
    if (rc == 0 && (n < 2 || n > DATASET_CLASSES_MAX))
        rc = ERR(-EINVAL, "'%s' has %d folders of classes, expected 2 to %d", f->train.path, n,
                 DATASET_CLASSES_MAX);
    f->classes = rc == 0 ? buf_alloc((size_t)n * sizeof *f->classes) : NULL;
    if (rc == 0 && !f->classes)
        rc = -ENOMEM;
    for (int i = 0; i < n && rc == 0; i++) {
        snprintf(f->classes[i], sizeof f->classes[i], "%s", classes[i]->d_name);
        rc = add_class(&f->train, classes[i]->d_name, i);
    }
    *n_classes = n;
    source_list_free(classes, n);
    return rc;
}

static int list_test(struct files *f, int n_classes)
{
    struct dirent **classes = NULL;
    const int n = list_classes(&f->test, &classes);
    int rc = n < 0 ? n : 0;
    if (n == 0)
        rc = ERR(-ENOENT, "'%s' has no folders of classes", f->test.path);
    for (int i = 0; i < n && rc == 0; i++) {
        const char *name = classes[i]->d_name;
        const int label = find_class(f, n_classes, name);
        rc = label < 0 ? ERR(-EINVAL, "'%s/%s' is a class that '%s' does not have", f->test.path,
                             name, f->train.path)
                       : add_class(&f->test, name, label);
    }
    source_list_free(classes, n);
    return rc;
}

static int parse(const char *arg, struct files *f, int *side)
{
    char dir[PATH_MAX];
    long sides = SIDE_DEFAULT, threads = 1;
    TRY(source_folder(arg, dir, PATH_MAX - sizeof "/train", &sides, &threads));
    if (sides < NN_SIDE_MIN || sides > NN_SIDE_MAX || threads < 1 || threads > THREADS_MAX)
        return ERR(
            -EINVAL,
            "data set 'imagefolder:%s' has %ld pixels a side and %ld threads, expected %d to "
            "%d and 1 to %d",
            arg, sides, threads, NN_SIDE_MIN, NN_SIDE_MAX, THREADS_MAX);
    snprintf(f->train.path, PATH_MAX, "%.*s/train", PATH_MAX - 8, dir);
    snprintf(f->test.path, PATH_MAX, "%.*s/val", PATH_MAX - 8, dir);
    f->n_threads = (int)threads;
    *side = (int)sides;
    return 0;
}

int imagefolder_load(const char *arg, struct dataset *d)
{
    struct files *f = d->own = buf_alloc(sizeof *f);
    d->samples = &sample_files;
    if (!f)
        return -ENOMEM;
    TRY(parse(arg, f, &d->h));
    d->w = d->h;
    d->c = CHANNELS;
    TRY(list_train(f, &d->n_classes));
    TRY(list_test(f, d->n_classes));
    d->n_train = f->train.n;
    d->n_test = f->test.n;
    return 0;
}

static void files_close(struct dataset *d)
{
    struct files *f = d->own;
    struct list *const lists[] = {&f->train, &f->test};
    for (int i = 0; i < 2; i++)
        free(lists[i]->names), free(lists[i]->name), free(lists[i]->label);
    free(f->classes);
    free(f);
}

/* ---- samples ---- */

/* Pictures of a class follow each other. Moments are ImageNet's, as in torchvision's models. */
static int files_settle(struct dataset *d, size_t subset)
{
    static const float mean[CHANNELS] = {0.485F, 0.456F, 0.406F}, std[] = {0.229F, 0.224F, 0.225F};
    struct list *l = &((struct files *)d->own)->train;
    const size_t quota = subset / (size_t)d->n_classes;
    size_t to = 0;
    for (int c = 0; c < CHANNELS; c++)
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
            const uint8_t *from = square + (row * d->w + (flip ? d->w - 1 - col : col)) * CHANNELS;
            for (int c = 0; c < CHANNELS; c++)
                *x++ = (real)((from[c] / 255.0 - (double)d->mean[c]) * (double)d->inv_std[c]);
        }
}

struct work {
    const struct dataset *d;
    const struct list *list;
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
        normalise(d, square, flip, w->x + (size_t)i * (size_t)d->h * (size_t)d->w * CHANNELS);
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
    const size_t bytes = (size_t)w->d->h * (size_t)w->d->w * CHANNELS;
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
        memset(x, 0, (size_t)n * (size_t)d->h * (size_t)d->w * CHANNELS * sizeof *x);
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
    const struct list *const lists[] = {&f->train, &f->test};
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
    .name = "pictures of files",
    .target = NN_CLASS,
    .augments = AUGMENT_CROP | AUGMENT_FLIP,
    .settle = files_settle,
    .to_real = files_to_real,
    .labels = files_labels,
    .crc = files_crc,
    .close = files_close,
    .failed = files_failed,
};
