/* gpu_libs.h : NVIDIA's libraries, where they are when a program starts. */
#ifndef GPU_LIBS_H
#define GPU_LIBS_H
#include <stdbool.h>

/* Loads a library that the loader has not found, as "libcudnn.so.9", until the process ends: of CUDA's
 * folder, or of Python's packages nvidia-*, which PyTorch brings. What needs it finds it then. Returns
 * false where it is not. */
bool gpu_libs_fetch(const char *name);

#endif
