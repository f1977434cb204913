/* ratio_c.c : multiples of a quantile in plain C, for every CPU. */
#include "vec/list/ratio_body.h"

const struct vec_ratio ratio_c = RATIO_OPS;
