/* gpu_await.h : waits for work in a CUDA stream of the caller. */
#ifndef GPU_AWAIT_H
#define GPU_AWAIT_H
#include "comm/comm.h"
#include "device/run/dev.h"

/* Wait until an event has passed, by polling: its stream may itself wait for other ranks. A failure
 * and comm's deadline end the wait, and `ends` does if it returns a negative errno instead of 0.
 * Returns 0 or a negative errno. */
int gpu_await(struct comm *c, struct dev_event *e, int (*ends)(void *arg), void *arg);

/* Close events whose streams may be stuck, after a failure or in mid-step: those that do not pass
 * within COMM_LIVENESS_S, all together, are left (dev_run_ops.event_leave). events: [n], of which
 * any may be NULL. */
void gpu_await_leave(struct dev_event *const *events, int n);

#endif
