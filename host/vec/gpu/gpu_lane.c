/* gpu_lane.c : keeps all threads' lanes in one registry, so that closing the device frees them. */
#include "vec/gpu/gpu_lane.h"
#include "base/buf.h"
#include "base/err.h"
#include "vec/gpu/gpu.h"
#include "vec/vec.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static struct {
    pthread_mutex_t lock;
    /* A new key at every opening of the device: no thread keeps an old lane. */
    pthread_key_t key;
    const struct dev_run_ops *run; /* NULL: closed */
    struct gpu_lane *first, *idle; /* of threads, and of threads that have ended */
} lanes = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void free_list(struct gpu_list *list)
{
    lanes.run->free(list->device);
    lanes.run->free_pinned(list->pinned);
    if (list->outgrown)
        free_list(list->outgrown);
    free(list->outgrown);
}

static void free_lane(struct gpu_lane *lane)
{
    lanes.run->stream_close(lane->stream);
    free_list(&lane->spans);
    free_list(&lane->outs);
    free_list(&lane->parts);
    free_list(&lane->items);
    free_list(&lane->exponents);
    lanes.run->free_pinned(lane->flag);
    free(lane);
}

/* Keeps the lane for another thread: freeing it would wait for all work on the device. */
static void thread_ends(void *arg)
{
    struct gpu_lane *lane = arg;
    pthread_mutex_lock(&lanes.lock);
    for (struct gpu_lane **at = &lanes.first; *at; at = &(*at)->next)
        if (*at == lane) { /* else the device was closed */
            *at = lane->next;
            lane->next = lanes.idle;
            lanes.idle = lane;
            break;
        }
    pthread_mutex_unlock(&lanes.lock);
}

int gpu_lanes_open(const struct dev_run_ops *run)
{
    if (pthread_key_create(&lanes.key, thread_ends))
        return ERR(-EAGAIN, "cannot use a GPU: the process has no free thread-local key");
    lanes.run = run;
    return 0;
}

static void free_lanes(struct gpu_lane **list)
{
    for (struct gpu_lane *lane = *list, *next; lane; lane = next) {
        next = lane->next;
        free_lane(lane);
    }
    *list = NULL;
}

void gpu_lanes_close(void)
{
    pthread_mutex_lock(&lanes.lock);
    pthread_key_delete(lanes.key);
    free_lanes(&lanes.first);
    free_lanes(&lanes.idle);
    lanes.run = NULL;
    pthread_mutex_unlock(&lanes.lock);
}

static int fill(struct gpu_lane *lane)
{
    TRY(lanes.run->stream_open(true, &lane->stream));
    lane->flag = lanes.run->alloc_pinned(sizeof *lane->flag);
    return lane->flag ? 0 : -ENOMEM;
}

static struct gpu_lane *idle_lane(void)
{
    pthread_mutex_lock(&lanes.lock);
    struct gpu_lane *lane = lanes.idle;
    if (lane)
        lanes.idle = lane->next;
    pthread_mutex_unlock(&lanes.lock);
    return lane;
}

static struct gpu_lane *new_lane(void)
{
    struct gpu_lane *lane = idle_lane();
    int rc = 0;
    if (!lane) {
        lane = buf_alloc(sizeof *lane);
        rc = lane ? fill(lane) : -ENOMEM;
    }
    if (rc == 0 && pthread_setspecific(lanes.key, lane))
        rc = ERR(-ENOMEM, "cannot use a GPU from another thread: out of memory");
    if (rc < 0) {
        if (lane)
            free_lane(lane);
        gpu_note(rc);
        return NULL;
    }
    pthread_mutex_lock(&lanes.lock);
    lane->next = lanes.first;
    lanes.first = lane;
    pthread_mutex_unlock(&lanes.lock);
    return lane;
}

struct gpu_lane *gpu_lane(void)
{
    struct gpu_lane *lane = pthread_getspecific(lanes.key);
    return lane ? lane : new_lane();
}

static int grow(struct gpu_list *list, size_t bytes)
{
    if (bytes <= list->room)
        return 0;
    const size_t room = bytes > 2 * list->room ? bytes : 2 * list->room;
    struct gpu_list next = {.device = lanes.run->alloc(room),
                            .pinned = lanes.run->alloc_pinned(room),
                            .room = room,
                            .outgrown = buf_alloc(sizeof *list)};
    if (!next.device || !next.pinned || !next.outgrown) {
        lanes.run->free(next.device);
        lanes.run->free_pinned(next.pinned);
        free(next.outgrown);
        return -ENOMEM;
    }
    *next.outgrown = *list;
    *list = next;
    return 0;
}

static void *filled(struct gpu_list *list, const void *from, int n, size_t item_bytes)
{
    const size_t bytes = (size_t)n * item_bytes;
    const int rc = grow(list, bytes);
    if (rc < 0)
        return gpu_note(rc), NULL;
    list->bytes = bytes;
    return memcpy(list->pinned, from, list->bytes);
}

static void *sent(struct gpu_lane *lane, const struct gpu_list *list)
{
    const int rc = lanes.run->copy(list->device, list->pinned, list->bytes, lane->stream);
    if (rc < 0)
        return gpu_note(rc), NULL;
    return list->device;
}

/* The place of the next `bytes` exponents. at: of the last ones; increased. */
static int8_t *attach(const struct gpu_list *list, const int8_t *exponents, size_t bytes,
                      size_t *at)
{
    int8_t *to = (int8_t *)list->device + *at;
    memcpy((int8_t *)list->pinned + *at, exponents, bytes);
    *at += bytes;
    return to;
}

/* Makes room for that many exponents, if any. */
static bool has_room(struct gpu_lane *lane, size_t bytes)
{
    const int rc = bytes ? grow(&lane->exponents, bytes) : 0;
    if (rc < 0)
        gpu_note(rc);
    lane->exponents.bytes = bytes;
    return rc == 0;
}

static size_t n_exponents(size_t n, uint32_t group, size_t lead)
{
    return group ? vec_n_groups(n + lead, group) : 0;
}
static size_t span_exponents(const struct vec_span *s)
{
    return n_exponents(s->n, s->group, s->group ? s->at % s->group : 0);
}
static size_t out_exponents(const struct vec_out *o)
{
    return n_exponents(o->n, o->group, o->lead);
}

static bool attach_spans(struct gpu_lane *lane, struct vec_span *list, int n)
{
    size_t bytes = 0, at = 0;
    for (int i = 0; i < n; i++)
        bytes += span_exponents(&list[i]);
    if (!has_room(lane, bytes))
        return false;
    for (int i = 0; i < n; i++)
        if (list[i].group)
            list[i].exponents =
                attach(&lane->exponents, list[i].exponents, span_exponents(&list[i]), &at);
    return !bytes || sent(lane, &lane->exponents);
}

static bool attach_outs(struct gpu_lane *lane, struct vec_out *list, int n)
{
    size_t bytes = 0, at = 0;
    for (int i = 0; i < n; i++)
        bytes += out_exponents(&list[i]);
    if (!has_room(lane, bytes))
        return false;
    for (int i = 0; i < n; i++)
        if (list[i].group)
            list[i].exponents =
                attach(&lane->exponents, list[i].exponents, out_exponents(&list[i]), &at);
    return !bytes || sent(lane, &lane->exponents);
}

struct vec_span *gpu_lane_spans(struct gpu_lane *lane, const struct vec_span *spans, int n)
{
    struct vec_span *list = filled(&lane->spans, spans, n, sizeof *spans);
    for (int i = 0; list && i < n; i++)
        list[i].absmax = 0;
    return list && attach_spans(lane, list, n) ? sent(lane, &lane->spans) : NULL;
}

struct vec_out *gpu_lane_outs(struct gpu_lane *lane, const struct vec_out *outs, int n)
{
    struct vec_out *list = filled(&lane->outs, outs, n, sizeof *outs);
    return list && attach_outs(lane, list, n) ? sent(lane, &lane->outs) : NULL;
}

const uint8_t **gpu_lane_parts(struct gpu_lane *lane, const uint8_t *const *parts, int n)
{
    return filled(&lane->parts, parts, n, sizeof *parts) ? sent(lane, &lane->parts) : NULL;
}

void *gpu_lane_items(struct gpu_lane *lane, const void *items, int n, size_t item_bytes)
{
    return filled(&lane->items, items, n, item_bytes) ? sent(lane, &lane->items) : NULL;
}

size_t gpu_lane_sum(const size_t *member, int n, size_t item_bytes)
{
    size_t sum = 0;
    for (int i = 0; i < n; i++)
        sum += *(const size_t *)((const char *)member + (size_t)i * item_bytes);
    return sum;
}

bool gpu_lane_done(struct gpu_lane *lane, int rc)
{
    if (rc == 0)
        rc = lanes.run->wait(lane->stream);
    if (rc < 0)
        gpu_note(rc);
    return rc == 0;
}

const void *gpu_lane_answer(struct gpu_lane *lane, const struct gpu_list *list, int rc)
{
    if (rc == 0)
        rc = lanes.run->copy(list->pinned, list->device, list->bytes, lane->stream);
    return gpu_lane_done(lane, rc) ? list->pinned : NULL;
}

void gpu_lane_absmax(struct gpu_lane *lane, const struct vec_span *list, int rc,
                     struct vec_span *spans, int n)
{
    const struct vec_span *now = list ? gpu_lane_answer(lane, &lane->spans, rc) : NULL;
    for (int i = 0; i < n; i++)
        spans[i].absmax = now ? now[i].absmax : GPU_NOT_FINITE;
}
