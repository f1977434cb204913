/* vec_groups.h : casts spans whose groups of elements have exponents of their own, on the CPU. */
#ifndef VEC_GROUPS_H
#define VEC_GROUPS_H
#include "vec/vec.h"

/* encode_all and decode_all for one span with groups or blocks, by other functions of ops. */
void vec_groups_encode(const struct vec_ops *ops, const struct vec_cast *cast,
                       const struct vec_span *span);
void vec_groups_decode(const struct vec_ops *ops, struct mf_fmt fmt, const struct vec_out *out,
                       float divisor);

#endif
