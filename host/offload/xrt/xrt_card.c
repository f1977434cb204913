/* xrt_card.c : controls a card through the Xilinx runtime, whose library stays loaded until the
 * process ends. */
#include "offload/xrt/xrt_card.h"
#include "base/err.h"
#include "base/plugin.h"
#include "offload/xrt/xclbin.h"
#include "offload/xrt/xrt_work.h"
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BDF_BYTES = 32 }; /* "0000:65:00.1", and room for any values */
/* limits of calls that wait for no kernel */
static const double call_s = 5, close_s = 2;

static struct {
    pthread_mutex_t lock;
    const struct xrt_library *library;
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int failed(struct xrt_card *card, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static int failed(struct xrt_card *card, int code, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    vsnprintf(card->why, sizeof card->why, format, ap);
    va_end(ap);
    return code;
}

/* Another version of XRT than at compile time may work, because the C API is old and stable. */
static void check_drift(const struct xrt_library *l)
{
    const char *loaded = l->loaded();
    const size_t same = strcspn(l->compiled, ".") + 1;
    const size_t n = same + strcspn(l->compiled + same, ".");
    if (*loaded && (strncmp(loaded, l->compiled, n) || (loaded[n] && loaded[n] != '.')))
        err_news("XRT %s is installed, but libnarrowcast_xrt.so was built with %s: rebuild it if "
                 "cards fail",
                 loaded, l->compiled);
}

static int load_library(struct xrt_card *card)
{
    static const struct plugin plugin = {
        "libnarrowcast_xrt.so", "NARROWCAST_XRT",    "where XRT is (Debian: libxrt-dev)",
        XRT_LIBRARY_SYMBOL,     XRT_LIBRARY_VERSION, NULL};
    char why[PLUGIN_WHY_BYTES];
    const void *table;
    if (state.library)
        return 0;
    const int rc = plugin_load(&plugin, &table, why);
    if (rc)
        return failed(card, rc, "%s", why);
    state.library = table;
    check_drift(state.library);
    return 0;
}

void xrt_card_library(char *text, size_t size)
{
    const struct xrt_library *l = state.library;
    snprintf(text, size, "%s%s%s", l ? l->loaded() : "", l ? ", built with " : "",
             l ? l->compiled : "");
}

static int lost(struct xrt_card *card)
{
    return failed(card, -EIO, "card %s was abandoned because it did not answer", card->name);
}

static int ask(struct xrt_card *card, struct xrt_task *task, double timeout_s)
{
    if (!card->work)
        return lost(card);
    if (!xrt_work_do(card->work, task, timeout_s))
        card->work = NULL;
    if (task->rc)
        return failed(card, task->rc, "card %s: %s", card->name, task->why);
    return 0;
}

int xrt_card_write(struct xrt_card *card, enum kernel k, uint32_t at, uint32_t value,
                   double timeout_s)
{
    struct xrt_task t = {.kind = XRT_WORK_WRITE, .kernel = k, .at = at, .value = value};
    return ask(card, &t, timeout_s);
}

int xrt_card_read(struct xrt_card *card, enum kernel k, uint32_t at, uint32_t *value,
                  double timeout_s)
{
    struct xrt_task t = {.kind = XRT_WORK_READ, .kernel = k, .at = at};
    const int rc = ask(card, &t, timeout_s);
    *value = t.value;
    return rc;
}

int xrt_card_buffer(struct xrt_card *card, enum kernel k, int arg, size_t bytes,
                    struct xrt_card_buffer *out)
{
    struct xrt_task t = {.kind = XRT_WORK_BUFFER, .kernel = k, .arg = arg, .bytes = bytes};
    const int rc = ask(card, &t, call_s);
    *out = (struct xrt_card_buffer){0};
    if (rc == 0)
        *out = (struct xrt_card_buffer){t.buffer, t.map, bytes};
    return rc;
}

void xrt_card_buffer_close(struct xrt_card *card, struct xrt_card_buffer *buffer)
{
    struct xrt_task t = {.kind = XRT_WORK_BUFFER_CLOSE, .buffer = buffer->own};
    if (buffer->own && card->work)
        (void)ask(card, &t, call_s);
    *buffer = (struct xrt_card_buffer){0};
}

int xrt_card_sync(struct xrt_card *card, struct xrt_card_buffer *buffer, bool to_card, size_t bytes,
                  double timeout_s)
{
    struct xrt_task t = {
        .kind = XRT_WORK_SYNC, .buffer = buffer->own, .to_card = to_card, .bytes = bytes};
    return ask(card, &t, timeout_s);
}

int xrt_card_run(struct xrt_card *card, enum kernel k, const struct xrt_card_value *args,
                 int n_args, double timeout_s)
{
    struct xrt_task t = {
        .kind = XRT_WORK_RUN, .kernel = k, .n_args = n_args, .timeout_s = timeout_s};
    for (int i = 0; i < n_args; i++)
        t.args[i] = (struct xrt_value){args[i].buffer ? args[i].buffer->own : NULL, args[i].value};
    return ask(card, &t, timeout_s + call_s); /* run() itself observes timeout_s */
}

int xrt_card_about(struct xrt_card *card, struct xrt_about *out)
{
    struct xrt_task t = {.kind = XRT_WORK_ABOUT};
    const int rc = ask(card, &t, call_s);
    *out = t.about;
    return rc;
}

/* XRT needs the PCI domain, which lspci omits. */
static bool read_bdf(const char *text, char bdf[BDF_BYTES])
{
    unsigned domain = 0, bus, device, function;
    int n = 0;
    const bool with_domain = strchr(text, ':') != strrchr(text, ':');
    /* sscanf accepts signs and spaces */
    if (text[strspn(text, "0123456789abcdefABCDEF:.")])
        return false;
    if (with_domain && sscanf(text, "%4x:%n", &domain, &n) != 1)
        return false;
    text += n;
    n = 0;
    if (sscanf(text, "%2x:%2x.%1x%n", &bus, &device, &function, &n) != 3 || text[n] ||
        device > 31 || function > 7)
        return false;
    snprintf(bdf, BDF_BYTES, "%04x:%02x:%02x.%x", domain, bus, device, function);
    return true;
}

bool xrt_card_name_fits(const char *name)
{
    char bdf[BDF_BYTES];
    if (strncmp(name, "xrt", 3) || (name[3] && name[3] != ':'))
        return false;
    const char *where = name + 4;
    if (!name[3])
        return true;
    const size_t digits = strspn(where, "0123456789");
    if (!where[digits])
        return digits && digits <= 3 && atoi(where) <= 255 && (where[0] != '0' || digits == 1);
    return read_bdf(where, bdf);
}

static int read_container(struct xrt_card *card, const char *path, struct xclbin **out)
{
    const char *named = path ? path : getenv("NARROWCAST_XCLBIN");
    char why[XCLBIN_WHY_BYTES];
    if (!named || !*named)
        return failed(card, -ENOENT,
                      "card %s needs an xclbin: give --xclbin FILE, or set NARROWCAST_XCLBIN",
                      card->name);
    int rc = xclbin_open(named, out, why);
    if (rc)
        return failed(card, rc, "%s", why);
    if (!(rc = xclbin_check(*out, why)))
        return 0;
    xclbin_close(*out);
    return failed(card, rc, "'%.80s' does not match this version of narrowcast: %s", named, why);
}

/* Takes over `container`, perhaps NULL. */
static int open_device(struct xrt_card *card, struct xclbin *container, double timeout_s)
{
    struct xrt_task t = {.kind = XRT_WORK_OPEN};
    if (xrt_work_lost()) {
        xclbin_close(container);
        return failed(card, -EIO, "card %s: an earlier call has not returned from XRT", card->name);
    }
    pthread_mutex_lock(&state.lock);
    int rc = load_library(card);
    pthread_mutex_unlock(&state.lock);
    if (rc) {
        xclbin_close(container);
        return rc;
    }
    const char *where = card->name[3] ? card->name + 4 : "";
    char bdf[BDF_BYTES];
    card->work = xrt_work_start(state.library, read_bdf(where, bdf) ? bdf : where, container);
    if (!card->work)
        return failed(card, -ENOMEM, "no memory for card %s", card->name);
    rc = ask(card, &t, timeout_s);
    memcpy(card->uuid, t.uuid, sizeof card->uuid);
    if (rc)
        xrt_card_close(card);
    return rc;
}

int xrt_card_look(struct xrt_card *card, const char *name, double timeout_s)
{
    *card = (struct xrt_card){0};
    snprintf(card->name, sizeof card->name, "%s", name);
    return open_device(card, NULL, timeout_s);
}

int xrt_card_check(const char *name, const char *xclbin, char *why)
{
    struct xrt_card card = {.work = NULL};
    struct xclbin *container;
    snprintf(card.name, sizeof card.name, "%s", name);
    const int rc = read_container(&card, xclbin, &container);
    if (!rc)
        xclbin_close(container);
    snprintf(why, XRT_WHY_BYTES, "%s", card.why);
    return rc;
}

int xrt_card_open(struct xrt_card *card, const char *name, const char *xclbin, double timeout_s)
{
    struct xclbin *container;
    uint8_t uuid[XRT_UUID_BYTES];
    *card = (struct xrt_card){0};
    snprintf(card->name, sizeof card->name, "%s", name);
    if (!xrt_card_name_fits(name))
        return failed(card, -EINVAL, "'%s' is not a card: need xrt, xrt:1 or xrt:65:00.1", name);
    TRY(read_container(card, xclbin, &container));
    memcpy(uuid, container->uuid, sizeof uuid);
    TRY(open_device(card, container, timeout_s));
    if (!memcmp(uuid, card->uuid, sizeof uuid))
        return 0;
    xrt_card_close(card);
    return failed(card, -EPROTO, "card %s has another xclbin than the one loaded into it", name);
}

bool xrt_card_cannot_be(int rc)
{
    return rc == -ENOENT || rc == -ELIBACC || rc == -ELIBBAD || rc == -EINVAL || rc == -ENODEV;
}

void xrt_card_close(struct xrt_card *card)
{
    xrt_work_end(card->work, close_s);
    card->work = NULL;
}
