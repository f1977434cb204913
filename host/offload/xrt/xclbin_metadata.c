/* xclbin_metadata.c : reads and writes a container's XML. */
#include "offload/xrt/xclbin_metadata.h"
#include "offload/xrt/kernel_list.h"
#include "offload/xrt/xclbin_xml.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WHY(...) (snprintf(why, XCLBIN_WHY_BYTES, __VA_ARGS__), -EINVAL)

enum { MAX_XML = 4 << 20 };

#define PORT "        <port "

static bool number(const char *text, uint32_t *out)
{
    char *end;
    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    const unsigned long long v = strtoull(text, &end, 0);
    *out = (uint32_t)v;
    return !*end && !errno && v <= UINT32_MAX;
}

static int number_of(const struct xml_tag *tag, const char *what, const struct xclbin_unit *u,
                     const char *arg, uint32_t *out, char *why)
{
    char text[24];
    if (xml_attribute(tag, what, text, sizeof text) == 1 && number(text, out))
        return 0;
    return WHY("argument '%s' of kernel '%s' needs a number as its %s", arg, u->kernel, what);
}

static int read_arg(struct xclbin *x, struct xclbin_unit *u, const struct xml_tag *tag, char *why)
{
    if (u->n_args == XCLBIN_UNIT_ARGS || x->n_args == XCLBIN_ARGS)
        return WHY("kernel '%s' has too many arguments", u->kernel);
    struct xclbin_arg a = {.index = -1, .bank = -1};
    if (xml_attribute(tag, "name", a.name, sizeof a.name) != 1)
        return WHY("argument %d of kernel '%s' has no name", u->n_args, u->kernel);
    for (char *c = a.name; *c; c++)
        *c = *c < ' ' || *c > '~' ? '?' : *c;
    char id[24];
    uint32_t index;
    const int has = xml_attribute(tag, "id", id, sizeof id);
    if (has < 0 || (has && *id && (!number(id, &index) || index >= XCLBIN_UNIT_ARGS)))
        return WHY("argument '%s' of kernel '%s' needs an id below %d", a.name, u->kernel,
                   XCLBIN_UNIT_ARGS);
    if (has && *id)
        a.index = (int)index;
    int rc = number_of(tag, "offset", u, a.name, &a.offset, why);
    if (!rc)
        rc = number_of(tag, "size", u, a.name, &a.bytes, why);
    if (!rc)
        rc = number_of(tag, "addressQualifier", u, a.name, &a.qualifier, why);
    if (rc)
        return rc;
    x->args[x->n_args++] = a;
    u->n_args++;
    return 0;
}

static int read_unit(struct xclbin *x, struct xclbin_unit *u, struct xml xml, char *why)
{
    struct xml_tag tag;
    int rc;
    u->arg = x->n_args;
    while ((rc = xml_next(&xml, &tag)) > 0) {
        if (xml_is(&tag, "kernel") && u->described)
            return 0; /* the kernel's end, or a nested start */
        char name[XCLBIN_NAME];
        if (xml_is(&tag, "kernel") && !tag.closes) {
            u->described =
                xml_attribute(&tag, "name", name, sizeof name) == 1 && !strcmp(name, u->kernel);
            if (u->described && tag.whole)
                return 0;
        }
        if (xml_is(&tag, "arg") && !tag.closes && u->described)
            if ((rc = read_arg(x, u, &tag, why)))
                return rc;
    }
    return rc < 0 ? WHY("its metadata is not complete XML") : 0;
}

int xclbin_metadata_read(struct xclbin *x, const char *xml, size_t bytes, char *why)
{
    if (bytes > MAX_XML)
        return WHY("its metadata has %zu bytes: at most %d are supported", bytes, MAX_XML);
    for (int i = 0; i < x->n_units; i++) {
        const int rc = read_unit(x, &x->units[i], (struct xml){xml, xml + bytes}, why);
        if (rc)
            return rc;
    }
    return 0;
}

static void write_arg(const struct kernel_arg *a, struct text *to)
{
    const int bytes = a->memory ? 8 : 4;
    text_add(to,
             "        <arg name=\"%s\" addressQualifier=\"%d\" id=\"%d\" port=\"%s\" size=\"0x%x\" "
             "offset=\"0x%x\" hostOffset=\"0x0\" hostSize=\"0x%x\" type=\"%s\"/>\n",
             a->name, a->memory, a->index, a->memory ? "m_axi_gmem" : "s_axi_control", bytes,
             a->offset, bytes, a->c_type);
}

/* All kernels are ap_ctrl_hs, even nic_core, which never starts: XRT 2.13 lets programs access
 * registers only of such kernels (xrtPLKernelOpenExclusive: "AP_CTRL_NONE is only supported by XRT
 * native API xrt::ip", which C lacks). Without interrupts XRT accesses no register on its own. */
static void write_begin(enum kernel k, struct text *to)
{
    const char *name = kernel_about(k)->name;
    text_add(to,
             "      <kernel name=\"%s\" language=\"ip_c\" vlnv=\"narrowcast:kernel:%s:1.0\" "
             "attributes=\"\" preferredWorkGroupSizeMultiple=\"0\" workGroupSize=\"1\" "
             "interrupt=\"false\" hwControlProtocol=\"ap_ctrl_hs\">\n",
             name, name);
}

static void write_ports(enum kernel k, uint32_t window, struct text *to)
{
    bool memory = false;
    for (int i = 0; kernel_arg(k, i); i++)
        memory |= kernel_arg(k, i)->memory;
    if (memory)
        text_add(to, PORT "name=\"m_axi_gmem\" mode=\"master\" range=\"0xFFFFFFFFFFFFFFFF\" "
                          "dataWidth=\"512\" portType=\"addressable\" base=\"0x0\"/>\n");
    text_add(to,
             PORT "name=\"s_axi_control\" mode=\"slave\" range=\"0x%x\" dataWidth=\"32\" "
                  "portType=\"addressable\" base=\"0x0\"/>\n",
             window);
}

static void write_kernel(enum kernel k, struct text *to)
{
    const struct kernel_about *about = kernel_about(k);
    write_begin(k, to);
    write_ports(k, KERNEL_WINDOW, to);
    for (int i = 0; kernel_arg(k, i); i++)
        write_arg(kernel_arg(k, i), to);
    text_add(to,
             "        <instance name=\"%s_1\"><addrRemap base=\"0x%llx\" port=\"s_axi_control\"/>"
             "</instance>\n      </kernel>\n",
             about->name, (unsigned long long)about->base);
}

/* A kernel with runs has 4 KiB of registers. */
void xclbin_kernel_xml(enum kernel k, struct text *to)
{
    const struct kernel_stream *s;
    text_add(to, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                 "<root versionMajor=\"1\" versionMinor=\"6\">\n");
    write_begin(k, to);
    text_add(to, "      <ports>\n");
    write_ports(k, kernel_about(k)->starts ? 0x1000 : KERNEL_WINDOW, to);
    for (int i = 0; (s = kernel_stream(k, i)); i++)
        text_add(to,
                 PORT "name=\"%s\" mode=\"%s\" range=\"\" dataWidth=\"512\" "
                      "portType=\"stream\"/>\n",
                 s->port, s->in ? "read_only" : "write_only");
    text_add(to, "      </ports>\n      <args>\n");
    for (int i = 0; kernel_arg(k, i); i++)
        write_arg(kernel_arg(k, i), to);
    for (int i = 0; (s = kernel_stream(k, i)); i++)
        text_add(
            to,
            "        <arg name=\"%s\" addressQualifier=\"4\" id=\"%d\" port=\"%s\" size=\"0x0\" "
            "offset=\"0x0\" hostOffset=\"0x0\" hostSize=\"0x0\" memSize=\"0\" "
            "type=\"stream&lt;ap_axiu&lt;512,0,0,16&gt;&gt;&amp;\"/>\n",
            s->port, s->index, s->port);
    text_add(to, "      </args>\n      </kernel>\n</root>\n");
}

void xclbin_metadata_write(const char *platform, bool hw_emu, struct text *to)
{
    text_add(to,
             "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<project name=\"narrowcast\">\n"
             "  <platform vendor=\"narrowcast\" boardid=\"sim\" name=\"%s\" featureRomTime=\"0\">\n"
             "    <version major=\"1\" minor=\"0\"/>\n"
             "    <device name=\"fpga0\" fpgaDevice=\"sim:none:none:none\" addrWidth=\"64\">\n"
             "    <core name=\"OCL_REGION_0\" target=\"%s\" type=\"clc_region\" "
             "clockFreq=\"200MHz\" numComputeUnits=\"%d\">\n"
             "      <kernelClocks>\n"
             "        <clock port=\"DATA_CLK\" frequency=\"200.0MHz\"/>\n"
             "        <clock port=\"KERNEL_CLK\" frequency=\"200.0MHz\"/>\n"
             "      </kernelClocks>\n",
             platform, hw_emu ? "hw_em" : "bitstream", N_KERNELS);
    for (int k = 0; k < N_KERNELS; k++)
        write_kernel((enum kernel)k, to);
    text_add(to, "    </core>\n    </device>\n  </platform>\n</project>\n");
}
