/* feed.c : queues batches, each uploaded, or made on the host, before its step begins. */
#include "nn/data/feed.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"
#include "nn/data/dataset.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct batch {
    bool test, sent;
    int n;
    uint64_t epoch;
    uint32_t *index;  /* [max_batch] */
    int32_t *labels;  /* [max_batch, nn_model_target] */
    int32_t *lengths; /* [max_batch] */
};

struct feed {
    struct nn_model *m;
    const struct dataset *d;
    struct dataset_augment augment;
    int max_batch;
    bool by_host;
    real *x; /* [max_batch, image]; only if by_host */
    struct batch slots[NN_SLOTS];
    int head, n_waiting;
};

static int take_memory(struct feed *f)
{
    const struct nn_shape s = dataset_shape(f->d);
    const size_t n = (size_t)f->max_batch, image = (size_t)s.h * (size_t)s.w * (size_t)s.c,
                 targets = (size_t)nn_model_target(f->m).n;
    for (int i = 0; i < NN_SLOTS; i++) {
        struct batch *b = &f->slots[i];
        b->index = buf_alloc(n * sizeof *b->index);
        b->labels = buf_alloc(n * targets * sizeof *b->labels);
        b->lengths = buf_alloc(n * sizeof *b->lengths);
        if (!b->index || !b->labels || !b->lengths)
            return -ENOMEM;
    }
    f->x = f->by_host ? buf_alloc(n * image * sizeof *f->x) : NULL;
    return f->by_host && !f->x ? -ENOMEM : 0;
}

/* Return 0, the backend's failure, or -ENOSYS if it does not accept bytes or the samples have
 * none. */
static int open_backend(struct feed *f)
{
    struct nn_feed setup = {
        .max_batch = f->max_batch, .augment = f->augment.how, .seed = f->augment.seed};
    if (!f->d->samples->bytes_for_gpu)
        return -ENOSYS;
    f->d->samples->bytes_for_gpu(f->d, &setup);
    return nn_model_ops(f->m)->feed_open(nn_model_ctx(f->m), &setup);
}

int feed_open(struct nn_model *m, const struct dataset *d, const struct dataset_augment *augment,
              int max_batch, struct feed **out)
{
    struct feed *f = calloc(1, sizeof *f);
    if (!f)
        return ERR(-ENOMEM, "cannot open the feed of images: no memory");
    *f = (struct feed){.m = m, .d = d, .augment = *augment, .max_batch = max_batch};
    int rc = open_backend(f);
    f->by_host = rc == -ENOSYS;
    rc = f->by_host ? 0 : rc;
    if (rc == 0)
        rc = take_memory(f);
    if (rc < 0) {
        feed_close(f);
        return rc;
    }
    *out = f;
    return 0;
}

void feed_close(struct feed *f)
{
    if (!f)
        return;
    for (int i = 0; i < NN_SLOTS; i++) {
        free(f->slots[i].index);
        free(f->slots[i].labels);
        free(f->slots[i].lengths);
    }
    free(f->x);
    free(f);
}

static struct batch *append(struct feed *f, int n)
{
    assert(f->n_waiting < NN_SLOTS && n > 0 && n <= f->max_batch);
    struct batch *b = &f->slots[(f->head + f->n_waiting++) % NN_SLOTS];
    b->n = n;
    b->sent = false;
    return b;
}

void feed_next(struct feed *f, uint64_t epoch, const uint32_t *index, int n)
{
    struct batch *b = append(f, n);
    b->test = false;
    b->epoch = epoch;
    memcpy(b->index, index, (size_t)n * sizeof *index);
}

void feed_next_test(struct feed *f, size_t first, int n)
{
    struct batch *b = append(f, n);
    b->test = true;
    for (int i = 0; i < n; i++)
        b->index[i] = (uint32_t)first + (uint32_t)i;
}

int feed_waiting(const struct feed *f)
{
    return f->n_waiting;
}

static struct dataset_augment augment_of(const struct feed *f, const struct batch *b)
{
    struct dataset_augment augment = f->augment;
    augment.epoch = b->epoch;
    return augment;
}

static void send(struct feed *f, int slot)
{
    struct batch *b = &f->slots[slot];
    const struct dataset *d = f->d;
    const struct nn_bytes bytes = {.images = b->test ? d->test_x : d->train_x,
                                   .index = b->index,
                                   .n = b->n,
                                   .augment = !b->test,
                                   .epoch = b->epoch};
    const struct dataset_augment augment = augment_of(f, b);
    d->samples->labels(d, b->test, b->index, b->n, b->test ? NULL : &augment, b->labels,
                       b->lengths);
    nn_model_ops(f->m)->feed_send(nn_model_ctx(f->m), slot, &bytes);
    b->sent = true;
}

static void send_waiting(void *ctx)
{
    struct feed *f = ctx;
    for (int i = 0; i < f->n_waiting; i++) {
        const int slot = (f->head + i) % NN_SLOTS;
        if (!f->slots[slot].sent)
            send(f, slot);
    }
}

static int pop(struct feed *f)
{
    const int slot = f->head;
    assert(f->n_waiting > 0);
    if (!f->by_host && !f->slots[slot].sent)
        send(f, slot);
    f->head = (f->head + 1) % NN_SLOTS;
    f->n_waiting--;
    return slot;
}

static void make(struct feed *f, struct batch *b)
{
    const struct dataset_augment augment = augment_of(f, b);
    dataset_batch(f->d, b->test, b->index, b->n, b->test ? NULL : &augment, f->x, b->labels,
                  b->lengths);
}

/* Fills *sent if the batch is in backend memory. */
static struct nn_batch take(struct feed *f, struct nn_sent *sent)
{
    const int slot = pop(f);
    struct batch *b = &f->slots[slot];
    *sent = (struct nn_sent){slot, send_waiting, f};
    if (f->by_host)
        make(f, b);
    return (struct nn_batch){.n = b->n,
                             .x = f->by_host ? f->x : NULL,
                             .sent = f->by_host ? NULL : sent,
                             .labels = b->labels,
                             .lengths = b->lengths};
}

struct nn_result feed_train(struct feed *f, uint64_t key, nn_grad_ready *ready, void *ctx)
{
    struct nn_sent sent;
    const struct nn_batch batch = take(f, &sent);
    return nn_model_train(f->m, &batch, key, ready, ctx);
}

struct nn_result feed_eval(struct feed *f)
{
    struct nn_sent sent;
    const struct nn_batch batch = take(f, &sent);
    return nn_model_eval(f->m, &batch);
}

enum { BORDER = 4, CUTOUT = 8 }; /* pixels; BORDER: He's recipe for CIFAR, CUTOUT: DavidNet's */

static int refuse(const char *words)
{
    return ERR(
        -EINVAL,
        "unknown --augment \"%s\": need none, or crop (or crop-reflect), flip and cutout[:N] with "
        "N 1..%d, each at most once and joined by +: crop-reflect+flip+cutout:%d",
        words, DATASET_SIDE_MAX, CUTOUT);
}

static int read_side(const char *part, size_t n)
{
    static const char name[] = "cutout:";
    const size_t digits = sizeof name - 1;
    int side = 0;
    if (word_is(part, n, "cutout"))
        return CUTOUT;
    if (n <= digits || n > digits + 2 || memcmp(part, name, digits))
        return 0;
    for (size_t i = digits; i < n; i++) {
        if (part[i] < '0' || part[i] > '9')
            return 0;
        side = side * 10 + part[i] - '0';
    }
    return side <= DATASET_SIDE_MAX ? side : 0;
}

int augment_spec(const char *words, struct augment *out)
{
    struct augment a = {0};
    if (!strcmp(words, "none")) {
        *out = a;
        return 0;
    }
    for (const char *part = words;; part++) {
        const size_t n = strcspn(part, "+");
        const bool reflect = word_is(part, n, "crop-reflect");
        if (!a.crop && (reflect || word_is(part, n, "crop")))
            a.crop = BORDER, a.reflect = reflect;
        else if (!a.flip && word_is(part, n, "flip"))
            a.flip = 1;
        else if (a.cutout || !(a.cutout = read_side(part, n)))
            return refuse(words);
        part += n;
        if (!*part)
            break;
    }
    *out = a;
    return 0;
}

int augment_fits(const struct dataset *d, const struct augment *a)
{
    const int least = d->h < d->w ? d->h : d->w;
    const struct {
        bool asked;
        unsigned bit;
        const char *word;
    } words[] = {{a->crop && !a->reflect, AUGMENT_CROP, "crop"},
                 {a->reflect, AUGMENT_REFLECT, "crop-reflect"},
                 {a->flip, AUGMENT_FLIP, "flip"},
                 {a->cutout, AUGMENT_CUTOUT, "cutout"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (words[i].asked && !(d->samples->augments & words[i].bit))
            return ERR(-EINVAL, "--augment %s is impossible for %s such as those of '%s'",
                       words[i].word, d->samples->name, d->name);
    if (a->cutout > least)
        return ERR(-EINVAL, "--augment cutout:%d does not fit images of %dx%d: N may be at most %d",
                   a->cutout, d->h, d->w, least);
    return 0;
}
