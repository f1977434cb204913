/* xrt_library.h : declares the table of libnarrowcast_xrt.so (fpga_xrt.c), which controls cards
 * through the Xilinx runtime and hides its types. Call open() first and close() last. Kernels need
 * a loaded container.
 *
 * Every call may block while the card does not answer; xrt_card.h adds deadlines. Calls for one
 * device must not overlap. All return 0, or a negative errno with one line in why[XRT_WHY_BYTES],
 * which has no newline. */
#ifndef XRT_LIBRARY_H
#define XRT_LIBRARY_H
#include "hls/card/kernels.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { XRT_LIBRARY_VERSION = 1, XRT_WHY_BYTES = 192, XRT_UUID_BYTES = 16 };

struct xrt_device; /* the library's, like the next two */
struct xrt_kernel;
struct xrt_buffer;

/* XRT's description of a device. Unknown strings are "", an unknown temperature is NAN. */
struct xrt_about {
    char bdf[32], shell[80];
    double celsius; /* of the FPGA */
};

struct xrt_value {
    struct xrt_buffer *buffer; /* NULL: use `value` */
    uint32_t value;
};

struct xrt_library {
    int version;
    /* XRT's versions, at compile time and loaded ("": unknown) */
    const char *compiled;
    const char *(*loaded)(void);

    /* where: "" (the first device), a number, or 0000:65:00.1. Returns -ENODEV if there is none. */
    int (*open)(const char *where, struct xrt_device **device, char *why);
    void (*close)(struct xrt_device *device); /* after its kernels and buffers */
    int (*about)(struct xrt_device *device, struct xrt_about *out, char *why);

    /* Loads the container unless the card has it already. Loading ends all runs on the card.
     * xclbin[bytes]: accepted by `narrowcast xclbin`. Returns -EBUSY if other processes use the
     * card with another container. */
    int (*load)(struct xrt_device *device, const void *xclbin, size_t bytes, char *why);
    int (*uuid)(struct xrt_device *device, uint8_t out[XRT_UUID_BYTES], char *why);

    /* Opens a kernel for this process only. Returns -EBUSY if another process has it, -ENOENT if it
     * is not in the container. */
    int (*kernel)(struct xrt_device *device, enum kernel which, struct xrt_kernel **out, char *why);
    void (*kernel_close)(struct xrt_kernel *kernel);
    int (*read)(struct xrt_kernel *kernel, uint32_t at, uint32_t *value, char *why);
    int (*write)(struct xrt_kernel *kernel, uint32_t at, uint32_t value, char *why);

    /* Makes a buffer for argument `arg` of a kernel. *map: its bytes on the host, aligned to 4096.
     * Returns -ENOMEM if the card has no free range of this size. */
    int (*buffer)(struct xrt_kernel *kernel, int arg, size_t bytes, struct xrt_buffer **out,
                  void **map, char *why);
    void (*buffer_close)(struct xrt_buffer *buffer);
    /* Copies the first `bytes` bytes of a buffer to the card or from it. */
    int (*sync)(struct xrt_buffer *buffer, bool to_card, size_t bytes, char *why);

    /* Runs a kernel with all its arguments to its end. Returns -ETIMEDOUT after timeout_s, -EIO if
     * it has failed. After either error the kernel can only be closed. */
    int (*run)(struct xrt_kernel *kernel, const struct xrt_value *args, int n_args,
               double timeout_s, char *why);
};

#define XRT_LIBRARY_SYMBOL "narrowcast_xrt"

#endif
