/* cmd_xclbin.c : runs `narrowcast xclbin`. */
#include "app/app.h"
#include "app/card/xclbin_show.h"
#include "base/err.h"
#include "base/file.h"
#include "base/opt/opt.h"
#include "offload/xrt/kernel_list.h"
#include "offload/xrt/xclbin_metadata.h"
#include <stdlib.h>
#include <string.h>

struct xclbin_options {
    const char *make, *bitstream, *platform, *mode, *uuid, *kernel_xml;
    bool json, check;
};

#define AT(field) offsetof(struct xclbin_options, field)
static const struct opt opts[] = {
    {"show or check a container", NULL, NULL, NULL, OPT_GROUP, 0, 0, 0, 0},
    {"check", NULL, NULL,
     "Check that the container has the kernels, arguments and offsets of this version of "
     "narrowcast (hls/card/kernels.def). For a simulated card, also check the addresses of its "
     "registers. On a difference, print the first one and fail.",
     FLAG_AT(check)},
    {"json", NULL, NULL, "Print JSON lines instead of a table.", FLAG_AT(json)},
    {"make a container", NULL, NULL, NULL, OPT_GROUP, 0, 0, 0, 0},
    {"make", "OUT", NULL,
     "Write a container for the simulated card. OUT appears only when it is complete.",
     TEXT_AT(make)},
    {"bitstream", "FILE", NULL,
     "The bitstream to put into the container. Without it: a line that says that the container is "
     "for the simulated card.",
     TEXT_AT(bitstream)},
    {"platform", "NAME", XCLBIN_SIM_PLATFORM, "Name of the platform to write into the container.",
     TEXT_AT(platform)},
    {"mode", "hw|hw_emu", "hw",
     "hw_emu: the bitstream is a zip archive that XRT starts as a simulator.", CHOICE_AT(mode)},
    {"uuid", "X", NULL,
     "UUID: 8-4-4-4-12 hexadecimal digits. Without it: derived from the content, so equal "
     "containers have equal UUIDs.",
     TEXT_AT(uuid)},
    {"for Vitis", NULL, NULL, NULL, OPT_GROUP, 0, 0, 0, 0},
    {"kernel-xml", "NAME", NULL,
     "Print kernel.xml of this RTL kernel, which package_xo of Vitis needs.", TEXT_AT(kernel_xml)},
};

static const struct opt_command command = {
    .name = "xclbin",
    .args = "[FILE]",
    .max_args = 1,
    .about = "Shows, checks or makes an xclbin: the container that Xilinx' runtime, XRT, loads "
             "into an FPGA card. It holds the bitstream and describes the kernels, their registers "
             "and arguments, and the card's memory. This command makes containers only for the "
             "simulated card. Vitis makes those of real cards: see hls/core/vitis/README.md.",
    .examples = "  build/narrowcast xclbin --make card.xclbin\n"
                "  build/narrowcast xclbin card.xclbin\n"
                "  build/narrowcast xclbin --check card.xclbin\n",
    .opts = opts,
    .n_opts = sizeof opts / sizeof *opts,
};

static int write_whole(const char *path, const void *bytes, size_t n)
{
    struct file_out out = {0};
    int rc = file_out_open(&out, path);
    if (!rc)
        rc = file_out_write(&out, bytes, n);
    if (!rc)
        rc = file_out_commit(&out);
    file_out_discard(&out);
    return rc;
}

static int make(const struct xclbin_options *o)
{
    static const char simulated[] = "narrowcast: the simulated card, no bitstream\n";
    uint8_t uuid[XCLBIN_UUID_BYTES], *bits = NULL, *file = NULL;
    struct xclbin_plan plan = {.platform = o->platform,
                               .hw_emu = !strcmp(o->mode, "hw_emu"),
                               .bitstream = simulated,
                               .bitstream_bytes = sizeof simulated - 1};
    size_t bytes = 0;
    char why[XCLBIN_WHY_BYTES];
    if (o->uuid && !xclbin_uuid_read(o->uuid, uuid))
        return ERR(-EINVAL, "'%s' is not a UUID: need 8-4-4-4-12 hexadecimal digits", o->uuid);
    plan.uuid = o->uuid ? uuid : NULL;
    if (o->bitstream) {
        const int rc = xclbin_read(o->bitstream, &bits, &plan.bitstream_bytes, why);
        if (rc)
            return ERR(rc, "%s", why);
        plan.bitstream = bits;
    }
    int rc = xclbin_make(&plan, &file, &bytes, why);
    if (rc)
        rc = ERR(rc, "cannot make '%s': %s", o->make, why);
    else
        rc = write_whole(o->make, file, bytes);
    free(file);
    free(bits);
    return rc;
}

static int show(const struct xclbin_options *o, const char *path)
{
    struct xclbin *x = NULL;
    char why[XCLBIN_WHY_BYTES];
    int rc = xclbin_open(path, &x, why);
    if (rc)
        return ERR(rc, "%s", why);
    rc = o->json ? xclbin_show_json(x) : xclbin_show(x);
    if (!rc && o->check && (rc = xclbin_check(x, why)))
        ERR(rc, "'%s' does not match this version of narrowcast: %s", path, why);
    else if (!rc && o->check && !o->json)
        printf("check     a card of this version\n");
    xclbin_close(x);
    return rc;
}

static int print_kernel_xml(const char *name)
{
    static char xml[1 << 16];
    struct text text = text_in(xml, sizeof xml);
    char list[256];
    struct text names = text_in(list, sizeof list);
    for (int k = 0; k < N_KERNELS; k++) {
        const char *known = kernel_about((enum kernel)k)->name;
        text_add(&names, "%s%s", k ? ", " : "", known);
        if (strcmp(name, known) != 0)
            continue;
        xclbin_kernel_xml((enum kernel)k, &text);
        fputs(xml, stdout);
        return 0;
    }
    return ERR(-EINVAL, "unknown kernel '%s': need one of %s", name, list);
}

int cmd_xclbin(int argc, char **argv)
{
    static const char *const made[] = {"bitstream", "platform", "mode", "uuid"};
    struct xclbin_options o = {0};
    struct opt_parsed p;
    TRY(opt_parse(&command, argc, argv, &o, &p));
    if (p.help)
        return opt_help(&command, &p, stdout), 0;
    if (!!o.make + !!p.n_args + !!o.kernel_xml != 1)
        return ERR(-EINVAL, "xclbin needs a FILE to show, or --make OUT, or --kernel-xml NAME");
    if (!p.n_args && (o.json || o.check))
        return ERR(-EINVAL, "xclbin: --%s needs a FILE", o.json ? "json" : "check");
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        if (!o.make && opt_given(&command, &p, made[i]))
            return ERR(-EINVAL, "xclbin: --%s needs --make OUT", made[i]);
    if (o.kernel_xml)
        return print_kernel_xml(o.kernel_xml);
    return o.make ? make(&o) : show(&o, p.args[0]);
}
