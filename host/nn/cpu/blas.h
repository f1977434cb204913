/* blas.h : identifies the CBLAS, and makes OpenBLAS use the right kernels for the CPU. */
#ifndef BLAS_H
#define BLAS_H

/* Return OpenBLAS's configuration, which names its kernels' CPU, or "unknown, not OpenBLAS". */
const char *blas_config(void);

/* Restart the program with a fitting OPENBLAS_CORETYPE if OpenBLAS is older than the CPU and chose
 * its SSE3 kernels, which are 3 to 4 times slower. Call first in main(): OpenBLAS chooses before
 * main(), so the program is executed again with the same arguments. Returns if the CBLAS is not
 * OpenBLAS, if OpenBLAS knows the CPU, if OPENBLAS_CORETYPE is set, or with a warning if the
 * program cannot be executed again. */
void blas_know_cpu(char **argv);

#endif
