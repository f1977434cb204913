/* sum_c.c : sums in plain C, for every CPU: what compilers make of the loops with the instructions
 * all of them have. */
#include "vec/sum/sum_body.h"
#include "vec/vec_isa.h"

void sum_c_fill(struct vec_ops *ops)
{
    body_fill(ops);
}
