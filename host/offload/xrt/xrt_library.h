/* xrt_library.h : what libnarrowcast_xrt.so (fpga_xrt.c) offers: a card by the Xilinx runtime, in the
 * order in which a program needs it. Nothing of XRT's shows.
 *
 * Every call may block for as long as the card does not answer: xrt_card.h makes them with a deadline.
 * Calls for one device come one at a time. They return 0 or a negative errno, and then one line in
 * why [XRT_WHY_BYTES], without a newline. */
#ifndef XRT_LIBRARY_H
#define XRT_LIBRARY_H
#include "hls/card/kernels.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { XRT_LIBRARY_VERSION = 1, XRT_WHY_BYTES = 192, XRT_UUID_BYTES = 16 };

struct xrt_device; /* the library's, all three */
struct xrt_kernel;
struct xrt_buffer;

/* What XRT says of a device; "" and NAN where it says nothing. */
struct xrt_about {
    char bdf[32], shell[80];
    double celsius; /* of the FPGA */
};

struct xrt_value {
    struct xrt_buffer *buffer; /* NULL: a value */
    uint32_t value;
};

struct xrt_library {
    int version;
    /* of the XRT that this was compiled with, and of the one that is loaded ("" if it does not say) */
    const char *compiled;
    const char *(*loaded)(void);

    /* where: "" (the first), a number, or 0000:65:00.1. -ENODEV: there is none such. */
    int (*open)(const char *where, struct xrt_device **device, char *why);
    void (*close)(struct xrt_device *device); /* its kernels and buffers are closed before */
    int (*about)(struct xrt_device *device, struct xrt_about *out, char *why);

    /* Puts the container into the card, if it is not there: what runs there ends. xclbin: [bytes], as
     * `narrowcast xclbin` reads them. -EBUSY: others use the card with another one. */
    int (*load)(struct xrt_device *device, const void *xclbin, size_t bytes, char *why);
    int (*uuid)(struct xrt_device *device, uint8_t out[XRT_UUID_BYTES], char *why);

    /* For this process alone: -EBUSY while another one has it; -ENOENT: the container lacks it. */
    int (*kernel)(struct xrt_device *device, enum kernel which, struct xrt_kernel **out, char *why);
    void (*kernel_close)(struct xrt_kernel *kernel);
    int (*read)(struct xrt_kernel *kernel, uint32_t at, uint32_t *value, char *why);
    int (*write)(struct xrt_kernel *kernel, uint32_t at, uint32_t value, char *why);

    /* A buffer that argument `arg` of a kernel can be; *map: its bytes on this side, 4096-aligned.
     * -ENOMEM: the card has no such piece free. */
    int (*buffer)(struct xrt_kernel *kernel, int arg, size_t bytes, struct xrt_buffer **out,
                  void **map, char *why);
    void (*buffer_close)(struct xrt_buffer *buffer);
    /* Copies its first bytes to the card, or from there. */
    int (*sync)(struct xrt_buffer *buffer, bool to_card, size_t bytes, char *why);

    /* Starts a kernel with all its arguments and waits until it is done. -ETIMEDOUT: it is not,
     * after timeout_s; -EIO: it has failed. After either the kernel is good for nothing but its
     * close. */
    int (*run)(struct xrt_kernel *kernel, const struct xrt_value *args, int n_args,
               double timeout_s, char *why);
};

/* The symbol of that type in the shared object. */
#define XRT_LIBRARY_SYMBOL "narrowcast_xrt"

#endif
