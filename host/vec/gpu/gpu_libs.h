/* gpu_libs.h : Finds and loads NVIDIA's libraries at run time. */
#ifndef GPU_LIBS_H
#define GPU_LIBS_H
#include <stdbool.h>

/* Loads a library that the loader did not find, such as "libcudnn.so.9". It stays loaded until the
 * process ends, so that libraries that need it find it. The search covers CUDA's folder and the
 * Python packages nvidia-*, which PyTorch installs. Returns false if it finds none. */
bool gpu_libs_fetch(const char *name);

#endif
