/* test_xrt_work.c : calls with a deadline (offload/xrt/xrt_work.c) into a library that returns
 * too late or never. */
#include "offload/xrt/xrt_work.h"
#include "check.h"
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_NAPS = 500 };
static _Atomic bool hangs;
static _Atomic int opened, closed, kernels, kernels_closed, reads, fail_next;

static void nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
}

static int answer(char *why)
{
    for (int i = 0; i < MAX_NAPS && hangs; i++)
        nap();
    if (!fail_next)
        return 0;
    fail_next = 0;
    snprintf(why, XRT_WHY_BYTES, "because");
    return -EREMOTEIO;
}

static int lib_open(const char *where, struct xrt_device **device, char *why)
{
    CHECK(!strcmp(where, "1"), "where %s", where);
    const int rc = answer(why);
    if (!rc) {
        *device = (struct xrt_device *)&opened;
        opened++;
    }
    return rc;
}
static void lib_close(struct xrt_device *device)
{
    CHECK(device == (void *)&opened, "another device");
    closed++;
}
static int lib_load(struct xrt_device *d, const void *x, size_t n, char *why)
{
    (void)d, (void)x, (void)n, (void)why;
    CHECK(0, "no container, nothing to load");
    return 0;
}
static int lib_uuid(struct xrt_device *d, uint8_t *out, char *why)
{
    (void)d, (void)why;
    memset(out, 7, XRT_UUID_BYTES);
    return 0;
}
static int lib_kernel(struct xrt_device *d, enum kernel k, struct xrt_kernel **out, char *why)
{
    (void)d, (void)why;
    kernels++;
    *out = (struct xrt_kernel *)((char *)&kernels + k);
    return 0;
}
static void lib_kernel_close(struct xrt_kernel *k)
{
    (void)k;
    CHECK(closed == 0, "a kernel is closed behind its device");
    kernels_closed++;
}
static int lib_read(struct xrt_kernel *k, uint32_t at, uint32_t *value, char *why)
{
    const int rc = answer(why);
    CHECK(k == (void *)((char *)&kernels + KERNEL_REDUCE_MM), "another kernel");
    reads++;
    *value = at + 1;
    return rc;
}

static const struct xrt_library library = {.open = lib_open,
                                           .close = lib_close,
                                           .load = lib_load,
                                           .uuid = lib_uuid,
                                           .kernel = lib_kernel,
                                           .kernel_close = lib_kernel_close,
                                           .read = lib_read};

static struct xrt_work *start(void)
{
    struct xrt_task t = {.kind = XRT_WORK_OPEN};
    opened = closed = kernels = kernels_closed = reads = 0;
    struct xrt_work *w = xrt_work_start(&library, "1", NULL);
    CHECK(w && xrt_work_do(w, &t, 5) && t.rc == 0 && t.uuid[15] == 7 && opened == 1, "open: %d",
          t.rc);
    return w;
}

static void check_calls(void)
{
    struct xrt_work *w = start();
    for (uint32_t at = 0; at < 1000; at++) {
        struct xrt_task t = {.kind = XRT_WORK_READ, .kernel = KERNEL_REDUCE_MM, .at = at};
        CHECK(xrt_work_do(w, &t, 5) && t.rc == 0 && t.value == at + 1, "read %u: %d", at, t.rc);
    }
    CHECK(kernels == 1 && reads == 1000, "%d kernels, %d reads", kernels, reads);
    fail_next = 1;
    struct xrt_task t = {.kind = XRT_WORK_READ, .kernel = KERNEL_REDUCE_MM};
    CHECK(xrt_work_do(w, &t, 5) && t.rc == -EREMOTEIO && !strcmp(t.why, "because"), "%d %s", t.rc,
          t.why);
    xrt_work_end(w, 5);
    CHECK(closed == 1 && kernels_closed == 1, "closed %d, kernels %d", closed, kernels_closed);
}

/* An abandoned call cleans up when it returns. */
static void check_late(void)
{
    struct xrt_work *w = start();
    struct xrt_task t = {.kind = XRT_WORK_READ, .kernel = KERNEL_REDUCE_MM};
    hangs = true;
    CHECK(!xrt_work_do(w, &t, 0.1) && t.rc == -ETIMEDOUT, "late: %d", t.rc);
    CHECK(strstr(t.why, "did not return"), "why '%s'", t.why);
    CHECK(reads == 0 && closed == 0, "closed while a call is under way, or waited for it");
    hangs = false;
    for (int i = 0; i < MAX_NAPS && closed == 0; i++)
        nap();
    CHECK(closed == 1 && kernels_closed == 1 && reads == 1, "closed %d, kernels %d, reads %d",
          closed, kernels_closed, reads);
}

static void check_late_open(void)
{
    struct xrt_task t = {.kind = XRT_WORK_OPEN};
    opened = closed = 0;
    hangs = true;
    struct xrt_work *w = xrt_work_start(&library, "1", NULL);
    CHECK(w && !xrt_work_do(w, &t, 0.05) && t.rc == -ETIMEDOUT, "late open: %d", t.rc);
    CHECK(opened == 0, "waited for the library");
    hangs = false;
    for (int i = 0; i < MAX_NAPS && closed == 0; i++)
        nap();
    CHECK(opened == 1 && closed == 1, "opened %d, closed %d", opened, closed);
}

/* A child skips handlers registered before the device was opened; XRT's would wait for threads
 * that the child lacks. */
static bool is_child;
static void as_xrt(void)
{
    if (is_child)
        _exit(7);
}

static void check_fork(void)
{
    struct xrt_work *w = start();
    struct xrt_task t = {.kind = XRT_WORK_READ, .kernel = KERNEL_REDUCE_MM};
    int status = 0;
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        is_child = true;
        exit(3);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 3,
          "a child's exit: status %d", status);
    CHECK(xrt_work_do(w, &t, 5) && t.rc == 0, "the parent reads: %d", t.rc);
    xrt_work_end(w, 5);
    CHECK(closed == 1, "closed %d", closed);
}

int main(void)
{
    atexit(as_xrt);
    check_calls();
    check_late();
    check_late_open();
    check_fork();
    xrt_work_end(NULL, 1);
    nanosleep(&(struct timespec){.tv_nsec = 50000000},
              NULL); /* time for the threads' last output */
    DONE();
}
