/* fabric_library.h : Declares the table of libnarrowcast_fabric.so (wire_fabric.c): wires over
 * libfabric providers that carry plain UDP. A separate library, because libfabric takes 0.2 s to
 * load: its PSM providers sleep at the start. */
#ifndef FABRIC_LIBRARY_H
#define FABRIC_LIBRARY_H
#include "offload/wire/wire.h"

enum { FABRIC_LIBRARY_VERSION = 1 };

struct fabric_library {
    int version;

    int (*open)(const struct wire_options *o, struct wire *out, char why[WIRE_WHY_BYTES]);

    /* Returns 0 if libfabric has this provider with datagrams, else -ENODATA with the reason in
     * why. */
    int (*check)(const char *provider, char why[WIRE_WHY_BYTES]);
};

#define FABRIC_LIBRARY_SYMBOL "narrowcast_fabric"

#endif
