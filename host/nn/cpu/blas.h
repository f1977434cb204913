/* blas.h : which CBLAS this is, and that it uses the CPU it runs on. */
#ifndef BLAS_H
#define BLAS_H

/* What OpenBLAS says of itself, the CPU that its kernels are for included; else that it is another. */
const char *blas_config(void);

/* An OpenBLAS that is older than the CPU takes its oldest kernels, for SSE3: products are then 3 to 4 times
 * slower than they could be. It chooses before main(), so this starts the program anew, with the same
 * arguments and OPENBLAS_CORETYPE naming kernels that the CPU can run. Returns where there is nothing to mend:
 * another CBLAS, an OpenBLAS that knows the CPU, a user who has set OPENBLAS_CORETYPE. Call it first. */
void blas_know_cpu(char **argv);

#endif
