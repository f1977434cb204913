/* blas.h : identifies the CBLAS, and makes OpenBLAS use the right kernels for the CPU. */
#ifndef BLAS_H
#define BLAS_H

/* Return a text: OpenBLAS's configuration with the CPU of its kernels, or that the CBLAS is another
 * one. */
const char *blas_config(void);

/* Restart the program if OpenBLAS is older than the CPU and chose its SSE3 kernels, 3 to 4 times
 * slower. OpenBLAS chooses its kernels before main(), so the program is executed again with the
 * same arguments and a fitting OPENBLAS_CORETYPE. Returns if there is nothing to do: the CBLAS is
 * another one, the CPU is known, or OPENBLAS_CORETYPE is set. Call this function first in
 * main(). */
void blas_know_cpu(char **argv);

#endif
