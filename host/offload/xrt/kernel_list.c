/* kernel_list.c : provides hls/card/kernels.def as tables, and names for parts of a container. */
#include "offload/xrt/kernel_list.h"
#include "base/text.h"
#include "offload/xrt/xclbin.h"
#include <assert.h>
#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* values in kernels.def */
enum { USER, HS };      /* control of KERNEL */
enum { VALUE, MEMORY }; /* kind of KERNEL_ARG */

static const struct kernel_about kernels[N_KERNELS] = {
#define KERNEL(NAME, name, base, control, what) {#name, base, control == HS},
#include "hls/card/kernels.def"
};

static const struct kernel_arg args[] = {
#define KERNEL_ARG(KERNEL, index, name, offset, kind, c_type) \
    {KERNEL_##KERNEL, index, #name, offset, kind == MEMORY, c_type},
#include "hls/card/kernels.def"
};

#define KERNEL_ARG(KERNEL, index, name, offset, kind, c_type) \
    static_assert((index) < KERNEL_MAX_ARGS, "raise KERNEL_MAX_ARGS (hls/card/kernels.h)");
#include "hls/card/kernels.def"

enum { IN, OUT }; /* way of KERNEL_STREAM */

static const struct kernel_stream streams[] = {
#define KERNEL_STREAM(KERNEL, index, port, way, what) {KERNEL_##KERNEL, index, #port, way == IN},
#include "hls/card/kernels.def"
};

static const struct kernel_bank banks[N_KERNEL_BANKS] = {
#define BANK(NAME, base, kib, what) {#NAME, base, kib},
#include "hls/card/kernels.def"
};

const struct kernel_about *kernel_about(enum kernel k)
{
    return &kernels[k];
}

const struct kernel_arg *kernel_arg(enum kernel k, int index)
{
    for (size_t i = 0; i < sizeof args / sizeof *args; i++)
        if (args[i].kernel == k && args[i].index == index)
            return &args[i];
    return NULL;
}

const struct kernel_stream *kernel_stream(enum kernel k, int n)
{
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++)
        if (streams[i].kernel == k && n-- == 0)
            return &streams[i];
    return NULL;
}

const struct kernel_bank *kernel_bank(int index)
{
    return &banks[index];
}

void xclbin_kind_name(uint32_t kind, char name[32])
{
    static const char *const names[] = {
        [0] = "bitstream",        [2] = "embedded_metadata",   [6] = "mem_topology",
        [7] = "connectivity",     [8] = "ip_layout",           [9] = "debug_ip_layout",
        [11] = "clock_freq",      [14] = "build_metadata",     [15] = "keyvalue_metadata",
        [16] = "user_metadata",   [20] = "partition_metadata", [21] = "emulation_data",
        [22] = "system_metadata", [26] = "group_topology",     [27] = "group_connectivity",
    };
    if (kind < sizeof names / sizeof *names && names[kind])
        snprintf(name, 32, "%s", names[kind]);
    else
        snprintf(name, 32, "kind %u", kind);
}

const char *xclbin_mode_name(uint32_t mode)
{
    return mode == 0 || mode == 1   ? "hw"
           : mode == 4 || mode == 6 ? "hw_emu"
           : mode == 5              ? "sw_emu"
                                    : "unknown";
}

void xclbin_uuid_print(const uint8_t uuid[XCLBIN_UUID_BYTES], char text[XCLBIN_UUID_TEXT])
{
    for (int i = 0; i < XCLBIN_UUID_BYTES; i++) {
        snprintf(text, 3, "%02x", uuid[i]);
        text += 2;
        if (i == 3 || i == 5 || i == 7 || i == 9)
            *text++ = '-';
    }
    *text = 0;
}

bool xclbin_uuid_read(const char *text, uint8_t uuid[XCLBIN_UUID_BYTES])
{
    uint8_t out[XCLBIN_UUID_BYTES] = {0};
    if (strlen(text) != XCLBIN_UUID_TEXT - 1)
        return false;
    for (int i = 0, digit = 0; text[i]; i++) {
        const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        const int value = text_hex((char)tolower((unsigned char)text[i]));
        if (dash ? text[i] != '-' : value < 0)
            return false;
        if (dash)
            continue;
        out[digit / 2] = (uint8_t)(out[digit / 2] << 4 | value);
        digit++;
    }
    memcpy(uuid, out, sizeof out);
    return true;
}
