/* ratio_c.c : fills the ratio slots in plain C. */
#include "vec/list/ratio_body.h"

const struct vec_ratio ratio_c = RATIO_OPS;
