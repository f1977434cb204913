/* signs_c.c : converts signs and means of columns in plain C. */
#include "vec/list/signs_body.h"

const struct vec_signs signs_c = SIGNS_OPS;
