/* xclbin_show.h : prints the contents of a container (an xclbin file, which XRT loads into a
 * card). */
#ifndef XCLBIN_SHOW_H
#define XCLBIN_SHOW_H
#include "offload/xrt/xclbin.h"

/* Print a table, or JSON lines, to stdout. Return 0 or a negative errno after reporting it. */
int xclbin_show(const struct xclbin *x);
int xclbin_show_json(const struct xclbin *x);

#endif
