/* xrt_work.h : calls of xrt_library.h with a deadline: a thread of its own makes them, one at a time.
 * What it makes them with stands in memory of its own, since a call that is not back in time may
 * still come back later. */
#ifndef XRT_WORK_H
#define XRT_WORK_H
#include "offload/xrt/xclbin.h"
#include "offload/xrt/xrt_library.h"

enum xrt_work_kind {
    XRT_WORK_OPEN,
    XRT_WORK_ABOUT,
    XRT_WORK_READ,
    XRT_WORK_WRITE,
    XRT_WORK_BUFFER,
    XRT_WORK_BUFFER_CLOSE,
    XRT_WORK_SYNC,
    XRT_WORK_RUN,
    XRT_WORK_CLOSE
};

/* A call, in and out; what a kind does not use is 0. */
struct xrt_task {
    enum xrt_work_kind kind;
    enum kernel kernel;
    uint32_t at, value; /* READ, WRITE; value: out of READ */
    int arg;            /* BUFFER */
    size_t bytes;       /* BUFFER, SYNC */
    bool to_card;       /* SYNC */
    struct xrt_buffer *buffer;
    void *map;                    /* out of BUFFER */
    struct xrt_about about;       /* out of ABOUT */
    uint8_t uuid[XRT_UUID_BYTES]; /* out of OPEN */
    struct xrt_value args[KERNEL_MOST_ARGS];
    int n_args;
    double timeout_s; /* RUN */
    int rc;           /* out */
    char why[XRT_WHY_BYTES];
};

struct xrt_work;

/* Starts the thread. where: of xrt_library.h's open(). xclbin: taken over also when this
 * fails; NULL: none is loaded. NULL: no memory or no thread. */
struct xrt_work *xrt_work_start(const struct xrt_library *library, const char *where,
                                struct xclbin *xclbin);

/* Makes a call and waits for it. Its result is task->rc. False: it was not back after timeout_s; the
 * thread is left alone with it and cleans up should it come back, and w is no longer the caller's. A
 * process with such a thread ends without the exit handlers that were registered before that. */
bool xrt_work_do(struct xrt_work *w, struct xrt_task *task, double timeout_s);

/* Threads of this process that XRT has not given back. */
int xrt_work_lost(void);

/* Closes the device and ends the thread, or leaves it alone after timeout_s. NULL is legal. */
void xrt_work_end(struct xrt_work *w, double timeout_s);

#endif
