/* xrt_library.h : Declares the table of libnarrowcast_xrt.so (fpga_xrt.c): a card by the Xilinx
 * runtime, in the order in which a program needs it. Hides XRT's own types.
 *
 * Every call may block while the card does not answer: xrt_card.h adds deadlines. Calls for one
 * device must not overlap. All return 0 or a negative errno, then with one line in
 * why[XRT_WHY_BYTES], without a newline. */
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

/* XRT's description of a device; "" and NAN: not known. */
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
    /* Version of XRT that the library was compiled with; version loaded, "" if unknown. */
    const char *compiled;
    const char *(*loaded)(void);

    /* where: "" (the first), a number, or 0000:65:00.1. -ENODEV: there is no such device. */
    int (*open)(const char *where, struct xrt_device **device, char *why);
    void (*close)(struct xrt_device *device); /* after its kernels and buffers */
    int (*about)(struct xrt_device *device, struct xrt_about *out, char *why);

    /* Loads the container into the card unless it is already there. Ends what runs on the card.
     * xclbin[bytes]: as checked by `narrowcast xclbin`. -EBUSY: other processes use the card
     * with another container. */
    int (*load)(struct xrt_device *device, const void *xclbin, size_t bytes, char *why);
    int (*uuid)(struct xrt_device *device, uint8_t out[XRT_UUID_BYTES], char *why);

    /* Opens a kernel for this process only. -EBUSY: another process has it; -ENOENT: not
     * in the container. */
    int (*kernel)(struct xrt_device *device, enum kernel which, struct xrt_kernel **out, char *why);
    void (*kernel_close)(struct xrt_kernel *kernel);
    int (*read)(struct xrt_kernel *kernel, uint32_t at, uint32_t *value, char *why);
    int (*write)(struct xrt_kernel *kernel, uint32_t at, uint32_t value, char *why);

    /* Makes a buffer usable as argument `arg` of a kernel. *map: its bytes on the host, aligned to
     * 4096. -ENOMEM: the card has no free piece of this size. */
    int (*buffer)(struct xrt_kernel *kernel, int arg, size_t bytes, struct xrt_buffer **out,
                  void **map, char *why);
    void (*buffer_close)(struct xrt_buffer *buffer);
    /* Copies the first `bytes` of a buffer to the card, or from there. */
    int (*sync)(struct xrt_buffer *buffer, bool to_card, size_t bytes, char *why);

    /* Starts a kernel with all its arguments and waits until it is done. -ETIMEDOUT: not done after
     * timeout_s; -EIO: it has failed. After either the kernel can only be closed. */
    int (*run)(struct xrt_kernel *kernel, const struct xrt_value *args, int n_args,
               double timeout_s, char *why);
};

#define XRT_LIBRARY_SYMBOL "narrowcast_xrt"

#endif
