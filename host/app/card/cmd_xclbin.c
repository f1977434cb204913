/* cmd_xclbin.c : runs `narrowcast xclbin`, which makes the container that XRT loads
 * into a card, or shows one. */
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
    {"What is in a container", NULL, NULL, NULL, OPT_GROUP, 0, 0, 0, 0},
    {"check", NULL, NULL,
     "Fails, and names the first difference, unless the container has the kernels, arguments and "
     "offsets of this version of narrowcast (hls/card/kernels.def); of a simulated card, where its "
     "registers are, too.",
     OPT_FLAG, AT(check), 0, 0, 0},
    {"json", NULL, NULL, "Prints JSON lines instead of a table.", OPT_FLAG, AT(json), 0, 0, 0},
    {"Making one", NULL, NULL, NULL, OPT_GROUP, 0, 0, 0, 0},
    {"make", "OUT", NULL,
     "Writes a container for the simulated card; OUT appears when it is whole, or not at all.",
     OPT_TEXT, AT(make), 0, 0, 0},
    {"bitstream", "FILE", NULL,
     "What the container holds for the FPGA. Without it: a line that says that it is for the "
     "simulated card.",
     OPT_TEXT, AT(bitstream), 0, 0, 0},
    {"platform", "NAME", XCLBIN_SIM_PLATFORM, "The platform that it says it is for.", OPT_TEXT,
     AT(platform), 0, 0, 0},
    {"mode", "hw|hw_emu", "hw",
     "hw_emu: XRT is to start the bitstream, a zip archive, as a simulator of its own.", OPT_CHOICE,
     AT(mode), 0, 0, 0},
    {"uuid", "X", NULL,
     "As 8-4-4-4-12 hexadecimal digits. Without it: from the content, so that the same card has "
     "the same one.",
     OPT_TEXT, AT(uuid), 0, 0, 0},
    {"For Vitis", NULL, NULL, NULL, OPT_GROUP, 0, 0, 0, 0},
    {"kernel-xml", "NAME", NULL,
     "Prints kernel.xml of one kernel, which Vitis' package_xo wants of those that are RTL.",
     OPT_TEXT, AT(kernel_xml), 0, 0, 0},
};

static const struct opt_command command = {
    .name = "xclbin",
    .args = "[FILE]",
    .max_args = 1,
    .about =
        "An xclbin is what Xilinx' runtime, XRT, loads into an FPGA card: the bitstream, and what "
        "it makes of the card:\n"
        "its kernels, where their registers and arguments are, its memory. This command says what "
        "is in FILE, or makes one\n"
        "for the simulated card. That of a true card is made by Vitis: hls/core/vitis/README.md.",
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
        return ERR(-EINVAL, "'%s' is no UUID: 8-4-4-4-12 hexadecimal digits", o->uuid);
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
        ERR(rc, "'%s' is no card of this version: %s", path, why);
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
    return ERR(-EINVAL, "no kernel '%s': there are %s", name, list);
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
        return ERR(-EINVAL,
                   "xclbin: give a FILE to look into, or --make OUT, or --kernel-xml NAME");
    if (!p.n_args && (o.json || o.check))
        return ERR(-EINVAL, "xclbin: --%s is for a FILE", o.json ? "json" : "check");
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        if (!o.make && opt_given(&command, &p, made[i]))
            return ERR(-EINVAL, "xclbin: --%s is for --make OUT", made[i]);
    if (o.kernel_xml)
        return print_kernel_xml(o.kernel_xml);
    return o.make ? make(&o) : show(&o, p.args[0]);
}
