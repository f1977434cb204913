/* xclbin_layout.h : where the fields of a container lie: AXLF, "xclbin2", as Xilinx publishes it
 * in <xrt/xclbin.h>. All little endian.
 *
 *     0 magic   304 header   456 table of sections, 40 bytes each   sections, each at a multiple of 8
 *
 * MEM_TOPOLOGY, IP_LAYOUT and CONNECTIVITY are a count of 32 bits and entries of one length. */
#ifndef XCLBIN_LAYOUT_H
#define XCLBIN_LAYOUT_H
#include <stdint.h>

#define XCLBIN_MAGIC "xclbin2" /* with its 0 */

enum { /* kinds of sections; those that nothing here makes or reads have a name in xclbin.c */
       XCLBIN_BITSTREAM = 0,
       XCLBIN_EMBEDDED_METADATA = 2,
       XCLBIN_MEM_TOPOLOGY = 6,
       XCLBIN_CONNECTIVITY = 7,
       XCLBIN_IP_LAYOUT = 8,
       XCLBIN_GROUP_TOPOLOGY = 26,
       XCLBIN_GROUP_CONNECTIVITY = 27
};

enum { /* of the file: offset, and bytes where it is no number of 32 bits */
       AXLF_SIGNATURE_LENGTH = 8, /* -1: none */
       AXLF_RESERVED = 12,        /* ff, up to AXLF_UNIQUE_ID */
       AXLF_UNIQUE_ID = 296,      /* 8 */
       AXLF_LENGTH = 304,         /* 8: of the file, without what may be behind it */
       AXLF_VERSION_MAJOR = 330,  /* 1 */
       AXLF_VERSION_MINOR = 331,  /* 1 */
       AXLF_MODE = 332,           /* 2 */
       AXLF_PLATFORM = 352,       /* 64, a string */
       AXLF_UUID = 416,           /* 16 */
       AXLF_N_SECTIONS = 448,
       AXLF_SECTIONS = 456
};

enum { /* of an entry of the table of sections */
       AXLF_SECTION_KIND = 0,
       AXLF_SECTION_AT = 24,    /* 8 */
       AXLF_SECTION_BYTES = 32, /* 8 */
       AXLF_SECTION_ENTRY = 40
};

enum { /* of MEM_TOPOLOGY; GROUP_TOPOLOGY is laid out alike */
       MEM_ENTRIES = 8,
       MEM_ENTRY = 40,
       MEM_TYPE = 0,  /* 1 */
       MEM_USED = 1,  /* 1 */
       MEM_KIB = 8,   /* 8 */
       MEM_BASE = 16, /* 8 */
       MEM_TAG = 24,  /* 16, a string */
       MEM_TAG_BYTES = 16,
       MEM_TYPE_HBM = 6
};

enum { /* of IP_LAYOUT */
       IP_ENTRIES = 8,
       IP_ENTRY = 80,
       IP_TYPE = 0,
       IP_PROPERTIES = 4, /* bit 0: interrupt; bits 7..1: its number; bits 15..8: control */
       IP_BASE = 8,       /* 8 */
       IP_NAME = 16,      /* 64, a string: "kernel:unit" */
       IP_NAME_BYTES = 64,
       IP_TYPE_KERNEL = 1,
       IP_CONTROL_HS = 0,  /* ap_ctrl_hs */
       IP_CONTROL_NONE = 2 /* ap_ctrl_none */
};

enum { /* of CONNECTIVITY */
       CONNECTION_ENTRIES = 4,
       CONNECTION_ENTRY = 12,
       CONNECTION_ARG = 0,
       CONNECTION_IP = 4, /* its place in IP_LAYOUT */
       CONNECTION_MEM = 8 /* its place in MEM_TOPOLOGY */
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
