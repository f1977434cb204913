/* xrt_work.h : makes calls of xrt_library.h in a separate thread, one at a time, with a deadline.
 * Arguments are copied, since an abandoned call may still return. */
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

/* of one call; unused fields are 0 */
struct xrt_task {
    enum xrt_work_kind kind;
    enum kernel kernel;
    uint32_t at, value; /* READ, WRITE; value is an output of READ */
    int arg;            /* BUFFER */
    size_t bytes;       /* BUFFER, SYNC */
    bool to_card;       /* SYNC */
    struct xrt_buffer *buffer;
    void *map;                    /* output of BUFFER */
    struct xrt_about about;       /* output of ABOUT */
    uint8_t uuid[XRT_UUID_BYTES]; /* output of OPEN */
    struct xrt_value args[KERNEL_MAX_ARGS];
    int n_args;
    double timeout_s; /* RUN */
    int rc;           /* output */
    char why[XRT_WHY_BYTES];
};

struct xrt_work;

/* Starts the thread. where: as for open() of xrt_library.h. xclbin: to load, or NULL; the thread
 * owns it, even after a failure. Returns NULL without memory or a thread. */
struct xrt_work *xrt_work_start(const struct xrt_library *library, const char *where,
                                struct xclbin *xclbin);

/* Makes a call and waits for task->rc. Returns false after timeout_s: w no longer belongs to the
 * caller, and the thread cleans up if the call ever returns. While such a call is pending, the
 * process exits without the exit handlers registered before the call. */
bool xrt_work_do(struct xrt_work *w, struct xrt_task *task, double timeout_s);

/* Returns how many threads are blocked in XRT. */
int xrt_work_lost(void);

/* Closes the device and ends the thread, or abandons it after timeout_s. NULL is legal. */
void xrt_work_end(struct xrt_work *w, double timeout_s);

#endif
