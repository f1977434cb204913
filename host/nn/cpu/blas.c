/* blas.c : identifies the CBLAS, and restarts the program for OpenBLAS. */
#include "nn/cpu/blas.h"
#include "base/err.h"
#include "vec/vec_isa.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

extern char *openblas_get_config(void) __attribute__((weak));
extern char *openblas_get_corename(void) __attribute__((weak));

const char *blas_config(void)
{
    return openblas_get_config ? openblas_get_config() : "unknown, not OpenBLAS";
}

/* Return NULL for a CPU that has only SSE3. */
static const char *best_core(void)
{
    if (vec_isa_here(VEC_AVX512))
        return "SkylakeX";
    if (vec_isa_here(VEC_AVX2))
        return "Haswell";
    return NULL;
}

void blas_know_cpu(char **argv)
{
    char self[PATH_MAX];
    const char *core = best_core();
    if (!core || !openblas_get_corename || strcmp(openblas_get_corename(), "Prescott") != 0)
        return;
    /* without AT_BASE, /proc/self/exe is the loader */
    if (getenv("OPENBLAS_CORETYPE") || getauxval(AT_BASE) == 0)
        return;
    const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n > 0 && setenv("OPENBLAS_CORETYPE", core, 1) == 0) {
        self[n] = 0;
        execv(self, argv);
        /* failed, perhaps because the file was deleted */
        execv("/proc/self/exe", argv);
        unsetenv("OPENBLAS_CORETYPE");
    }
    err_warn(
        "OpenBLAS does not know this CPU and uses its slowest kernels: set OPENBLAS_CORETYPE=%s",
        core);
}
