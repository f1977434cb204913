/* xclbin.h : Reads, checks and makes containers (Xilinx' xclbin, AXLF): the content of an
 * FPGA and a description of its kernels.
 *
 *     sections:  BITSTREAM          content that XRT loads into the FPGA; not examined here
 *                MEM_TOPOLOGY       banks of card memory
 *                IP_LAYOUT          compute units "kernel:unit" and their register addresses
 *                CONNECTIVITY       bank of each argument of each unit
 *                EMBEDDED_METADATA  XML: kernels, their arguments and the arguments' offsets
 *
 * The content of a file is not trusted. All functions return 0, or a negative errno with one
 * line in why[XCLBIN_WHY_BYTES], which has no newline. */
#ifndef XCLBIN_H
#define XCLBIN_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    XCLBIN_WHY_BYTES = 192,
    XCLBIN_UUID_BYTES = 16,
    XCLBIN_UUID_TEXT = 37, /* 8-4-4-4-12 digits and a 0 */
    XCLBIN_SECTIONS = 64,  /* limit, like the next two */
    XCLBIN_UNITS = 64,
    XCLBIN_BANKS = 256,
    XCLBIN_ARGS = 1024, /* of all units together */
    XCLBIN_UNIT_ARGS = 128,
    XCLBIN_CONNECTIONS = 1 << 16,
    XCLBIN_NAME = 64 /* including the terminating 0 */
};

/* Platform of containers for the simulated card. */
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
}; /* other values are the file's own */

struct xclbin_arg {
    char name[XCLBIN_NAME];
    int index; /* -1: none, like OpenCL's own arguments */
    uint32_t offset, bytes;
    uint32_t qualifier;
    int bank; /* first bank allowed; -1: none */
};

struct xclbin_unit {
    char kernel[XCLBIN_NAME], name[XCLBIN_NAME]; /* "reduce_mm", "reduce_mm_1" */
    uint64_t base;
    uint32_t control; /* 0: ap_ctrl_hs, 1: ap_ctrl_chain, 2: ap_ctrl_none */
    int layout;       /* index in IP_LAYOUT */
    int arg, n_args;  /* args[arg] to args[arg + n_args - 1] */
    bool described;   /* the metadata describes its kernel */
};

struct xclbin {
    const uint8_t *file; /* [bytes] */
    size_t bytes;
    uint8_t *own; /* equals file if xclbin_open() has read it; else NULL */
    uint8_t uuid[XCLBIN_UUID_BYTES];
    char platform[65];
    uint32_t mode; /* 0, 1: hardware; 4, 6: hw_emu; 5: sw_emu */
    int n_sections, n_banks, n_units, n_args;
    struct xclbin_section sections[XCLBIN_SECTIONS];
    struct xclbin_bank banks[XCLBIN_BANKS];
    struct xclbin_unit units[XCLBIN_UNITS];
    struct xclbin_arg args[XCLBIN_ARGS];
};

/* Reads a plain file of at most 1 GiB. The caller must free() *file. */
int xclbin_read(const char *path, uint8_t **file, size_t *bytes, char *why);

/* Opens a container from a file. Returns -EINVAL if the file is not a container or an invalid
 * one, or another error such as -ENOENT. */
int xclbin_open(const char *path, struct xclbin **out, char *why);
/* Opens a container from memory. file[bytes] remains the caller's and
 * must exist as long as *out. */
int xclbin_of(const void *file, size_t bytes, struct xclbin **out, char *why);
void xclbin_close(struct xclbin *x); /* NULL is legal */

/* Writes the name of a kind of section, such as "bitstream", or "kind N" if it has no name here. */
void xclbin_kind_name(uint32_t kind, char name[32]);
const char *xclbin_mode_name(uint32_t mode); /* "hw", "hw_emu", "sw_emu" or "unknown" */
void xclbin_uuid_print(const uint8_t uuid[XCLBIN_UUID_BYTES], char text[XCLBIN_UUID_TEXT]);
bool xclbin_uuid_read(const char *text, uint8_t uuid[XCLBIN_UUID_BYTES]);

/* Checks that the container is a card of this version. It must have every kernel of
 * hls/card/kernels.def, with arguments at the listed offsets and memory arguments in a bank.
 * Each kernel must have a control protocol with which XRT lets programs access registers. A
 * simulated card must also have the listed base addresses; those of a real card come from the
 * linker. After -EINVAL, why names the first difference. */
int xclbin_check(const struct xclbin *x, char *why);

struct xclbin_plan {
    const char *platform;  /* at most 63 letters */
    bool hw_emu;           /* true: hw_emu; false: hw */
    const void *bitstream; /* [bitstream_bytes] */
    size_t bitstream_bytes;
    /* If NULL, a hash of all content, so that the same card always has the same UUID. */
    const uint8_t *uuid;
};
/* Makes a container of hls/card/kernels.def. The caller must free()
 * *file, which has *bytes bytes. */
int xclbin_make(const struct xclbin_plan *plan, uint8_t **file, size_t *bytes, char *why);

#endif
