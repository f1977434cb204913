/* xclbin.h : a container with what a card is to become and what its kernels are (Xilinx' xclbin,
 * AXLF): read from bytes that anybody may have made, held against hls/card/kernels.def, and made.
 *
 *     sections:  BITSTREAM          what XRT loads into the FPGA; not looked into
 *                MEM_TOPOLOGY       banks of card memory
 *                IP_LAYOUT          compute units "kernel:unit", where their registers are
 *                CONNECTIVITY       which argument of which unit is in which bank
 *                EMBEDDED_METADATA  XML: kernels, their arguments and where those lie
 *
 * All return 0 or a negative errno, and then one line in why [XCLBIN_WHY_BYTES], without a newline. */
#ifndef XCLBIN_H
#define XCLBIN_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    XCLBIN_WHY_BYTES = 192,
    XCLBIN_UUID_BYTES = 16,
    XCLBIN_UUID_TEXT = 37, /* 8-4-4-4-12 digits and a 0 */
    XCLBIN_SECTIONS = 64,  /* most of each */
    XCLBIN_UNITS = 64,
    XCLBIN_BANKS = 256,
    XCLBIN_ARGS = 1024, /* of all units */
    XCLBIN_UNIT_ARGS = 128,
    XCLBIN_CONNECTIONS = 1 << 16,
    XCLBIN_NAME = 64 /* with its 0 */
};

/* The platform of containers that are for the simulated card. */
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
}; /* others: as is */

struct xclbin_arg {
    char name[XCLBIN_NAME];
    int index; /* -1: none, as OpenCL's own */
    uint32_t offset, bytes;
    uint32_t qualifier;
    int bank; /* -1: none; first of those that it may be in */
};

struct xclbin_unit {
    char kernel[XCLBIN_NAME], name[XCLBIN_NAME]; /* "reduce_mm", "reduce_mm_1" */
    uint64_t base;
    uint32_t control; /* 0: ap_ctrl_hs, 1: ap_ctrl_chain, 2: ap_ctrl_none */
    int layout;       /* its place in IP_LAYOUT */
    int arg, n_args;  /* its arguments are args[arg..arg + n_args) */
    bool described;   /* the metadata knows its kernel */
};

struct xclbin {
    const uint8_t *file; /* [bytes] */
    size_t bytes;
    uint8_t *own; /* file, if xclbin_open() read it */
    uint8_t uuid[XCLBIN_UUID_BYTES];
    char platform[65];
    uint32_t mode; /* 0, 1: hardware; 4, 6: hw_emu; 5: sw_emu */
    int n_sections, n_banks, n_units, n_args;
    struct xclbin_section sections[XCLBIN_SECTIONS];
    struct xclbin_bank banks[XCLBIN_BANKS];
    struct xclbin_unit units[XCLBIN_UNITS];
    struct xclbin_arg args[XCLBIN_ARGS];
};

/* A plain file of at most 1 GiB, as it is; *file is the caller's to free(). */
int xclbin_read(const char *path, uint8_t **file, size_t *bytes, char *why);

/* A file, as a whole. -ENOENT, ..., -EINVAL: no container, or not a sound one. */
int xclbin_open(const char *path, struct xclbin **out, char *why);
/* file [bytes] stays the caller's, as long as *out is used. */
int xclbin_of(const void *file, size_t bytes, struct xclbin **out, char *why);
void xclbin_close(struct xclbin *x); /* NULL: legal */

/* "bitstream", "mem_topology", ...; a number in digits for a kind without a name here. */
void xclbin_kind_name(uint32_t kind, char name[32]);
const char *xclbin_mode_name(uint32_t mode); /* "hw", "hw_emu", "sw_emu" */
void xclbin_uuid_print(const uint8_t uuid[XCLBIN_UUID_BYTES], char text[XCLBIN_UUID_TEXT]);
bool xclbin_uuid_read(const char *text, uint8_t uuid[XCLBIN_UUID_BYTES]);

/* Is this a card of this version? Every kernel of hls/card/kernels.def must be in it, with its arguments
 * where they are listed, each in a bank if it is memory, and with a control by which XRT lets
 * programs use registers. Of a simulated card the bases must be those of the list as well; those of
 * a true one are the linker's. -EINVAL names the first difference. */
int xclbin_check(const struct xclbin *x, char *why);

struct xclbin_plan {
    const char *platform;  /* 63 letters at most */
    bool hw_emu;           /* else hw */
    const void *bitstream; /* [bitstream_bytes] */
    size_t bitstream_bytes;
    const uint8_t *uuid; /* NULL: from all of the content: the same card has the same one */
};
/* A container of hls/card/kernels.def. *file [*bytes] is the caller's to free(). */
int xclbin_make(const struct xclbin_plan *plan, uint8_t **file, size_t *bytes, char *why);

#endif
