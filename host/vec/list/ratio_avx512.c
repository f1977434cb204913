/* ratio_avx512.c : fills the ratio slots with AVX-512. */
#include "vec/vec_isa.h"
#ifdef VEC_X86
#include "vec/list/ratio_body.h"

void ratio_avx512_fill(struct vec_ops *ops)
{
    static const struct vec_ratio ratio = RATIO_OPS;
    ops->ratio = &ratio;
}
#endif
