/* xclbin.h : reads, checks and makes containers (Xilinx' xclbin, AXLF): the content of an FPGA and
 * a description of its kernels.
 *
 *     sections:  BITSTREAM          content that XRT loads into the FPGA; not examined here
 *                MEM_TOPOLOGY       banks of card memory
 *                IP_LAYOUT          compute units "kernel:unit" and their register addresses
 *                CONNECTIVITY       bank of each argument of each unit
 *                EMBEDDED_METADATA  XML: kernels, their arguments and the arguments' offsets
 *
 * A file's content is not trusted. All functions return 0, or a negative errno with one line in
 * why[XCLBIN_WHY_BYTES], which has no newline. */
#ifndef XCLBIN_H
#define XCLBIN_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    XCLBIN_WHY_BYTES = 192,
    XCLBIN_UUID_BYTES = 16,
    XCLBIN_UUID_TEXT = 37, /* 8-4-4-4-12 digits and 0 */
    XCLBIN_SECTIONS = 64,  /* this and those below are limits */
    XCLBIN_UNITS = 64,
    XCLBIN_BANKS = 256,
    XCLBIN_ARGS = 1024, /* of all units */
    XCLBIN_UNIT_ARGS = 128,
    XCLBIN_CONNECTIONS = 1 << 16,
    XCLBIN_NAME = 64 /* with terminating 0 */
};

/* of a simulated card's containers */
#define XCLBIN_SIM_PLATFORM "narrowcast_sim_1"

struct xclbin_section {
    uint32_t kind;
    uint64_t at, bytes;
};

struct xclbin_bank {
    char tag[16];
    uint8_t type;
    bool used;
    uint64_t base, kib;
};

enum xclbin_qualifier {
    XCLBIN_VALUE = 0,
    XCLBIN_MEMORY = 1,
    XCLBIN_STREAM = 4
}; /* files may contain other values */

struct xclbin_arg {
    char name[XCLBIN_NAME];
    int index; /* the argument's number; -1: none, because OpenCL added it */
    uint32_t offset, bytes;
    uint32_t qualifier;
    int bank; /* first memory bank that it may use; -1: none */
};

struct xclbin_unit {
    char kernel[XCLBIN_NAME], name[XCLBIN_NAME]; /* "reduce_mm", "reduce_mm_1" */
    uint64_t base;
    uint32_t control; /* 0: ap_ctrl_hs, 1: ap_ctrl_chain, 2: ap_ctrl_none */
    int layout;       /* index in IP_LAYOUT */
    int arg, n_args;  /* its arguments begin at args[arg] */
    bool described;   /* by the metadata */
};

struct xclbin {
    const uint8_t *file; /* [bytes] */
    size_t bytes;
    uint8_t *own; /* file, if xclbin_open() has read it; else NULL */
    uint8_t uuid[XCLBIN_UUID_BYTES];
    char platform[65];
    uint32_t mode; /* 0, 1: hardware; 4, 6: hw_emu; 5: sw_emu */
    int n_sections, n_banks, n_units, n_args;
    struct xclbin_section sections[XCLBIN_SECTIONS];
    struct xclbin_bank banks[XCLBIN_BANKS];
    struct xclbin_unit units[XCLBIN_UNITS];
    struct xclbin_arg args[XCLBIN_ARGS];
};

/* Reads a plain file of at most 1 GiB. The caller frees *file. */
int xclbin_read(const char *path, uint8_t **file, size_t *bytes, char *why);

/* Returns -EINVAL if the file is no valid container, or another error such as -ENOENT. */
int xclbin_open(const char *path, struct xclbin **out, char *why);
/* Opens a container in memory. file[bytes] is the caller's and must outlive *out. */
int xclbin_of(const void *file, size_t bytes, struct xclbin **out, char *why);
void xclbin_close(struct xclbin *x); /* NULL is legal */

/* Writes a name such as "bitstream", or "kind N". */
void xclbin_kind_name(uint32_t kind, char name[32]);
const char *xclbin_mode_name(uint32_t mode); /* "hw", "hw_emu", "sw_emu" or "unknown" */
void xclbin_uuid_print(const uint8_t uuid[XCLBIN_UUID_BYTES], char text[XCLBIN_UUID_TEXT]);
bool xclbin_uuid_read(const char *text, uint8_t uuid[XCLBIN_UUID_BYTES]);

/* Checks that the container is a card of this version: every kernel of hls/card/kernels.def, with
 * arguments at the listed offsets, memory arguments in a bank, and a control protocol with which
 * XRT lets programs access registers. A simulated card must also have the listed base addresses; a
 * real card's come from the linker. After -EINVAL, why names the first difference. */
int xclbin_check(const struct xclbin *x, char *why);

struct xclbin_plan {
    const char *platform;  /* at most 63 letters */
    bool hw_emu;           /* else hw */
    const void *bitstream; /* [bitstream_bytes] */
    size_t bitstream_bytes;
    /* NULL: a hash of all content, the same for the same card */
    const uint8_t *uuid;
};
/* Makes a container of hls/card/kernels.def. The caller frees *file [*bytes]. */
int xclbin_make(const struct xclbin_plan *plan, uint8_t **file, size_t *bytes, char *why);

#endif
