/* cmd_info.c : runs `narrowcast info`. */
#include "app/app.h"
#include "app/doctor/info.h"
#include "base/err.h"
#include "base/jsonl.h"
#include "base/opt/opt.h"
#include "vec/vec.h"
#include "base/plugin.h"
#include "comm/mpi/comm_library.h"
#include "nn/cpu/blas.h"
#include "nn/round/round_ops.h"
#include "offload/wire/wire.h"
#include "offload/xrt/xclbin.h"
#include "offload/xrt/xrt_card.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

struct info_options {
    bool json;
};

static const struct opt opts[] = {
    {"json", NULL, NULL, "Print one JSON object instead of a table.", OPT_FLAG,
     offsetof(struct info_options, json), 0, 0, 0},
};

static const struct opt_command command = {
    .name = "info",
    .args = "",
    .about = "Prints what this build and this machine can do: compiler, libraries, GPU, CPU, "
             "network interfaces, cards.",
    .examples = "  build/narrowcast info\n  build/narrowcast info --json\n",
    .opts = opts,
    .n_opts = sizeof opts / sizeof *opts,
};

static int print_json(const struct info *info)
{
    struct jsonl j;
    jsonl_to(&j, stdout);
    jsonl_begin(&j, "info");
    for (int i = 0; i < info->n; i++)
        jsonl_text(&j, info->facts[i].key, info->facts[i].value);
    return jsonl_end(&j);
}

static int print_table(const struct info *info)
{
    for (int i = 0; i < info->n; i++)
        printf("%-20s %s\n", info->facts[i].key, info->facts[i].value);
    return 0;
}

int cmd_info(int argc, char **argv)
{
    struct info_options o = {0};
    struct opt_parsed p;
    TRY(opt_parse(&command, argc, argv, &o, &p));
    if (p.help)
        return opt_help(&command, &p, stdout), 0;
    TRY(vec_best_check());
    struct info info = {.n = 0};
    info_build(&info);
    info_gpu(&info);
    info_machine(&info);
    info_cards(&info);
    return o.json ? print_json(&info) : print_table(&info);
}

const char *app_commit = "unknown";

void info_build(struct info *info)
{
    char mpi[160];
    comm_library(mpi, sizeof mpi);
    info_add(info, "narrowcast", APP_VERSION);
    info_add(info, "commit", "%s", app_commit);
#ifdef __clang__
    info_add(info, "compiler", "%s", __VERSION__);
#else
    info_add(info, "compiler", "gcc %s", __VERSION__);
#endif
    info_add(info, "vec backend", "%s", vec_best()->name);
    info_add(info, "MPI", "%s", mpi);
    info_add(info, "CBLAS", "%s", blas_config());
    info_add(info, "wider in fp16-pure", "%s", round_pure_wide);
    info_add(info, "and with CUDA", "%s", round_pure_wide_cuda);
    info_add(info, "zlib", "%s", zlibVersion());
    char fabric[INFO_VALUE], path[PATH_MAX];
    wire_plugin_about("udp", fabric, sizeof fabric);
    info_add(info, "libfabric", "%s", fabric);
    wire_plugin_about("xdp", fabric, sizeof fabric);
    info_add(info, "AF_XDP", "%s", fabric);
    info_add(info, "simulated card", "%s",
             beside("narrowcast-sim", path) == path ? path : "not built");
}

enum { MAX_CARDS = 16 };
static const double look_s = 5;

static void one_card(struct info *info, struct xrt_card *card)
{
    static const uint8_t none[XRT_UUID_BYTES];
    struct xrt_about about;
    char uuid[XCLBIN_UUID_TEXT + 8] = "no xclbin", celsius[32] = "";
    if (xrt_card_about(card, &about)) {
        info_add(info, card->name, "%s", card->why);
        return;
    }
    if (memcmp(card->uuid, none, sizeof none))
        xclbin_uuid_print(card->uuid, strcpy(uuid, "xclbin ") + 7);
    if (!isnan(about.celsius))
        snprintf(celsius, sizeof celsius, ", %.0f C", about.celsius);
    info_add(info, card->name, "%s%s%s, %s%s", about.bdf, *about.bdf ? ", " : "",
             *about.shell ? about.shell : "shell unknown", uuid, celsius);
}

static void container(struct info *info)
{
    const char *path = getenv("NARROWCAST_XCLBIN");
    struct xclbin *x;
    char why[XCLBIN_WHY_BYTES], uuid[XCLBIN_UUID_TEXT], kernels[256] = "";
    if (!path || !*path)
        return;
    if (xclbin_open(path, &x, why)) {
        info_add(info, "xclbin", "%s", why);
        return;
    }
    xclbin_uuid_print(x->uuid, uuid);
    for (int i = 0; i < x->n_units; i++) {
        const size_t n = strlen(kernels);
        snprintf(kernels + n, sizeof kernels - n, "%s%s", i ? ", " : "", x->units[i].kernel);
    }
    info_add(info, "xclbin", "%s of %s: %s", uuid, x->platform, kernels);
    xclbin_close(x);
}

void info_cards(struct info *info)
{
    int n = 0;
    for (; n < MAX_CARDS; n++) {
        struct xrt_card card;
        char name[16];
        snprintf(name, sizeof name, "xrt:%d", n);
        const int rc = xrt_card_look(&card, name, look_s);
        if (rc && n == 0) {
            info_add(info, "XRT", "none: %s", card.why);
            return;
        }
        if (rc && rc != -ENODEV)
            info_add(info, name, "%s", card.why);
        if (rc == -ENODEV || rc == -ETIMEDOUT)
            return;
        if (rc)
            continue;
        if (n == 0) {
            char version[64];
            xrt_card_library(version, sizeof version);
            info_add(info, "XRT", "%s", version);
            container(info);
        }
        one_card(info, &card);
        xrt_card_close(&card);
    }
}
