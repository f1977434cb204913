/* xclbin_layout.h : lists the offsets of a container's fields. Its format is AXLF, "xclbin2", as in
 * Xilinx' <xrt/xclbin.h>.
 *
 *     0 magic   304 header   456 table of sections, 40 bytes each   sections, at multiples of 8
 *
 * All fields are little endian, with 32 bits unless noted. MEM_TOPOLOGY, IP_LAYOUT and CONNECTIVITY
 * are a count of 32 bits and entries of one length. */
#ifndef XCLBIN_LAYOUT_H
#define XCLBIN_LAYOUT_H
#include <stdint.h>

#define XCLBIN_MAGIC "xclbin2" /* with terminating 0 */

/* Sections read or made here; kernel_list.c names more. */
enum {
    XCLBIN_BITSTREAM = 0,
    XCLBIN_EMBEDDED_METADATA = 2,
    XCLBIN_MEM_TOPOLOGY = 6,
    XCLBIN_CONNECTIVITY = 7,
    XCLBIN_IP_LAYOUT = 8,
    XCLBIN_GROUP_TOPOLOGY = 26,
    XCLBIN_GROUP_CONNECTIVITY = 27
};

/* offsets in the file */
enum {
    AXLF_SIGNATURE_LENGTH = 8, /* -1: none */
    AXLF_RESERVED = 12,        /* ff up to AXLF_UNIQUE_ID */
    AXLF_UNIQUE_ID = 296,      /* 8 bytes */
    AXLF_LENGTH = 304,         /* 8 bytes: the file's, without trailing data */
    AXLF_VERSION_MAJOR = 330,  /* 1 byte */
    AXLF_VERSION_MINOR = 331,  /* 1 byte */
    AXLF_MODE = 332,           /* 2 bytes */
    AXLF_PLATFORM = 352,       /* 64 bytes, a string */
    AXLF_UUID = 416,           /* 16 bytes */
    AXLF_N_SECTIONS = 448,
    AXLF_SECTIONS = 456
};

/* offsets in an entry of the table of sections */
enum {
    AXLF_SECTION_KIND = 0,
    AXLF_SECTION_AT = 24,    /* 8 bytes */
    AXLF_SECTION_BYTES = 32, /* 8 bytes */
    AXLF_SECTION_ENTRY = 40
};

/* in MEM_TOPOLOGY and GROUP_TOPOLOGY */
enum {
    MEM_ENTRIES = 8,
    MEM_ENTRY = 40,
    MEM_TYPE = 0,  /* 1 byte */
    MEM_USED = 1,  /* 1 byte */
    MEM_KIB = 8,   /* 8 bytes */
    MEM_BASE = 16, /* 8 bytes */
    MEM_TAG = 24,  /* 16 bytes, a string */
    MEM_TAG_BYTES = 16,
    MEM_TYPE_HBM = 6
};

enum {
    IP_ENTRIES = 8,
    IP_ENTRY = 80,
    IP_TYPE = 0,
    IP_PROPERTIES = 4, /* bit 0: interrupt; bits 7..1: its number; bits 15..8: control */
    IP_BASE = 8,       /* 8 bytes */
    IP_NAME = 16,      /* 64 bytes, a string: "kernel:unit" */
    IP_NAME_BYTES = 64,
    IP_TYPE_KERNEL = 1,
    IP_CONTROL_HS = 0,  /* ap_ctrl_hs */
    IP_CONTROL_NONE = 2 /* ap_ctrl_none */
};

enum {
    CONNECTION_ENTRIES = 4,
    CONNECTION_ENTRY = 12,
    CONNECTION_ARG = 0,
    CONNECTION_IP = 4, /* index in IP_LAYOUT */
    CONNECTION_MEM = 8 /* index in MEM_TOPOLOGY */
};

static inline uint64_t xclbin_get(const uint8_t *at, int bytes)
{
    uint64_t v = 0;
    for (int i = 0; i < bytes; i++)
        v |= (uint64_t)at[i] << (8 * i);
    return v;
}

static inline void xclbin_put(uint8_t *at, int bytes, uint64_t v)
{
    for (int i = 0; i < bytes; i++)
        at[i] = (uint8_t)(v >> (8 * i));
}

#endif
