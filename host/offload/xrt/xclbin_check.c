/* xclbin_check.c : checks that a container holds our card, and reads its file. */
#include "offload/xrt/kernel_list.h"
#include "offload/xrt/xclbin.h"
#include "offload/xrt/xclbin_layout.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WHY(...) (snprintf(why, XCLBIN_WHY_BYTES, __VA_ARGS__), -EINVAL)

static const struct xclbin_unit *unit_of(const struct xclbin *x, const char *kernel)
{
    char name[XCLBIN_NAME];
    snprintf(name, sizeof name, "%s_1", kernel);
    for (int i = 0; i < x->n_units; i++)
        if (!strcmp(x->units[i].kernel, kernel) && !strcmp(x->units[i].name, name))
            return &x->units[i];
    return NULL;
}

static int check_arg(const struct xclbin *x, const struct xclbin_unit *u,
                     const struct kernel_arg *want, char *why)
{
    const struct xclbin_arg *a = NULL;
    for (int i = 0; i < u->n_args && !a; i++)
        if (x->args[u->arg + i].index == want->index)
            a = &x->args[u->arg + i];
    if (!a)
        return WHY("kernel '%s' has no argument %d, '%s'", u->kernel, want->index, want->name);
    if (strcmp(a->name, want->name) != 0)
        return WHY("argument %d of kernel '%s' is '%s', not '%s'", want->index, u->kernel, a->name,
                   want->name);
    if (a->offset != want->offset)
        return WHY("argument '%s' of kernel '%s' is at 0x%x, not 0x%x", want->name, u->kernel,
                   a->offset, want->offset);
    const uint32_t bytes = want->memory ? 8 : 4;
    if (a->qualifier != (want->memory ? XCLBIN_MEMORY : XCLBIN_VALUE) || a->bytes != bytes)
        return WHY("argument '%s' of kernel '%s' is not %s of %u bytes", want->name, u->kernel,
                   want->memory ? "an address" : "a value", bytes);
    if (want->memory && (a->bank < 0 || !x->banks[a->bank].used))
        return WHY("argument '%s' of kernel '%s' is in no bank of memory", want->name, u->kernel);
    return 0;
}

int xclbin_check(const struct xclbin *x, char *why)
{
    for (int k = 0; k < N_KERNELS; k++) {
        const struct kernel_about *want = kernel_about((enum kernel)k);
        const struct xclbin_unit *u = unit_of(x, want->name);
        if (!u)
            return WHY("it has no kernel '%s' (compute unit %s:%s_1)", want->name, want->name,
                       want->name);
        if (!u->described)
            return WHY("its metadata does not describe kernel '%s'", want->name);
        if (u->control == IP_CONTROL_NONE)
            return WHY("kernel '%s' is ap_ctrl_none, which XRT's C API cannot open", want->name);
        if (!strcmp(x->platform, XCLBIN_SIM_PLATFORM) && u->base != want->base)
            return WHY("kernel '%s' is at 0x%llx, not 0x%llx", want->name,
                       (unsigned long long)u->base, (unsigned long long)want->base);
        for (int i = 0; kernel_arg((enum kernel)k, i); i++) {
            const int rc = check_arg(x, u, kernel_arg((enum kernel)k, i), why);
            if (rc)
                return rc;
        }
    }
    return 0;
}

enum { MAX_MIB = 1024 }; /* the largest FPGA's file has 100 */

static int say(int code, const char *path, const char *what, char *why)
{
    snprintf(why, XCLBIN_WHY_BYTES, "cannot read '%.120s': %s", path, what);
    return code;
}

int xclbin_read(const char *path, uint8_t **file, size_t *bytes, char *why)
{
    struct stat st;
    uint8_t *b = NULL;
    int rc = 0;
    /* opening a pipe without a writer would block */
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st))
        rc = say(-errno, path, strerror(errno), why);
    else if (!S_ISREG(st.st_mode))
        rc = say(-EINVAL, path, "it is not a regular file", why);
    else if (st.st_size > (off_t)MAX_MIB << 20)
        rc = say(-EFBIG, path, "it is longer than 1 GiB, too long for an xclbin", why);
    else if (!(b = malloc((size_t)st.st_size + 1)))
        rc = say(-ENOMEM, path, "out of memory", why);
    for (*bytes = 0; !rc;) {
        const ssize_t n = read(fd, b + *bytes, (size_t)st.st_size + 1 - *bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            rc = say(-errno, path, strerror(errno), why);
        else if (!n)
            break;
        else if ((*bytes += (size_t)n) > (size_t)st.st_size)
            rc = say(-EAGAIN, path, "it grows while it is being read", why);
    }
    if (fd >= 0)
        close(fd);
    if (rc)
        free(b);
    else
        *file = b;
    return rc;
}

int xclbin_open(const char *path, struct xclbin **out, char *why)
{
    uint8_t *file;
    size_t bytes;
    int rc = xclbin_read(path, &file, &bytes, why);
    if (rc)
        return rc;
    char what[XCLBIN_WHY_BYTES];
    rc = xclbin_of(file, bytes, out, what);
    if (rc) {
        free(file);
        say(rc, path, what, why);
    } else {
        (*out)->own = file;
    }
    return rc;
}
