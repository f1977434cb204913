/* fabric_none.c : what stands for fabric.c in a build without libfabric. */
#include "offload/fabric.h"
#include <errno.h>
#include <stdio.h>

int fabric_open(const struct fabric_options *o, struct wire *out, char why[FABRIC_WHY_BYTES])
{
    (void)o, (void)out;
    snprintf(why, FABRIC_WHY_BYTES, "this build reaches no card: libfabric was not there (libfabric-dev)");
    return -ENOSYS;
}

void fabric_library(char *text, size_t n)
{
    snprintf(text, n, "not in this build");
}
