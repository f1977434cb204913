/* xclbin_metadata.h : the XML in a container, read and written. */
#ifndef XCLBIN_METADATA_H
#define XCLBIN_METADATA_H
#include "base/text.h"
#include "hls/card/kernels.h"
#include "offload/xrt/xclbin.h"

/* Fills args of x, and of its units what they are; xml [bytes] may be anything. Returns 0 or
 * -EINVAL with a line in why [XCLBIN_WHY_BYTES]. */
int xclbin_metadata_read(struct xclbin *x, const char *xml, size_t bytes, char *why);

/* The metadata of hls/card/kernels.def. */
void xclbin_metadata_write(const char *platform, bool hw_emu, struct text *to);

/* kernel.xml of one kernel, which package_xo wants of a kernel in RTL. */
void xclbin_kernel_xml(enum kernel k, struct text *to);

#endif
