/* xclbin_show.h : prints the contents of an xclbin, the container that XRT loads into a card. */
#ifndef XCLBIN_SHOW_H
#define XCLBIN_SHOW_H
#include "offload/xrt/xclbin.h"

/* Print a table, or JSON lines. */
int xclbin_show(const struct xclbin *x);
int xclbin_show_json(const struct xclbin *x);

#endif
