/* gpu_lane.c : every thread's stream and pinned lists, in one registry so that closing the device
 * frees them all. */
#include "vec/gpu_lane.h"
#include "base/buf.h"
#include "base/err.h"
#include "vec/gpu.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static struct {
    pthread_mutex_t lock;
    pthread_key_t
        /* the thread's lane; a new key for each time the device is open, so no thread keeps a stale
         * one */
        key;
    const struct dev_run_ops *run; /* NULL: closed */
    struct gpu_lane *first;
} lanes = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void free_lane(struct gpu_lane *lane)
{
    lanes.run->stream_close(lane->stream);
    lanes.run->free_pinned(lane->spans);
    lanes.run->free_pinned(lane->outs);
    lanes.run->free_pinned(lane->parts);
    lanes.run->free_pinned(lane->items);
    lanes.run->free_pinned(lane->flag);
    free(lane);
}

/* A thread ends. */
static void thread_ends(void *arg)
{
    pthread_mutex_lock(&lanes.lock);
    for (struct gpu_lane **at = &lanes.first; *at; at = &(*at)->next)
        if (*at == arg) { /* else the device was closed first */
            *at = (*at)->next;
            free_lane(arg);
            break;
        }
    pthread_mutex_unlock(&lanes.lock);
}

int gpu_lanes_open(const struct dev_run_ops *run)
{
    if (pthread_key_create(&lanes.key, thread_ends))
        return ERR(-EAGAIN, "cannot use a GPU: no thread-local key is left");
    lanes.run = run;
    return 0;
}

void gpu_lanes_close(void)
{
    pthread_mutex_lock(&lanes.lock);
    pthread_key_delete(lanes.key);
    for (struct gpu_lane *lane = lanes.first, *next; lane; lane = next) {
        next = lane->next;
        free_lane(lane);
    }
    lanes.first = NULL;
    lanes.run = NULL;
    pthread_mutex_unlock(&lanes.lock);
}

static int fill(struct gpu_lane *lane)
{
    TRY(lanes.run->stream_open(true, &lane->stream));
    lane->flag = lanes.run->alloc_pinned(sizeof *lane->flag);
    return lane->flag ? 0 : -ENOMEM;
}

static struct gpu_lane *new_lane(void)
{
    struct gpu_lane *lane = buf_alloc(sizeof *lane);
    int rc = lane ? fill(lane) : -ENOMEM;
    if (rc == 0 && pthread_setspecific(lanes.key, lane))
        rc = ERR(-ENOMEM, "cannot use a GPU from one more thread: out of memory");
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

/* list [*room] with room for n items; what it held is lost. */
static void *grow(void *list, int *room, int n, size_t item_bytes)
{
    if (n <= *room)
        return list;
    const int wanted = n > 2 * *room ? n : 2 * *room;
    lanes.run->free_pinned(list);
    list = lanes.run->alloc_pinned((size_t)wanted * item_bytes);
    *room = list ? wanted : 0;
    if (!list)
        gpu_note(-ENOMEM);
    return list;
}

struct vec_span *gpu_lane_spans(struct gpu_lane *lane, const struct vec_span *spans, int n)
{
    lane->spans = grow(lane->spans, &lane->spans_room, n, sizeof *spans);
    return lane->spans ? memcpy(lane->spans, spans, (size_t)n * sizeof *spans) : NULL;
}

struct vec_out *gpu_lane_outs(struct gpu_lane *lane, const struct vec_out *outs, int n)
{
    lane->outs = grow(lane->outs, &lane->outs_room, n, sizeof *outs);
    return lane->outs ? memcpy(lane->outs, outs, (size_t)n * sizeof *outs) : NULL;
}

const uint8_t **gpu_lane_parts(struct gpu_lane *lane, const uint8_t *const *parts, int n)
{
    lane->parts = grow(lane->parts, &lane->parts_room, n, sizeof *parts);
    return lane->parts ? memcpy(lane->parts, parts, (size_t)n * sizeof *parts) : NULL;
}

void *gpu_lane_items(struct gpu_lane *lane, const void *items, int n, size_t item_bytes)
{
    const size_t bytes = (size_t)n * item_bytes;
    lane->items = grow(lane->items, &lane->items_room, (int)bytes, 1);
    return lane->items ? memcpy(lane->items, items, bytes) : NULL;
}

bool gpu_lane_done(struct gpu_lane *lane, int rc)
{
    if (rc == 0)
        rc = lanes.run->wait(lane->stream);
    if (rc < 0)
        gpu_note(rc);
    return rc == 0;
}
