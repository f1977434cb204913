/* info_cards.c : what XRT knows of cards in this machine, and the container that is to go into them. */
#include "app/doctor/info.h"
#include "offload/xrt/xclbin.h"
#include "offload/xrt/xrt_card.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CARDS = 16 };
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

/* The container that NARROWCAST_XCLBIN names. */
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
    for (; n < MOST_CARDS; n++) {
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
