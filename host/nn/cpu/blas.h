/* blas.h : identifies the CBLAS, and makes OpenBLAS use the CPU it runs on. */
#ifndef BLAS_H
#define BLAS_H

/* Return OpenBLAS's configuration with its kernels' CPU, or that it is another CBLAS. */
const char *blas_config(void);

/* Restart the program if OpenBLAS is older than the CPU and chose its SSE3 kernels, 3 to 4 times
 * slower. It chooses before main(), so the program is executed again with the same arguments and a
 * fitting OPENBLAS_CORETYPE. Returns if there is nothing to do: another CBLAS, a known CPU,
 * OPENBLAS_CORETYPE set. Call it first. */
void blas_know_cpu(char **argv);

#endif
