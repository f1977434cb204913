/* gpu_libs.h : finds and loads NVIDIA's libraries at run time. */
#ifndef GPU_LIBS_H
#define GPU_LIBS_H
#include <stdbool.h>

/* Loads a library that the loader did not find, such as "libcudnn.so.9", from CUDA's folder or the
 * Python packages nvidia-*, which PyTorch installs. It stays loaded, so that libraries that need it
 * find it. Returns false if none is found. */
bool gpu_libs_fetch(const char *name);

#endif
