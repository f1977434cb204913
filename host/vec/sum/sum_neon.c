/* sum_neon.c : Sums codes with NEON. */
#include "vec/vec_isa.h"
#ifdef VEC_ARM

void sum_neon_fill(struct vec_ops *ops)
{
    (void)ops;
}
#endif
