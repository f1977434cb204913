/* xrt_card.h : a card in this machine, by the Xilinx runtime: one device with its container in it,
 * held by this process alone, every call with a deadline.
 *
 *     xrt_card_open -> xrt_card_write/_read (registers)       nic_core
 *                   -> xrt_card_buffer, _sync, _run            kernels that work on card memory
 *
 * libnarrowcast_xrt.so is looked for where NARROWCAST_XRT=PATH says, else beside the program, else by
 * the loader's path. A call that is not back in time leaves its thread behind; the card is lost to
 * this process then, and every later call says so at once.
 *
 * All return 0 or a negative errno, and then one line in card->why; nothing prints. */
#ifndef XRT_CARD_H
#define XRT_CARD_H
#include "offload/xrt/xrt_library.h"

struct xrt_card {
    struct xrt_work *work; /* NULL: not open, or lost */
    char name[64];         /* "xrt:0000:65:00.1" */
    char why[XRT_WHY_BYTES];
    uint8_t uuid[XRT_UUID_BYTES]; /* of the container */
};

struct xrt_card_buffer {
    struct xrt_buffer *own;
    void *map; /* its bytes on this side */
    size_t bytes;
};

struct xrt_card_value {
    const struct xrt_card_buffer *buffer; /* NULL: a value */
    uint32_t value;
};

/* name: "xrt", "xrt:1", "xrt:65:00.1". xclbin: the container's file; NULL: NARROWCAST_XCLBIN names
 * it. -ENOENT: no library, no file; -ELIBACC, -ELIBBAD: a library that does not load, or is of another
 * build; -EINVAL: no container; -ENODEV, -EBUSY, -ETIMEDOUT, ... */
int xrt_card_open(struct xrt_card *card, const char *name, const char *xclbin, double timeout_s);
/* "xrt", "xrt:1" (0 to 255), or "xrt:65:00.1" as lspci prints it; "xrt:0000:65:00.1" is the
 * same, with its domain. */
bool xrt_card_name_fits(const char *name);

/* Is there a container to open a card with, sound and of this version? As xrt_card_open() would find
 * it. -ENOENT, -EINVAL, ... with why [XRT_WHY_BYTES]. */
int xrt_card_check(const char *name, const char *xclbin, char *why);

/* Does this result of xrt_card_open() mean that the card cannot exist (no library, container or
 * device of that name), instead of being busy or silent? */
bool xrt_card_cannot_be(int rc);

/* The same without a container: for xrt_card_about() and card->uuid, of what is in it (0: nothing). */
int xrt_card_look(struct xrt_card *card, const char *name, double timeout_s);

void xrt_card_close(struct xrt_card *card); /* legal when zeroed; never blocks for long */

/* "2.13.0, built with 2.13.0": of the library, once a card was open; else "". */
void xrt_card_library(char *text, size_t size);

/* Registers of a kernel, by their offset; the kernel is opened at the first call. */
int xrt_card_write(struct xrt_card *card, enum kernel k, uint32_t at, uint32_t value,
                   double timeout_s);
int xrt_card_read(struct xrt_card *card, enum kernel k, uint32_t at, uint32_t *value,
                  double timeout_s);

/* A buffer that argument `arg` of kernel k can be. */
int xrt_card_buffer(struct xrt_card *card, enum kernel k, int arg, size_t bytes,
                    struct xrt_card_buffer *out);
void xrt_card_buffer_close(struct xrt_card *card,
                           struct xrt_card_buffer *buffer); /* zeroed: legal */
int xrt_card_sync(struct xrt_card *card, struct xrt_card_buffer *buffer, bool to_card, size_t bytes,
                  double timeout_s);

/* What XRT says of the device. */
int xrt_card_about(struct xrt_card *card, struct xrt_about *out);

/* args [n_args]: all that kernels.def lists for k. */
int xrt_card_run(struct xrt_card *card, enum kernel k, const struct xrt_card_value *args,
                 int n_args, double timeout_s);

#endif
