/* wire_fabric_none.c : what stands for wire_fabric.c in a build without libfabric. */
#include "offload/wire_fabric.h"
#include <errno.h>
#include <stdio.h>

int wire_fabric_check(const char *provider, char why[WIRE_WHY_BYTES])
{
    snprintf(why, WIRE_WHY_BYTES,
             "no provider '%.32s': this build has no libfabric (libfabric-dev), only socket",
             provider);
    return -ENOSYS;
}

int wire_fabric_open(const struct wire_options *o, struct wire *out, char why[WIRE_WHY_BYTES])
{
    (void)out;
    return wire_fabric_check(o->provider ? o->provider : "udp", why);
}

void wire_fabric_library(char *text, size_t n)
{
    snprintf(text, n, "not in this build");
}
