/* signs_avx2.c : converts signs and means of columns with AVX2. */
#include "vec/vec_isa.h"
#ifdef VEC_X86
#include "vec/list/signs_body.h"

void signs_avx2_fill(struct vec_ops *ops)
{
    static const struct vec_signs signs = SIGNS_OPS;
    ops->signs = &signs;
}
#endif
