/* wire_library.h : declares the table of a separate library with a transport:
 * libnarrowcast_fabric.so (wire_fabric.c, libfabric's providers) or libnarrowcast_xdp.so
 * (wire_xdp.c, AF_XDP). Separate, because libfabric takes 0.2 s to load (its PSM providers sleep at
 * the start) and machines may lack either. */
#ifndef WIRE_LIBRARY_H
#define WIRE_LIBRARY_H
#include "offload/wire/wire.h"

enum { WIRE_LIBRARY_VERSION = 2 };

struct wire_library {
    int version;

    int (*open)(const struct wire_options *o, struct wire *out, char why[WIRE_WHY_BYTES]);

    /* Returns 0 if this process can use the provider, else -ENODATA with the reason in why. */
    int (*check)(const char *provider, char why[WIRE_WHY_BYTES]);
};

#endif
