/* xrt_card.h : controls a card in this machine through the Xilinx runtime: one device with its
 * container, owned by this process. Every call has a deadline.
 *
 *     xrt_card_open -> xrt_card_write/_read (registers)       nic_core
 *                   -> xrt_card_buffer, _sync, _run           kernels that work on card memory
 *
 * libnarrowcast_xrt.so comes from NARROWCAST_XRT=PATH, the program's folder, or the loader's path.
 * A call that exceeds its deadline leaves its thread blocked in XRT, and the card is lost for this
 * process: every later call fails at once.
 *
 * All functions return 0, or a negative errno with one line in card->why, and print nothing. */
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
    void *map; /* on the host */
    size_t bytes;
};

struct xrt_card_value {
    const struct xrt_card_buffer *buffer; /* NULL: use `value` */
    uint32_t value;
};

/* name: "xrt", "xrt:1", "xrt:65:00.1". xclbin: file of the container; NULL: named by the
 * environment variable NARROWCAST_XCLBIN. Errors: -ENOENT (no library or file), -ELIBACC, -ELIBBAD
 * (the library does not load, or belongs to another build), -EINVAL (not a container), -ENODEV,
 * -EBUSY, -ETIMEDOUT and others. */
int xrt_card_open(struct xrt_card *card, const char *name, const char *xclbin, double timeout_s);
/* True for "xrt", "xrt:1" (0 to 255), and "xrt:65:00.1" as lspci prints it, also with its domain:
 * "xrt:0000:65:00.1". */
bool xrt_card_name_fits(const char *name);

/* Checks the container that xrt_card_open() would use. The reason is in why[XRT_WHY_BYTES]. */
int xrt_card_check(const char *name, const char *xclbin, char *why);

/* True if xrt_card_open()'s result means that the card cannot exist, not that it is busy or
 * silent. */
bool xrt_card_cannot_be(int rc);

/* Opens a card without loading a container, for xrt_card_about() and for card->uuid, the UUID of
 * its container (all 0: none). */
int xrt_card_look(struct xrt_card *card, const char *name, double timeout_s);

void xrt_card_close(struct xrt_card *card); /* legal when zeroed; never blocks long */

/* For example "2.13.0, built with 2.13.0", or "" before a card was opened. */
void xrt_card_library(char *text, size_t size);

/* Access a register of kernel k by its offset; the first access opens the kernel. */
int xrt_card_write(struct xrt_card *card, enum kernel k, uint32_t at, uint32_t value,
                   double timeout_s);
int xrt_card_read(struct xrt_card *card, enum kernel k, uint32_t at, uint32_t *value,
                  double timeout_s);

/* Makes a buffer for argument `arg` of kernel k. */
int xrt_card_buffer(struct xrt_card *card, enum kernel k, int arg, size_t bytes,
                    struct xrt_card_buffer *out);
void xrt_card_buffer_close(struct xrt_card *card,
                           struct xrt_card_buffer *buffer); /* legal when zeroed */
int xrt_card_sync(struct xrt_card *card, struct xrt_card_buffer *buffer, bool to_card, size_t bytes,
                  double timeout_s);

int xrt_card_about(struct xrt_card *card, struct xrt_about *out);

/* Runs kernel k to its end. args[n_args]: all that kernels.def lists for k. */
int xrt_card_run(struct xrt_card *card, enum kernel k, const struct xrt_card_value *args,
                 int n_args, double timeout_s);

#endif
