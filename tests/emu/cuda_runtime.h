/* cuda_runtime.h : replaces CUDA's header: g++ compiles device/ for the CPU. */
#ifndef EMU_CUDA_RUNTIME_H
#define EMU_CUDA_RUNTIME_H
#include "emu_vectors.h"
#include "emu_api.h"
#include "emu.h"
#include "emu_threads.h"
#include "emu_math.h"
#endif
