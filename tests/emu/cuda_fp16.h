/* cuda_fp16.h : replaces CUDA's header. */
#ifndef EMU_CUDA_FP16_H
#define EMU_CUDA_FP16_H
#include "emu_half.h"

EMU_16_BIT(__half, __half2, __half_raw, half, emu_to_half, emu_from_half)
typedef __half half;
typedef __half2 half2;
static inline __half2 make_half2(__half a, __half b)
{
    return __half2(a, b);
}

#endif
