/* wire_fabric.h : a wire through libfabric: datagrams between this rank and one card, by any
 * provider that carries plain UDP. */
#ifndef WIRE_FABRIC_H
#define WIRE_FABRIC_H
#include "offload/wire.h"

/* wire_open() for a provider of libfabric; NULL: udp. */
int wire_fabric_open(const struct wire_options *o, struct wire *out, char why[WIRE_WHY_BYTES]);

/* Has libfabric this provider, with datagrams? 0, or -ENOSYS, -ENODATA with why. */
int wire_fabric_check(const char *provider, char why[WIRE_WHY_BYTES]);

/* "1.17", or "not in this build". text [n]. */
void wire_fabric_library(char *text, size_t n);

#endif
