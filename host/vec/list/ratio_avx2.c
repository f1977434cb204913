/* ratio_avx2.c : fills the ratio slots with AVX2. */
#include "vec/vec_isa.h"
#ifdef VEC_X86
#include "vec/list/ratio_body.h"

void ratio_avx2_fill(struct vec_ops *ops)
{
    static const struct vec_ratio ratio = RATIO_OPS;
    ops->ratio = &ratio;
}
#endif
