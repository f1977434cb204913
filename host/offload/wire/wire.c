/* wire.c : opens a wire by the name of its provider. */
#include "offload/wire/wire.h"
#include "offload/wire/wire_socket.h"
#include "base/plugin.h"
#include "offload/wire/wire_library.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static int is_plain(const char *provider)
{
    return !provider || !strcmp(provider, "socket");
}

/* ---- libraries, loaded until the process ends ---- */

static const struct plugin fabric = {
    "libnarrowcast_fabric.so", "NARROWCAST_FABRIC",  "where libfabric is (Debian: libfabric-dev)",
    "narrowcast_fabric",       WIRE_LIBRARY_VERSION, NULL};
static const struct plugin xdp = {
    "libnarrowcast_xdp.so", "NARROWCAST_XDP",     "where libxdp is (Debian: libxdp-dev)",
    "narrowcast_xdp",       WIRE_LIBRARY_VERSION, NULL};

static bool is_xdp(const char *provider)
{
    return !strcmp(provider, "xdp");
}

static struct {
    pthread_mutex_t lock;
    const struct wire_library *library[2]; /* fabric, xdp */
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int load(const char *provider, const struct wire_library **out, char *why)
{
    char cause[PLUGIN_WHY_BYTES];
    const void *table = NULL;
    const int i = is_xdp(provider);
    int rc = 0;
    pthread_mutex_lock(&state.lock);
    if (!state.library[i] && !(rc = plugin_load(i ? &xdp : &fabric, &table, cause)))
        state.library[i] = table;
    *out = state.library[i];
    pthread_mutex_unlock(&state.lock);
    if (rc)
        snprintf(why, WIRE_WHY_BYTES, "no provider '%.32s', only socket: %s", provider, cause);
    return rc;
}

int wire_open(const struct wire_options *o, struct wire *out, char why[WIRE_WHY_BYTES])
{
    const struct wire_library *library;
    if (is_plain(o->provider))
        return wire_socket_open(o, out, why);
    const int rc = load(o->provider, &library, why);
    return rc ? rc : library->open(o, out, why);
}

int wire_check(const char *provider, char why[WIRE_WHY_BYTES])
{
    const struct wire_library *library;
    const int rc = is_plain(provider) ? 0 : load(provider, &library, why);
    return rc || is_plain(provider) ? rc : library->check(provider, why);
}

void wire_plugin_about(const char *provider, char *text, size_t n)
{
    const struct plugin *p = is_xdp(provider) ? &xdp : &fabric;
    char path[PATH_MAX], why[PLUGIN_WHY_BYTES];
    const void *table;
    bool is_beside = false;
    int rc = plugin_find(p, path, &is_beside, why);
    if (!rc && !is_beside)
        rc = plugin_open(p, path, &table, why);
    snprintf(text, n, "%s%s%s", rc ? "none: " : "by ", rc ? why : path,
             is_beside ? ", loaded when --fabric asks for it" : "");
}
