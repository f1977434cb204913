/* cuda_bf16.h : replaces CUDA's header. */
#ifndef EMU_CUDA_BF16_H
#define EMU_CUDA_BF16_H
#include "emu_half.h"

EMU_16_BIT(__nv_bfloat16, __nv_bfloat162, __nv_bfloat16_raw, bfloat16, emu_to_bf16, emu_from_bf16)

#endif
