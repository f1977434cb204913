/* gpu_libs.h : Finds and loads NVIDIA's libraries at run time. */
#ifndef GPU_LIBS_H
#define GPU_LIBS_H
#include <stdbool.h>

/* Loads a library that the loader did not find, such as "libcudnn.so.9", until the process ends. It
 * searches CUDA's folder and Python's packages nvidia-*, which PyTorch installs. Libraries that
 * need it then find it. Returns false if there is none. */
bool gpu_libs_fetch(const char *name);

#endif
