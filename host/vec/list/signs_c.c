/* signs_c.c : signs and means of columns in plain C, for every CPU. */
#include "vec/list/signs_body.h"

const struct vec_signs signs_c = SIGNS_OPS;
