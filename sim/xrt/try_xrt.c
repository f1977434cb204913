/* try_xrt.c : tests a card with the kernels of hls/card/kernels.def by XRT's C API only.
 *
 * usage: try XCLBIN WHAT [N] */
#include "hls/card/kernels.h"
#include "hls/arith/mf.h"
#include "hls/card/regs.h"
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <xrt.h>
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>
#include <experimental/xrt_xclbin.h>

#define MUST(cond)                                                             \
    do {                                                                       \
        if (!(cond)) {                                                         \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #cond); \
            exit(1);                                                           \
        }                                                                      \
    } while (0)

struct opened {
    xrtDeviceHandle device;
    xuid_t uuid;
};

static struct opened open_card(const char *xclbin, const char *bdf)
{
    struct opened o;
    o.device = bdf ? xrtDeviceOpenByBDF(bdf) : xrtDeviceOpen(0);
    MUST(o.device);
    MUST(xrtDeviceLoadXclbinFile(o.device, xclbin) == 0);
    MUST(xrtDeviceGetXclbinUUID(o.device, o.uuid) == 0);
    return o;
}

/* Two handles can open a shared kernel, only one an exclusive kernel. */
static int twice(const char *xclbin, unsigned n)
{
    struct opened a = open_card(xclbin, NULL), b = open_card(xclbin, "0000:00:00.0");
    xrtKernelHandle ka = xrtPLKernelOpenExclusive(a.device, a.uuid, "nic_core");
    uint32_t ctrl = 9;
    (void)n;
    MUST(ka);
    MUST(!xrtPLKernelOpenExclusive(b.device, b.uuid, "nic_core"));
    MUST(xrtKernelWriteRegister(ka, REG_CTRL, 0) == 0 && xrtKernelClose(ka) == 0);
    xrtKernelHandle qa = xrtPLKernelOpen(a.device, a.uuid, "quant_kernel"),
                    qb = xrtPLKernelOpen(b.device, b.uuid, "quant_kernel"),
                    kb = xrtPLKernelOpenExclusive(b.device, b.uuid, "nic_core");
    MUST(qa && qb && kb);
    MUST(xrtKernelClose(qa) == 0 && xrtDeviceClose(a.device) == 0);
    MUST(xrtKernelReadRegister(kb, REG_CTRL, &ctrl) == 0 && ctrl == 0); /* the same card */
    MUST(xrtKernelClose(kb) == 0 && xrtKernelClose(qb) == 0);
    return xrtDeviceClose(b.device);
}

static int about(const char *xclbin, unsigned n)
{
    struct xclDeviceInfo2 info;
    xrtDeviceHandle d = xrtDeviceOpen(n);
    (void)xclbin;
    MUST(d);
    /* of the driver, which XRT loads when it opens a device */
    int (*get)(xclDeviceHandle, struct xclDeviceInfo2 *) = NULL;
    *(void **)&get = dlsym(RTLD_DEFAULT, "xclGetDeviceInfo2");
    MUST(get && get(xrtDeviceToXclDevice(d), &info) == 0);
    printf("%s slot %u %u C\n", info.mName, info.mPciSlot, info.mOnChipTemp);
    return xrtDeviceClose(d);
}

static int identity(const char *xclbin, unsigned n)
{
    struct opened o = open_card(xclbin, NULL);
    xrtKernelHandle k = xrtPLKernelOpenExclusive(o.device, o.uuid, "nic_core");
    uint32_t id = 0;
    (void)n;
    MUST(k && xrtKernelReadRegister(k, REG_ID, &id) == 0 && id == REG_ID_VALUE);
    MUST(xrtKernelWriteRegister(k, REG_DROP_IN, 4711) == 0);
    MUST(xrtKernelReadRegister(k, REG_DROP_IN, &id) == 0 && id == 4711);
    MUST(xrtKernelClose(k) == 0);
    return xrtDeviceClose(o.device);
}

static int registers(const char *xclbin, unsigned n)
{
    struct opened o = open_card(xclbin, "0000:00:00.0");
    xrtKernelHandle k = xrtPLKernelOpenExclusive(o.device, o.uuid, "nic_core");
    uint32_t id = 0, ctrl = 9, ip = 0, port = 0;
    (void)n;
    MUST(k);
    MUST(xrtKernelReadRegister(k, REG_ID, &id) == 0 && id == REG_ID_VALUE);
    MUST(xrtKernelWriteRegister(k, REG_CTRL, 0) == 0);
    MUST(xrtKernelReadRegister(k, REG_CTRL, &ctrl) == 0 && ctrl == 0);
    MUST(xrtKernelWriteRegister(k, REG_CTRL, REG_CTRL_ENABLE) == 0);
    MUST(xrtKernelReadRegister(k, REG_CTRL, &ctrl) == 0 && ctrl == REG_CTRL_ENABLE);
    MUST(xrtKernelReadRegister(k, SHELL_IP, &ip) == 0 &&
         xrtKernelReadRegister(k, SHELL_PORT, &port) == 0);
    printf("id 0x%08x, frames to %08x:%u\n", id, ip, port);
    MUST(ip && port);
    MUST(xrtKernelReadRegister(k, 0x8000, &id) != 0); /* no register */
    MUST(xrtKernelClose(k) == 0);
    return xrtDeviceClose(o.device);
}

static long pages(void)
{
    FILE *f = fopen("/proc/self/statm", "r");
    long n = 0;
    MUST(f && fscanf(f, "%*d %ld", &n) == 1);
    fclose(f);
    return n;
}

/* This process must not grow after the 500th run. */
static int runs(const char *xclbin, unsigned n)
{
    enum { PARTS = 3, BEATS = 5, STRIDE = 7, FMT = 0x43, OUT_FMT = 0x52 };
    const struct mf_fmt in = {4, 3, 0}, out = {5, 2, 0};
    struct opened o = open_card(xclbin, NULL);
    xrtKernelHandle k = xrtPLKernelOpenExclusive(o.device, o.uuid, "reduce_mm:{reduce_mm_1}");
    MUST(k);
    uint32_t seed = 1, status = 1;
    long before = 0;
    for (unsigned i = 0; i < (n ? n : 1); i++) {
        xrtBufferHandle from = xrtBOAlloc(o.device, 64 * PARTS * STRIDE, 0,
                                          (unsigned)xrtKernelArgGroupId(k, 0)),
                        to = xrtBOAlloc(o.device, 64 * BEATS, 0,
                                        (unsigned)xrtKernelArgGroupId(k, 1));
        MUST(from && to);
        uint8_t *x = xrtBOMap(from), *y = xrtBOMap(to);
        for (int j = 0; j < 64 * PARTS * STRIDE; j++)
            x[j] = (uint8_t)((seed = seed * 1664525 + 1013904223) >> 24);
        MUST(xrtBOSync(from, XCL_BO_SYNC_BO_TO_DEVICE, 64 * PARTS * STRIDE, 0) == 0);
        xrtRunHandle r = xrtKernelRun(k, from, to, PARTS, STRIDE, BEATS, FMT, OUT_FMT, 1, 1);
        MUST(r);
        /* with a time-out, libxrt_hwemu would always sleep for the whole time-out */
        MUST(xrtRunWait(r) == ERT_CMD_STATE_COMPLETED);
        MUST(xrtBOSync(to, XCL_BO_SYNC_BO_FROM_DEVICE, 64 * BEATS, 0) == 0);
        for (int j = 0; j < 64 * BEATS; j++) {
            uint64_t acc = 0;
            for (int p = 0; p < PARTS; p++)
                acc = mf_acc_add(in, acc, x[64 * STRIDE * p + j]);
            MUST(y[j] == mf_acc_round(in, acc, 1, out, MF_SATURATE));
        }
        MUST(xrtKernelReadRegister(k, 0x60, &status) == 0 && !(status >> 30));
        before = i == 500 ? pages() : before;
        MUST(xrtRunClose(r) == 0 && xrtBOFree(from) == 0 && xrtBOFree(to) == 0);
    }
    MUST(!before || pages() < before + 64);
    MUST(xrtKernelClose(k) == 0);
    return xrtDeviceClose(o.device);
}

static int memory(const char *xclbin, unsigned n)
{
    const size_t all = (size_t)1 << 30;
    struct opened o = open_card(xclbin, NULL);
    xrtKernelHandle k = xrtPLKernelOpen(o.device, o.uuid, "reduce_mm");
    MUST(k);
    const unsigned group = (unsigned)xrtKernelArgGroupId(k, 0);
    MUST(!xrtBOAlloc(o.device, all + 1, XCL_BO_FLAGS_DEV_ONLY, group));
    for (unsigned i = 0; i < (n ? n : 3); i++) {
        xrtBufferHandle b = xrtBOAlloc(o.device, all, XCL_BO_FLAGS_DEV_ONLY, group);
        MUST(b && xrtBOAddress(b) == 0x4000000000);
        MUST(!xrtBOAlloc(o.device, 1, 0, group));
        MUST(xrtBOFree(b) == 0);
    }
    xrtBufferHandle b[3];
    for (int i = 0; i < 3; i++) {
        b[i] = xrtBOAlloc(o.device, 5000, 0, group);
        MUST(b[i] && xrtBOAddress(b[i]) == 0x4000000000 + 8192 * (uint64_t)i);
    }
    MUST(xrtBOFree(b[1]) == 0);
    b[1] = xrtBOAlloc(o.device, 8192, 0, group);
    MUST(b[1] && xrtBOAddress(b[1]) == 0x4000000000 + 8192);
    uint8_t *x = xrtBOMap(b[0]);
    for (int i = 0; i < 5000; i++)
        x[i] = (uint8_t)(i * 7);
    MUST(xrtBOSync(b[0], XCL_BO_SYNC_BO_TO_DEVICE, 5000, 0) == 0);
    MUST(xrtBOSync(b[0], XCL_BO_SYNC_BO_TO_DEVICE, 5000, 1) != 0);
    MUST(xrtBOSync(b[0], XCL_BO_SYNC_BO_TO_DEVICE, (size_t)-1, 1) != 0);
    memset(x, 0, 5000);
    MUST(xrtBOSync(b[0], XCL_BO_SYNC_BO_FROM_DEVICE, 100, 200) == 0);
    for (int i = 0; i < 5000; i++)
        MUST(x[i] == (i >= 200 && i < 300 ? (uint8_t)(i * 7) : 0));
    for (int i = 0; i < 3; i++)
        MUST(xrtBOFree(b[i]) == 0);
    MUST(xrtKernelClose(k) == 0);
    return xrtDeviceClose(o.device);
}

static int hold(const char *xclbin, unsigned n)
{
    struct opened o = open_card(xclbin, NULL);
    xrtKernelHandle k = xrtPLKernelOpenExclusive(o.device, o.uuid, "nic_core");
    if (!k) {
        printf("%s\n", errno == EBUSY ? "busy" : strerror(errno));
        xrtDeviceClose(o.device);
        return 2;
    }
    puts("held");
    fflush(stdout);
    sleep(n);
    MUST(xrtKernelClose(k) == 0);
    return xrtDeviceClose(o.device);
}

/* Nothing of the first load may remain after the second. */
static int reload(const char *xclbin, unsigned n)
{
    struct opened o = open_card(xclbin, NULL);
    for (unsigned i = 0; i < 2; i++) {
        xrtKernelHandle k = xrtPLKernelOpenExclusive(o.device, o.uuid, "quant_kernel");
        uint32_t is = 9;
        (void)n;
        MUST(k);
        MUST(xrtKernelReadRegister(k, 0x28, &is) == 0 && is == 0);
        MUST(xrtKernelWriteRegister(k, 0x28, 4711) == 0);
        MUST(xrtKernelReadRegister(k, 0x28, &is) == 0 && is == 4711);
        MUST(xrtKernelClose(k) == 0);
        MUST(xrtDeviceLoadXclbinFile(o.device, xclbin) == 0);
    }
    return xrtDeviceClose(o.device);
}

static int dies(const char *xclbin, unsigned n)
{
    struct opened o = open_card(xclbin, NULL);
    xrtKernelHandle k = xrtPLKernelOpenExclusive(o.device, o.uuid, "nic_core");
    uint32_t id, reads = 0;
    MUST(k);
    while (reads < 10000 && xrtKernelReadRegister(k, REG_ID, &id) == 0)
        reads++;
    printf("%u reads\n", reads);
    MUST(reads == n);
    MUST(xrtKernelReadRegister(k, REG_ID, &id) != 0);
    xrtKernelClose(k);
    return xrtDeviceClose(o.device);
}

/* Prints the state of a run after at most n ms. */
static int fails(const char *xclbin, unsigned n)
{
    struct opened o = open_card(xclbin, NULL);
    xrtKernelHandle k = xrtPLKernelOpenExclusive(o.device, o.uuid, "reduce_mm");
    MUST(k);
    xrtBufferHandle b = xrtBOAlloc(o.device, 64, 0, (unsigned)xrtKernelArgGroupId(k, 0));
    MUST(b);
    xrtRunHandle r = xrtKernelRun(k, b, b, 1, 1, 1, 0x43, 0x43, 0, 0);
    MUST(r);
    printf("state %d\n", (int)xrtRunWaitFor(r, n));
    fflush(stdout);
    exit(0); /* leaves everything open */
}

static void *read_id(void *arg)
{
    static uint32_t id;
    return xrtKernelReadRegister(*(xrtKernelHandle *)arg, REG_ID, &id) ? NULL : &id;
}

/* A register read of a hanging card must fail when the card is closed. */
static int stuck(const char *xclbin, unsigned n)
{
    struct opened o = open_card(xclbin, NULL);
    xrtKernelHandle k = xrtPLKernelOpenExclusive(o.device, o.uuid, "nic_core");
    const struct timespec wait = {n / 1000, n % 1000 * 1000000L};
    pthread_t reader;
    void *id;
    MUST(k);
    MUST(pthread_create(&reader, NULL, read_id, &k) == 0);
    nanosleep(&wait, NULL);
    MUST(pthread_tryjoin_np(reader, &id) == EBUSY);
    MUST(xrtDeviceClose(o.device) == 0);
    /* k keeps XRT's device open after xrtDeviceClose(); exit() must end the reader's call */
    exit(0);
}

static int uuid(const char *xclbin, unsigned n)
{
    struct opened o = open_card(xclbin, NULL);
    xrtXclbinHandle x = xrtXclbinAllocFilename(xclbin);
    xuid_t own;
    (void)n;
    MUST(x && xrtXclbinGetUUID(x, own) == 0);
    puts(memcmp(own, o.uuid, sizeof own) ? "other" : "same");
    xrtXclbinFreeHandle(x);
    return xrtDeviceClose(o.device);
}

static int speed(const char *xclbin, unsigned n)
{
    struct opened o = open_card(xclbin, NULL);
    xrtKernelHandle k = xrtPLKernelOpenExclusive(o.device, o.uuid, "nic_core");
    struct timespec a, b;
    uint32_t id;
    MUST(k);
    clock_gettime(CLOCK_MONOTONIC, &a);
    for (unsigned i = 0; i < n; i++)
        MUST(xrtKernelReadRegister(k, REG_ID, &id) == 0);
    clock_gettime(CLOCK_MONOTONIC, &b);
    printf("%.1f us a read\n",
           ((double)(b.tv_sec - a.tv_sec) * 1e6 + (double)(b.tv_nsec - a.tv_nsec) * 1e-3) / n);
    MUST(xrtKernelClose(k) == 0);
    return xrtDeviceClose(o.device);
}

/* A forked child that exits must not affect the parent's card. */
static int forks(const char *xclbin, unsigned n)
{
    struct opened o = open_card(xclbin, NULL);
    uint32_t ctrl = 9;
    int status = 0;
    (void)n;
    /* XRT hangs in the exit of children forked later */
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        alarm(20);
        exit(0);
    }
    MUST(waitpid(child, &status, 0) == child && status == 0);
    xrtKernelHandle k = xrtPLKernelOpenExclusive(o.device, o.uuid, "nic_core");
    MUST(k && xrtKernelReadRegister(k, REG_CTRL, &ctrl) == 0);
    MUST(xrtKernelClose(k) == 0);
    return xrtDeviceClose(o.device);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(const char *xclbin, unsigned n);
    } all[] = {{"about", about},   {"identity", identity}, {"registers", registers},
               {"runs", runs},     {"memory", memory},     {"hold", hold},
               {"reload", reload}, {"dies", dies},         {"fails", fails},
               {"stuck", stuck},   {"uuid", uuid},         {"twice", twice},
               {"speed", speed},   {"forks", forks}};
    for (size_t i = 0; argc >= 3 && i < sizeof all / sizeof *all; i++)
        if (!strcmp(argv[2], all[i].name))
            return all[i].run(argv[1], argc > 3 ? (unsigned)atoi(argv[3]) : 0);
    fprintf(
        stderr,
        "usage: try XCLBIN "
        "about|identity|registers|runs|memory|hold|reload|dies|fails|stuck|uuid|twice|speed|forks "
        "[N]\n");
    return 1;
}
