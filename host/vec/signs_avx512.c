/* signs_avx512.c : signs and means of columns with AVX-512. */
#include "vec/vec_isa.h"
#ifdef VEC_X86
#include "vec/signs_body.h"

void signs_avx512_fill(struct vec_ops *ops)
{
    static const struct vec_signs signs = SIGNS_OPS;
    ops->signs = &signs;
}
#endif
