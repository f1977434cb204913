/* xclbin_make.c : makes a container of hls/card/kernels.def. */
#include "offload/xrt/kernel_list.h"
#include "offload/xrt/xclbin.h"
#include "offload/xrt/xclbin_layout.h"
#include "offload/xrt/xclbin_metadata.h"
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_MADE = 5, XML_MAX = 1 << 16 };

struct section {
    uint32_t kind;
    size_t bytes;
    const void *data;
};

/* zeroed by the caller */
struct tables {
    uint8_t memory[MEM_ENTRIES + N_KERNEL_BANKS * MEM_ENTRY];
    uint8_t layout[IP_ENTRIES + N_KERNELS * IP_ENTRY];
    uint8_t connections[CONNECTION_ENTRIES + N_KERNELS * KERNEL_MAX_ARGS * CONNECTION_ENTRY];
    size_t connections_bytes;
    char xml[XML_MAX];
};

static void make_memory(struct tables *t)
{
    xclbin_put(t->memory, 4, N_KERNEL_BANKS);
    for (int i = 0; i < N_KERNEL_BANKS; i++) {
        const struct kernel_bank *b = kernel_bank(i);
        uint8_t *e = t->memory + MEM_ENTRIES + (size_t)i * MEM_ENTRY;
        e[MEM_TYPE] = MEM_TYPE_HBM;
        e[MEM_USED] = 1;
        xclbin_put(e + MEM_KIB, 8, b->kib);
        xclbin_put(e + MEM_BASE, 8, b->base);
        snprintf((char *)e + MEM_TAG, MEM_TAG_BYTES, "%s", b->tag);
    }
}

/* All are ap_ctrl_hs without interrupts (xclbin_metadata.c). */
static void make_layout(struct tables *t)
{
    xclbin_put(t->layout, 4, N_KERNELS);
    for (int k = 0; k < N_KERNELS; k++) {
        const struct kernel_about *about = kernel_about((enum kernel)k);
        uint8_t *e = t->layout + IP_ENTRIES + (size_t)k * IP_ENTRY;
        xclbin_put(e + IP_TYPE, 4, IP_TYPE_KERNEL);
        xclbin_put(e + IP_PROPERTIES, 4, IP_CONTROL_HS << 8);
        xclbin_put(e + IP_BASE, 8, about->base);
        snprintf((char *)e + IP_NAME, IP_NAME_BYTES, "%s:%s_1", about->name, about->name);
    }
}

/* CONNECTION_MEM stays 0: all arguments are in the only bank. */
static void make_connections(struct tables *t)
{
    static_assert(N_KERNEL_BANKS == 1, "write CONNECTION_MEM");
    uint32_t n = 0;
    for (int k = 0; k < N_KERNELS; k++)
        for (int i = 0; kernel_arg((enum kernel)k, i); i++) {
            if (!kernel_arg((enum kernel)k, i)->memory)
                continue;
            uint8_t *e = t->connections + CONNECTION_ENTRIES + (size_t)n++ * CONNECTION_ENTRY;
            xclbin_put(e + CONNECTION_ARG, 4, (uint64_t)i);
            xclbin_put(e + CONNECTION_IP, 4, (uint64_t)k);
        }
    xclbin_put(t->connections, 4, n);
    t->connections_bytes = CONNECTION_ENTRIES + (size_t)n * CONNECTION_ENTRY;
}

/* An FNV-1a hash, and a variant that rotates by 7 bits before each byte. */
static void hash(uint64_t h[2], const void *bytes, size_t n)
{
    const uint8_t *b = bytes;
    for (size_t i = 0; i < n; i++) {
        h[0] = (h[0] ^ b[i]) * 0x100000001b3;
        h[1] = ((h[1] << 7 | h[1] >> 57) ^ b[i]) * 0x100000001b3;
    }
}

/* Makes a UUID of version 8 (free format). */
static void make_uuid(const uint8_t *file, size_t bytes, uint8_t uuid[XCLBIN_UUID_BYTES])
{
    uint64_t h[2] = {0xcbf29ce484222325, 0x6c62272e07bb0142};
    hash(h, file, bytes);
    xclbin_put(uuid, 8, h[0] ^ h[0] >> 32);
    xclbin_put(uuid + 8, 8, h[1] ^ h[1] >> 32);
    uuid[6] = (uint8_t)((uuid[6] & 0x0f) | 0x80);
    uuid[8] = (uint8_t)((uuid[8] & 0x3f) | 0x80);
}

/* The header has no time, so that equal cards give equal files. */
static void write_header(const struct xclbin_plan *plan, uint8_t *f, size_t bytes)
{
    memcpy(f, XCLBIN_MAGIC, sizeof XCLBIN_MAGIC);
    xclbin_put(f + AXLF_SIGNATURE_LENGTH, 4, UINT32_MAX);
    memset(f + AXLF_RESERVED, 0xff, AXLF_UNIQUE_ID - AXLF_RESERVED);
    xclbin_put(f + AXLF_LENGTH, 8, bytes);
    f[AXLF_VERSION_MAJOR] = 2;
    f[AXLF_VERSION_MINOR] = 1;
    xclbin_put(f + AXLF_MODE, 2, plan->hw_emu ? 4 : 0);
    memcpy(f + AXLF_PLATFORM, plan->platform, strlen(plan->platform));
    xclbin_put(f + AXLF_N_SECTIONS, 4, N_MADE);
}

static void write_file(const struct xclbin_plan *plan, const struct section *sections, uint8_t *f,
                       size_t bytes)
{
    write_header(plan, f, bytes);
    size_t at = AXLF_SECTIONS + N_MADE * AXLF_SECTION_ENTRY;
    for (int i = 0; i < N_MADE; i++) {
        uint8_t *e = f + AXLF_SECTIONS + (size_t)i * AXLF_SECTION_ENTRY;
        xclbin_put(e + AXLF_SECTION_KIND, 4, sections[i].kind);
        xclbin_put(e + AXLF_SECTION_AT, 8, at);
        xclbin_put(e + AXLF_SECTION_BYTES, 8, sections[i].bytes);
        if (sections[i].bytes)
            memcpy(f + at, sections[i].data, sections[i].bytes);
        at += (sections[i].bytes + 7) / 8 * 8;
    }
    uint8_t uuid[XCLBIN_UUID_BYTES];
    make_uuid(f, bytes, uuid);
    if (plan->uuid)
        memcpy(uuid, plan->uuid, sizeof uuid);
    memcpy(f + AXLF_UUID, uuid, sizeof uuid);
    memcpy(f + AXLF_UNIQUE_ID, uuid, 8);
}

int xclbin_make(const struct xclbin_plan *plan, uint8_t **file, size_t *bytes, char *why)
{
    if (!*plan->platform || strlen(plan->platform) > 63 || strpbrk(plan->platform, "<>&\"'")) {
        snprintf(why, XCLBIN_WHY_BYTES,
                 "bad name of a platform: need 1 to 63 letters without < > & \" '");
        return -EINVAL;
    }
    struct tables *t = calloc(1, sizeof *t);
    struct text xml = t ? text_in(t->xml, sizeof t->xml) : (struct text){0};
    size_t n = AXLF_SECTIONS + N_MADE * AXLF_SECTION_ENTRY;
    uint8_t *f = NULL;
    if (t) {
        make_memory(t);
        make_layout(t);
        make_connections(t);
        xclbin_metadata_write(plan->platform, plan->hw_emu, &xml);
        const struct section sections[N_MADE] = {
            {XCLBIN_BITSTREAM, plan->bitstream_bytes, plan->bitstream},
            {XCLBIN_MEM_TOPOLOGY, sizeof t->memory, t->memory},
            {XCLBIN_IP_LAYOUT, sizeof t->layout, t->layout},
            {XCLBIN_CONNECTIVITY, t->connections_bytes, t->connections},
            {XCLBIN_EMBEDDED_METADATA, xml.n, t->xml},
        };
        for (int i = 0; i < N_MADE; i++)
            n += (sections[i].bytes + 7) / 8 * 8;
        f = xml.full ? NULL : calloc(1, n);
        if (f)
            write_file(plan, sections, f, n);
    }
    free(t);
    if (!f) {
        snprintf(why, XCLBIN_WHY_BYTES, "out of memory, or more than 64 KiB of metadata");
        return -ENOMEM;
    }
    *file = f;
    *bytes = n;
    return 0;
}
