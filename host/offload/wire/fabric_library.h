/* fabric_library.h : what libnarrowcast_fabric.so (wire_fabric.c) offers: a wire through libfabric,
 * datagrams between this rank and one card by any provider that carries plain UDP. A library of its
 * own since libfabric takes a fifth of a second to load: its PSM providers sleep as they start. */
#ifndef FABRIC_LIBRARY_H
#define FABRIC_LIBRARY_H
#include "offload/wire/wire.h"

enum { FABRIC_LIBRARY_VERSION = 1 };

struct fabric_library {
    int version;

    /* wire_open() for a provider of libfabric. */
    int (*open)(const struct wire_options *o, struct wire *out, char why[WIRE_WHY_BYTES]);

    /* Has libfabric this provider, with datagrams? 0, or -ENODATA with why. */
    int (*check)(const char *provider, char why[WIRE_WHY_BYTES]);
};

/* The symbol of that type in the shared object. */
#define FABRIC_LIBRARY_SYMBOL "narrowcast_fabric"

#endif
