/* gpu_lane.h : gives each thread a "lane": a stream, and lists in device memory for the arguments
 * and results of launches.
 *
 *     list --memcpy--> pinned --copy on the stream--> device --kernels--> one copy back
 *
 * Kernels read the device's copy and so do not wait for the bus. A thread's first gpu_lane() makes
 * its lane, which another thread takes over when this one ends. Lists only grow: a loop
 * over the same work allocates memory only in its first round. */
#ifndef GPU_LANE_H
#define GPU_LANE_H
#include "device/run/dev.h"
#include "hls/arith/rules.h"

/* bytes: of the contents; room: of the memory */
struct gpu_list {
    void *device, *pinned;
    size_t bytes, room;
    struct gpu_list *outgrown; /* freed with the lane: freeing waits for all work on the device */
};

struct gpu_lane {
    struct dev_stream *stream; /* urgent: runs before the backward pass's kernels */
    struct gpu_list spans, outs, parts, items, exponents;
    uint32_t *flag;        /* pinned, [1], for run->signal() */
    struct gpu_lane *next; /* in the registry */
};

/* Returns the calling thread's lane. A device must be open. NULL after printing an error and
 * recording it for gpu_failed(). */
struct gpu_lane *gpu_lane(void);

/* Copy a list to device memory for the lane's next launch, and return the copy. absmax of spans is
 * 0 there; kernels raise it. Exponents of groups are copied to lane->exponents, one span's after
 * the other's, and the copy of the list points there. Return NULL as gpu_lane() does. */
struct vec_span *gpu_lane_spans(struct gpu_lane *lane, const struct vec_span *spans, int n);
struct vec_out *gpu_lane_outs(struct gpu_lane *lane, const struct vec_out *outs, int n);
const uint8_t **gpu_lane_parts(struct gpu_lane *lane, const uint8_t *const *parts, int n);
/* copies items of another type unchanged */
void *gpu_lane_items(struct gpu_lane *lane, const void *items, int n, size_t item_bytes);

/* Sum of a size_t member of `count` items, for launchers: GPU_LANE_SUM(spans, n_spans, padded). */
#define GPU_LANE_SUM(items, count, member) gpu_lane_sum(&(items)->member, (count), sizeof *(items))
size_t gpu_lane_sum(const size_t *member, int n, size_t item_bytes);

/* Waits for a launch that returned rc. If it failed, records that for gpu_failed() and returns
 * false. */
bool gpu_lane_done(struct gpu_lane *lane, int rc);
/* Launches gpu()->vec->slot(arguments, stream) on a lane and waits for it; a NULL lane does
 * nothing. Needs gpu.h and dev_vec.h. */
#define GPU_LANE_DO(lane, slot, ...)                                              \
    do {                                                                          \
        struct gpu_lane *own = lane;                                              \
        if (own)                                                                  \
            (void)gpu_lane_done(own, gpu()->vec->slot(__VA_ARGS__, own->stream)); \
    } while (0)
/* Like gpu_lane_done(), then copies the list back. Returns its contents, valid until the lane is
 * used again; NULL after a failure. */
const void *gpu_lane_answer(struct gpu_lane *lane, const struct gpu_list *list, int rc);
enum { GPU_NOT_FINITE = 0x7fc00000 };
/* Waits in the same way, and sets absmax of spans[n] to the one in `list`, their copy by
 * gpu_lane_spans(). After a failure, or if list is NULL, all are GPU_NOT_FINITE. */
void gpu_lane_absmax(struct gpu_lane *lane, const struct vec_span *list, int rc,
                     struct vec_span *spans, int n);

/* For gpu.c, while the device is open: gpu_lanes_open() before any thread uses a lane,
 * gpu_lanes_close() after all work. */
int gpu_lanes_open(const struct dev_run_ops *run);
void gpu_lanes_close(void);

#endif
