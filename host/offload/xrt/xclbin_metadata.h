/* xclbin_metadata.h : reads and writes the XML of a container: kernels and their arguments. */
#ifndef XCLBIN_METADATA_H
#define XCLBIN_METADATA_H
#include "base/text.h"
#include "hls/card/kernels.h"
#include "offload/xrt/xclbin.h"

/* Fills x->args and the units' fields for arguments. xml[bytes] is untrusted. Returns 0, or -EINVAL
 * with one line in why[XCLBIN_WHY_BYTES]. */
int xclbin_metadata_read(struct xclbin *x, const char *xml, size_t bytes, char *why);

void xclbin_metadata_write(const char *platform, bool hw_emu, struct text *to);

/* Writes a kernel's kernel.xml, which package_xo needs for RTL. */
void xclbin_kernel_xml(enum kernel k, struct text *to);

#endif
