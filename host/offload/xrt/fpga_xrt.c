/* fpga_xrt.c : implements libnarrowcast_xrt.so (xrt_library.h) with the C API of the Xilinx
 * runtime. XRT reports causes of errors only in a log, by default on the console. Here the log is a
 * file in memory; its last line becomes part of our message. */
#include "offload/xrt/xrt_library.h"
#include <dlfcn.h>
#include <errno.h>
#include <experimental/xrt_ini.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <version.h>
#include <xrt.h>
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

struct xrt_device {
    xrtDeviceHandle own;
    char where[32];
};

struct xrt_kernel {
    struct xrt_device *device;
    xrtKernelHandle own;
    xrtRunHandle run; /* NULL before the first */
    const char *name;
    bool lost; /* a run has not ended; XRT keeps its handle */
};

struct xrt_buffer {
    xrtBufferHandle own;
};

static struct {
    pthread_once_t once;
    int fd;     /* -1: XRT logs to the console */
    off_t read; /* bytes read */
} told = {.once = PTHREAD_ONCE_INIT, .fd = -1};

static void open_log(void)
{
    char name[32];
    told.fd = memfd_create("xrt log", MFD_CLOEXEC);
    snprintf(name, sizeof name, "/proc/self/fd/%d", told.fd);
    if (told.fd >= 0 && xrtIniStringSet("Runtime.runtime_log", name)) {
        close(told.fd);
        told.fd = -1;
    }
}

/* Must precede each call of XRT that may fail. */
static void listen_to_xrt(void)
{
    struct stat s;
    pthread_once(&told.once, open_log);
    if (told.fd >= 0 && !fstat(told.fd, &s))
        told.read = s.st_size;
    errno = 0;
}

/* Returns the last error since listen_to_xrt(), without date and thread, or "". */
static const char *last_words(char *line, size_t size)
{
    char text[1024];
    ssize_t n = told.fd < 0 ? 0 : pread(told.fd, text, sizeof text - 1, told.read);
    line[0] = 0;
    if (n <= 0)
        return line;
    text[n] = 0;
    for (char *at = strtok(text, "\n"); at; at = strtok(NULL, "\n")) {
        const char *said = strstr(at, "ERROR: ");
        if (said)
            snprintf(line, size, "%s", said + 7);
    }
    return line;
}

/* Adds XRT's message. Returns -errno, or `otherwise` if errno is 0. */
static int failed(char *why, int otherwise, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static int failed(char *why, int otherwise, const char *format, ...)
{
    const int code = errno > 0 && errno < 4096 ? -errno : otherwise;
    char ours[XRT_WHY_BYTES], theirs[XRT_WHY_BYTES];
    va_list ap;
    va_start(ap, format);
    vsnprintf(ours, sizeof ours, format, ap);
    va_end(ap);
    last_words(theirs, sizeof theirs);
    if (*theirs)
        snprintf(why, XRT_WHY_BYTES, "%s: XRT says: %s", ours, theirs);
    else
        snprintf(why, XRT_WHY_BYTES, "%s: %s", ours, strerror(-code));
    return code;
}

/* The file's name has the version: libxrt_coreutil.so.2.13.0. */
static const char *loaded(void)
{
    static char path[PATH_MAX];
    Dl_info info;
    if (!dladdr((void *)(uintptr_t)&xrtDeviceOpen, &info) || !realpath(info.dli_fname, path))
        return "";
    const char *behind = strstr(path, ".so.");
    return behind ? behind + 4 : "";
}

/* XRT up to version 2 ends the program with an exception if its
 * driver is missing or does not load. */
static int look_for_driver(char *why)
{
    const char *root = getenv("XILINX_XRT"), *mode = getenv("XCL_EMULATION_MODE");
    char path[PATH_MAX];
    if (*loaded() != '2')
        return 0;
    if (!root || !*root) {
        snprintf(why, XRT_WHY_BYTES,
                 "XILINX_XRT is not set: source setup.sh of XRT, or set it to the folder of a "
                 "simulated card (sim/xrt)");
        return -ENOENT;
    }
    snprintf(path, sizeof path, "%s/lib/libxrt_%s.so.2", root, mode && *mode ? mode : "core");
    if (access(path, R_OK)) {
        snprintf(why, XRT_WHY_BYTES, "XILINX_XRT is %.80s, which has no lib/libxrt_%.16s.so.2",
                 root, mode && *mode ? mode : "core");
        return -ENOENT;
    }
    if (dlopen(path, RTLD_NOW | RTLD_GLOBAL))
        return 0;
    const char *said = dlerror();
    snprintf(why, XRT_WHY_BYTES, "XRT's driver does not load: %s", said ? said : "no reason given");
    return -ELIBACC;
}

static int device_open(const char *where, struct xrt_device **out, char *why)
{
    char *end;
    const unsigned long index = strtoul(where, &end, 10);
    const int here = look_for_driver(why);
    if (here)
        return here;
    struct xrt_device *d = calloc(1, sizeof *d);
    if (!d)
        return snprintf(why, XRT_WHY_BYTES, "no memory for a device"), -ENOMEM;
    snprintf(d->where, sizeof d->where, "%s", *where ? where : "0");
    listen_to_xrt();
    d->own = *end ? xrtDeviceOpenByBDF(where) : xrtDeviceOpen((unsigned)index);
    if (!d->own) {
        const int rc = failed(why, -ENODEV, "XRT has no device %s", d->where);
        free(d);
        return rc;
    }
    *out = d;
    return 0;
}

static void device_close(struct xrt_device *d)
{
    if (d)
        (void)xrtDeviceClose(d->own);
    free(d);
}

/* Uses the loaded driver's older interface, because the C API has no such call. */
static int device_about(struct xrt_device *d, struct xrt_about *out, char *why)
{
    struct xclDeviceInfo2 info;
    int (*ask)(xclDeviceHandle, struct xclDeviceInfo2 *);
    void *symbol = dlsym(RTLD_DEFAULT, "xclGetDeviceInfo2");
    (void)why;
    memset(&info, 0, sizeof info);
    memcpy(&ask, &symbol, sizeof ask);
    *out = (struct xrt_about){.celsius = NAN};
    if (!symbol || ask(xrtDeviceToXclDevice(d->own), &info))
        return 0;
    snprintf(out->shell, sizeof out->shell, "%.*s", (int)sizeof out->shell - 1, info.mName);
    if (info.mPciSlot)
        snprintf(out->bdf, sizeof out->bdf, "0000:%02x:%02x.%x", info.mPciSlot >> 16 & 255,
                 info.mPciSlot >> 8 & 255, info.mPciSlot & 255);
    if (info.mOnChipTemp)
        out->celsius = info.mOnChipTemp;
    return 0;
}

static int device_load(struct xrt_device *d, const void *xclbin, size_t bytes, char *why)
{
    (void)bytes; /* the container states its length, already checked */
    listen_to_xrt();
    return xrtDeviceLoadXclbin(d->own, xclbin)
               ? failed(why, -EIO, "device %s did not accept the xclbin", d->where)
               : 0;
}

static int device_uuid(struct xrt_device *d, uint8_t out[XRT_UUID_BYTES], char *why)
{
    memset(out, 0, XRT_UUID_BYTES);
    listen_to_xrt();
    return xrtDeviceGetXclbinUUID(d->own, out)
               ? failed(why, -EIO, "device %s does not report its xclbin", d->where)
               : 0;
}

static const char *const kernel_names[N_KERNELS] = {
#define KERNEL(NAME, name, base, control, what) #name,
#include "hls/card/kernels.def"
};

static int kernel_open(struct xrt_device *d, enum kernel which, struct xrt_kernel **out, char *why)
{
    xuid_t uuid;
    char unit[80];
    struct xrt_kernel *k = calloc(1, sizeof *k);
    if (!k)
        return snprintf(why, XRT_WHY_BYTES, "no memory for a kernel"), -ENOMEM;
    k->device = d;
    k->name = kernel_names[which];
    snprintf(unit, sizeof unit, "%s:{%s_1}", k->name, k->name);
    int rc = device_uuid(d, uuid, why);
    if (!rc) {
        listen_to_xrt();
        k->own = xrtPLKernelOpenExclusive(d->own, uuid, unit);
        if (!k->own)
            rc = failed(why, -EBUSY, "cannot open kernel %s of device %s", k->name, d->where);
    }
    if (rc)
        free(k);
    else
        *out = k;
    return rc;
}

static void kernel_close(struct xrt_kernel *k)
{
    if (k && !k->lost) {
        if (k->run)
            (void)xrtRunClose(k->run);
        (void)xrtKernelClose(k->own);
    }
    free(k);
}

static int kernel_read(struct xrt_kernel *k, uint32_t at, uint32_t *value, char *why)
{
    listen_to_xrt();
    return xrtKernelReadRegister(k->own, at, value)
               ? failed(why, -EIO, "cannot read register 0x%03x of %s", at, k->name)
               : 0;
}

static int kernel_write(struct xrt_kernel *k, uint32_t at, uint32_t value, char *why)
{
    listen_to_xrt();
    return xrtKernelWriteRegister(k->own, at, value)
               ? failed(why, -EIO, "cannot write register 0x%03x of %s", at, k->name)
               : 0;
}

/* XRT calls aligned_alloc(), which needs a multiple of the alignment. */
static size_t whole_pages(size_t bytes)
{
    return (bytes + 4095) & ~(size_t)4095;
}

static int buffer_open(struct xrt_kernel *k, int arg, size_t bytes, struct xrt_buffer **out,
                       void **map, char *why)
{
    struct xrt_buffer *b = calloc(1, sizeof *b);
    if (!b)
        return snprintf(why, XRT_WHY_BYTES, "no memory for a buffer"), -ENOMEM;
    listen_to_xrt();
    const int group = xrtKernelArgGroupId(k->own, arg);
    if (group >= 0)
        b->own = xrtBOAlloc(k->device->own, whole_pages(bytes), XRT_BO_FLAGS_NONE,
                            (xrtMemoryGroup)group);
    *map = b->own ? xrtBOMap(b->own) : NULL;
    if (*map) {
        *out = b;
        return 0;
    }
    const int rc =
        failed(why, -ENOMEM, "device %s has no %zu bytes for %s", k->device->where, bytes, k->name);
    if (b->own)
        (void)xrtBOFree(b->own);
    free(b);
    return rc;
}

static void buffer_close(struct xrt_buffer *b)
{
    if (b)
        (void)xrtBOFree(b->own);
    free(b);
}

static int buffer_sync(struct xrt_buffer *b, bool to_card, size_t bytes, char *why)
{
    listen_to_xrt();
    const int rc = xrtBOSync(
        b->own, to_card ? XCL_BO_SYNC_BO_TO_DEVICE : XCL_BO_SYNC_BO_FROM_DEVICE, bytes, 0);
    return rc ? failed(why, -EIO, "cannot copy %zu bytes %s the card", bytes,
                       to_card ? "to" : "from")
              : 0;
}

static int set_args(struct xrt_kernel *k, const struct xrt_value *args, int n_args, char *why)
{
    for (int i = 0; i < n_args; i++) {
        const int rc = args[i].buffer ? xrtRunSetArg(k->run, i, args[i].buffer->own)
                                      : xrtRunSetArg(k->run, i, args[i].value);
        if (rc)
            return failed(why, -EINVAL, "%s did not accept argument %d", k->name, i);
    }
    return 0;
}

static int run(struct xrt_kernel *k, const struct xrt_value *args, int n_args, double timeout_s,
               char *why)
{
    listen_to_xrt();
    if (!k->run && !(k->run = xrtRunOpen(k->own)))
        return failed(why, -EIO, "cannot create a run of %s", k->name);
    const int rc = set_args(k, args, n_args, why);
    if (rc)
        return rc;
    if (xrtRunStart(k->run))
        return failed(why, -EIO, "cannot start %s", k->name);
    const double ms = timeout_s * 1e3;
    const enum ert_cmd_state state = xrtRunWaitFor(k->run, ms < 1         ? 1
                                                           : ms < INT_MAX ? (unsigned)ms
                                                                          : INT_MAX);
    if (state == ERT_CMD_STATE_COMPLETED)
        return 0;
    k->lost = state != ERT_CMD_STATE_ERROR && state != ERT_CMD_STATE_ABORT;
    errno = k->lost ? ETIMEDOUT : EIO;
    return k->lost ? failed(why, -ETIMEDOUT, "%s did not finish in %.3g s", k->name, timeout_s)
                   : failed(why, -EIO, "%s has failed", k->name);
}

extern __attribute__((visibility("default"))) const struct xrt_library narrowcast_xrt;
const struct xrt_library narrowcast_xrt = {
    .version = XRT_LIBRARY_VERSION,
    .compiled = xrt_build_version,
    .loaded = loaded,
    .open = device_open,
    .close = device_close,
    .about = device_about,
    .load = device_load,
    .uuid = device_uuid,
    .kernel = kernel_open,
    .kernel_close = kernel_close,
    .read = kernel_read,
    .write = kernel_write,
    .buffer = buffer_open,
    .buffer_close = buffer_close,
    .sync = buffer_sync,
    .run = run,
};
