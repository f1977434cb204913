/* wire_plugin.h : the wires of libnarrowcast_fabric.so, which is loaded at the first call for one: it
 * is looked for where NARROWCAST_FABRIC=PATH says, else beside the program, else by the loader's path. */
#ifndef WIRE_PLUGIN_H
#define WIRE_PLUGIN_H
#include "offload/wire/wire.h"

/* wire_open() and wire_check() for a provider of libfabric. */
int wire_plugin_open(const struct wire_options *o, struct wire *out, char why[WIRE_WHY_BYTES]);
int wire_plugin_check(const char *provider, char why[WIRE_WHY_BYTES]);

/* Where the library is, or "none: " and why; not loaded where it lies beside the program. text [n]. */
void wire_plugin_about(char *text, size_t n);

#endif
