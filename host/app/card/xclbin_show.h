/* xclbin_show.h : what is in a container, printed. */
#ifndef XCLBIN_SHOW_H
#define XCLBIN_SHOW_H
#include "offload/xrt/xclbin.h"

/* A table, or JSON lines; on stdout. Returns 0 or a negative errno with a line. */
int xclbin_show(const struct xclbin *x);
int xclbin_show_json(const struct xclbin *x);

#endif
