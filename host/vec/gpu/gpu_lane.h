/* gpu_lane.h : what a thread has of its own on the GPU: a stream, and lists in device memory that
 * kernels read their arguments from and leave answers in.
 *
 *     list --memcpy--> pinned --copy on the stream--> device --kernels--> the same copy back, once
 *
 * so no kernel waits for the bus. Made when a thread first asks, freed when it ends or when the device
 * is closed. Lists grow while they meet longer ones, so a loop over the same work allocates in its
 * first round alone. */
#ifndef GPU_LANE_H
#define GPU_LANE_H
#include "device/run/dev.h"
#include "hls/arith/rules.h"

/* bytes: of what was last put there; room: as much as there is */
struct gpu_list {
    void *device, *pinned;
    size_t bytes, room;
};

struct gpu_lane {
    struct dev_stream *stream; /* urgent: what others wait for goes before backward's kernels */
    struct gpu_list spans, outs, parts, items;
    uint32_t *flag;        /* pinned, [1] of run->signal() */
    struct gpu_lane *next; /* of the registry */
};

/* The calling thread's. A device must be open. NULL after a line, and gpu_failed() is set. */
struct gpu_lane *gpu_lane(void);

/* Its list in device memory, for what is launched next on its stream: these, where absmax, which
 * kernels raise, is 0. NULL after a line, and gpu_failed() is set. */
struct vec_span *gpu_lane_spans(struct gpu_lane *lane, const struct vec_span *spans, int n);
struct vec_out *gpu_lane_outs(struct gpu_lane *lane, const struct vec_out *outs, int n);
const uint8_t **gpu_lane_parts(struct gpu_lane *lane, const uint8_t *const *parts, int n);
/* Of any kind; as they are. */
void *gpu_lane_items(struct gpu_lane *lane, const void *items, int n, size_t item_bytes);

/* Ends a call: what was launched, with this answer, is done, or has failed and is noted. */
bool gpu_lane_done(struct gpu_lane *lane, int rc);
/* The same; returns what became of the list, of the lane, until that is used again. NULL: it failed. */
const void *gpu_lane_answer(struct gpu_lane *lane, const struct gpu_list *list, int rc);

/* For gpu.c: with the device open, before any lane and after all work. */
int gpu_lanes_open(const struct dev_run_ops *run);
void gpu_lanes_close(void);

#endif
