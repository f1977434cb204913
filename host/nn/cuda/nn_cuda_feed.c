/* nn_cuda_feed.c : brings images to the GPU: as floats (pure fp16: halves) when needed, or as bytes
 * in advance.
 *
 *   images --gather--> pinned --copy stream--> bytes --feed kernel, context's stream--> activations
 *              (waits until the slot's         (waits for the copy;
 *               last copy has left)             the next copy waits for it)
 *
 * A batch's parameters for the kernel precede its images, in the same copy. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "nn/cuda/nn_cuda.h"
#include "vec/vec.h"

int cuda_input_plan(void *ctx, size_t max_n)
{
    struct cuda *c = ctx;
    if (c->math == NN_FP32 || c->math == NN_TF32)
        return 0;
    if (c->math == NN_FP16_PURE) {
        c->halves = buf_alloc(max_n * sizeof *c->halves);
        return c->halves ? 0 : -ENOMEM;
    }
    c->input = c->run->alloc(max_n * sizeof *c->input);
    return c->input ? 0 : -ENOMEM;
}

void cuda_input(void *ctx, size_t n, const real *x, real *y)
{
    struct cuda *c = ctx;
    if (c->halves) {
        const struct vec_cast cast = vec_cast_to_16(true);
        vec_best()->encode(&cast, x, n, 0, 0, (uint8_t *)c->halves);
        cuda_keep(c, c->run->copy(y, c->halves, n * sizeof *c->halves, c->stream));
    } else {
        cuda_keep(c, c->run->copy(c->input ? c->input : y, x, n * sizeof *x, c->stream));
    }
    cuda_keep(c, c->run->wait(c->stream)); /* x may be reused */
    if (c->input)
        cuda_keep(c, c->ops->to_math(c->nn, n, c->input, y));
}

static size_t image_bytes(const struct cuda *c)
{
    const struct nn_shape s = c->feed.image;
    return (size_t)s.h * (size_t)s.w * (size_t)s.c;
}

/* offsets in a slot, bytes */
enum { KEYS = 0, WHICH = 2 * sizeof(uint64_t), ALIGN = 256 };
static size_t images_at(const struct cuda *c)
{
    const size_t end = WHICH + (size_t)c->feed.max_batch * sizeof(uint32_t);
    return (end + ALIGN - 1) / ALIGN * ALIGN;
}

static int slot_open(struct cuda *c, struct cuda_slot *s)
{
    const struct dev_run_ops *run = c->run;
    const size_t bytes = images_at(c) + (size_t)c->feed.max_batch * image_bytes(c);
    s->host = run->alloc_pinned(bytes);
    s->bytes = run->alloc(bytes);
    if (!s->host || !s->bytes)
        return -ENOMEM;
    const int rc = run->event_open(&s->copied);
    return rc < 0 ? rc : run->event_open(&s->taken);
}

static void slot_close(const struct cuda *c, struct cuda_slot *s)
{
    const struct dev_run_ops *run = c->run;
    run->free_pinned(s->host);
    run->free(s->bytes);
    if (s->copied)
        run->event_close(s->copied);
    if (s->taken)
        run->event_close(s->taken);
}

void cuda_feed_close(struct cuda *c)
{
    if (!c->copies)
        return;
    (void)c->run->wait(c->copies);
    for (int i = 0; i < NN_SLOTS; i++)
        slot_close(c, &c->slots[i]);
    c->run->stream_close(c->copies);
    c->copies = NULL;
}

int cuda_feed_open(void *ctx, const struct nn_feed *f)
{
    struct cuda *c = ctx;
    c->feed = *f;
    int rc = c->run->stream_open(true, &c->copies);
    for (int i = 0; rc == 0 && i < NN_SLOTS; i++)
        rc = slot_open(c, &c->slots[i]);
    if (rc < 0)
        cuda_feed_close(c);
    return rc;
}

/* An event that was never recorded does not block. */
void cuda_feed_send(void *ctx, int slot, const struct nn_bytes *b)
{
    struct cuda *c = ctx;
    struct cuda_slot *s = &c->slots[slot];
    const size_t image = image_bytes(c), first = images_at(c), n = (size_t)b->n;
    const uint64_t keys[2] = {c->feed.seed, b->epoch};
    cuda_keep(c, c->run->event_sync(s->copied));
    s->n = b->n;
    s->augment = b->augment;
    memcpy(s->host + KEYS, keys, sizeof keys);
    memcpy(s->host + WHICH, b->index, n * sizeof *b->index);
    for (size_t i = 0; i < n; i++)
        memcpy(s->host + first + i * image, b->images + b->index[i] * image, image);
    cuda_keep(c, c->run->event_wait(s->taken, c->copies));
    cuda_keep(c, c->run->copy(s->bytes, s->host, first + n * image, c->copies));
    cuda_keep(c, c->run->event_record(s->copied, c->copies));
}

void cuda_feed_take(void *ctx, int slot, real *x)
{
    struct cuda *c = ctx;
    struct cuda_slot *s = &c->slots[slot];
    struct dev_feed feed = {.image = c->feed.image, .shown = c->feed.shown, .batch = s->n};
    memcpy(feed.mean, c->feed.mean, sizeof feed.mean);
    memcpy(feed.inv_std, c->feed.inv_std, sizeof feed.inv_std);
    if (s->augment)
        feed.augment = c->feed.augment;
    cuda_keep(c, c->run->event_wait(s->copied, c->stream));
    cuda_keep(c, c->ops->feed(c->nn, &feed, s->bytes + images_at(c),
                              (const uint32_t *)(const void *)(s->bytes + WHICH),
                              (const uint64_t *)(const void *)(s->bytes + KEYS), x));
    cuda_keep(c, c->run->event_record(s->taken, c->stream));
}
