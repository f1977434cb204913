/* wire.c : a wire by name. */
#include "offload/wire/wire.h"
#include "offload/wire/wire_plugin.h"
#include "offload/wire/wire_socket.h"
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
