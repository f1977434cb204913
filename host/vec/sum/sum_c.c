/* sum_c.c : sums in plain C for every CPU. */
#include "vec/sum/sum_body.h"
#include "vec/vec_isa.h"

void sum_c_fill(struct vec_ops *ops)
{
    body_fill(ops);
}
