/* wire.c : Opens a wire by the name of its provider. */
#include "offload/wire/wire.h"
#include "offload/wire/wire_socket.h"
#include "base/plugin.h"
#include "offload/wire/fabric_library.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static int is_plain(const char *provider)
{
    return !provider || !strcmp(provider, "socket");
}

int wire_open(const struct wire_options *o, struct wire *out, char why[WIRE_WHY_BYTES])
{
    return is_plain(o->provider) ? wire_socket_open(o, out, why) : wire_plugin_open(o, out, why);
}

int wire_join(const struct wire_options *o, uint32_t group, uint16_t port, struct wire *out,
              char why[WIRE_WHY_BYTES])
{
    return wire_socket_join(o, group, port, out, why);
}

int wire_check(const char *provider, char why[WIRE_WHY_BYTES])
{
    return is_plain(provider) ? 0 : wire_plugin_check(provider, why);
}

/* ---- libnarrowcast_fabric.so, loaded until the process ends ---- */

static const struct plugin plugin = {
    "libnarrowcast_fabric.so", "NARROWCAST_FABRIC",    "where libfabric is (Debian: libfabric-dev)",
    FABRIC_LIBRARY_SYMBOL,     FABRIC_LIBRARY_VERSION, NULL};

static struct {
    pthread_mutex_t lock;
    const struct fabric_library *library;
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int find_and_open(const void **table, char *why)
{
    char path[PATH_MAX];
    bool is_beside;
    const int rc = plugin_find(&plugin, path, &is_beside, why);
    return rc ? rc : plugin_open(&plugin, path, table, why);
}

static int load(const char *provider, char *why)
{
    char cause[PLUGIN_WHY_BYTES];
    const void *table = NULL;
    int rc = 0;
    pthread_mutex_lock(&state.lock);
    if (!state.library && !(rc = find_and_open(&table, cause)))
        state.library = table;
    pthread_mutex_unlock(&state.lock);
    if (rc)
        snprintf(why, WIRE_WHY_BYTES, "no provider '%.32s', only socket: %s", provider, cause);
    return rc;
}

int wire_plugin_open(const struct wire_options *o, struct wire *out, char why[WIRE_WHY_BYTES])
{
    const int rc = load(o->provider, why);
    return rc ? rc : state.library->open(o, out, why);
}

int wire_plugin_check(const char *provider, char why[WIRE_WHY_BYTES])
{
    const int rc = load(provider, why);
    return rc ? rc : state.library->check(provider, why);
}

void wire_plugin_about(char *text, size_t n)
{
    char path[PATH_MAX], why[PLUGIN_WHY_BYTES];
    const void *table;
    bool is_beside = false;
    int rc = plugin_find(&plugin, path, &is_beside, why);
    if (!rc && !is_beside)
        rc = plugin_open(&plugin, path, &table, why);
    snprintf(text, n, "%s%s%s", rc ? "none: " : "by ", rc ? why : path,
             is_beside ? ", loaded when --fabric asks for it" : "");
}
