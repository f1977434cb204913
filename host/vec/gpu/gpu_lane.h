/* gpu_lane.h : Gives each thread a stream and lists in device memory, for arguments and results.
 *
 *     list --memcpy--> pinned --copy on the stream--> device --kernels--> one copy back
 *
 * So no kernel waits for the bus. A lane is made on a thread's first call, and freed when the
 * thread ends or the device is closed. Lists only grow, so a loop over the same work allocates in
 * its first round only. */
#ifndef GPU_LANE_H
#define GPU_LANE_H
#include "device/run/dev.h"
#include "hls/arith/rules.h"

/* bytes: last written; room: available */
struct gpu_list {
    void *device, *pinned;
    size_t bytes, room;
};

struct gpu_lane {
    struct dev_stream *stream; /* urgent: runs before kernels of the backward pass */
    struct gpu_list spans, outs, parts, items;
    uint32_t *flag;        /* pinned, [1], for run->signal() */
    struct gpu_lane *next; /* in the registry */
};

/* Returns the calling thread's lane; a device must be open. NULL after printing an error
 * and setting gpu_failed(). */
struct gpu_lane *gpu_lane(void);

/* Copy a list to the lane's device memory, for the next launch on its stream, and return the copy.
 * absmax, which kernels raise, is set to 0 there. Return NULL after printing an error and setting
 * gpu_failed(). */
struct vec_span *gpu_lane_spans(struct gpu_lane *lane, const struct vec_span *spans, int n);
struct vec_out *gpu_lane_outs(struct gpu_lane *lane, const struct vec_out *outs, int n);
const uint8_t **gpu_lane_parts(struct gpu_lane *lane, const uint8_t *const *parts, int n);
/* the same for items of any kind, unchanged */
void *gpu_lane_items(struct gpu_lane *lane, const void *items, int n, size_t item_bytes);

/* Waits for a launch that returned rc. Returns false, with the failure noted, if it failed. */
bool gpu_lane_done(struct gpu_lane *lane, int rc);
/* The same; returns the list's contents afterwards, valid until the lane is used
 * again. NULL: failed. */
const void *gpu_lane_answer(struct gpu_lane *lane, const struct gpu_list *list, int rc);

/* For gpu.c: with the device open, before any lane, and after all work. */
int gpu_lanes_open(const struct dev_run_ops *run);
void gpu_lanes_close(void);

#endif
