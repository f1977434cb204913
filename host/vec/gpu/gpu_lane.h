/* gpu_lane.h : Gives each thread a "lane": a stream, and lists in device memory for the arguments
 * and results of launches.
 *
 *     list --memcpy--> pinned --copy on the stream--> device --kernels--> one copy back
 *
 * Kernels read the device's copy, so they do not wait for the bus. The first call of gpu_lane() in
 * a thread makes its lane. The lane is freed when the thread ends or the device is closed. Lists
 * only grow, so a loop over the same work allocates memory only in its first round. */
#ifndef GPU_LANE_H
#define GPU_LANE_H
#include "device/run/dev.h"
#include "hls/arith/rules.h"

/* A list. bytes: size of the present contents. room: size of the memory. */
struct gpu_list {
    void *device, *pinned;
    size_t bytes, room;
};

struct gpu_lane {
    struct dev_stream *stream; /* urgent: its kernels go before those of the backward pass */
    struct gpu_list spans, outs, parts, items;
    uint32_t *flag;        /* pinned, [1], for run->signal() */
    struct gpu_lane *next; /* in the registry */
};

/* Returns the lane of the calling thread. A device must be open. Returns NULL after printing an
 * error and recording it for gpu_failed(). */
struct gpu_lane *gpu_lane(void);

/* These copy a list to the lane's device memory for the next launch on its stream, and return the
 * copy. The copy's absmax, which kernels raise, is set to 0. They return NULL after printing an
 * error and recording it for gpu_failed(). */
struct vec_span *gpu_lane_spans(struct gpu_lane *lane, const struct vec_span *spans, int n);
struct vec_out *gpu_lane_outs(struct gpu_lane *lane, const struct vec_out *outs, int n);
const uint8_t **gpu_lane_parts(struct gpu_lane *lane, const uint8_t *const *parts, int n);
/* Copies items of any other type, unchanged. */
void *gpu_lane_items(struct gpu_lane *lane, const void *items, int n, size_t item_bytes);

/* Waits for a launch, which had returned rc. Returns false if it failed, after recording that for
 * gpu_failed(). */
bool gpu_lane_done(struct gpu_lane *lane, int rc);
/* Does the same, and copies the list back. Returns its contents after the launch, which are valid
 * until the lane is used again. Returns NULL if the launch or the copy failed. */
const void *gpu_lane_answer(struct gpu_lane *lane, const struct gpu_list *list, int rc);

/* Only gpu.c calls these two, both while the device is open: gpu_lanes_open() before any thread
 * uses a lane, gpu_lanes_close() after all work. */
int gpu_lanes_open(const struct dev_run_ops *run);
void gpu_lanes_close(void);

#endif
