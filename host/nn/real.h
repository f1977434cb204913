/* real.h : the number that layers compute in: float, or double in the tests that hold every
 * gradient against central differences (-DNN_REAL_DOUBLE). */
#ifndef REAL_H
#define REAL_H

#ifdef NN_REAL_DOUBLE
typedef double real;
#define CBLAS(name) cblas_d##name
#else
typedef float real;
#define CBLAS(name) cblas_s##name
#endif

#endif
