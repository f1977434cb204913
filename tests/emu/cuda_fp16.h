/* cuda_fp16.h : replaces CUDA's header. */
#ifndef EMU_CUDA_FP16_H
#define EMU_CUDA_FP16_H
#include "emu_half.h"

EMU_16_BIT(__half, __half2, __half_raw, half, emu_to_half, emu_from_half)

#endif
