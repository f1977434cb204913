/* gpu.h : Loads the GPU library on demand and opens this process's one GPU.
 *
 * The library is NARROWCAST_CUDA=PATH if that is set. Otherwise it is libnarrowcast_cuda.so beside
 * the program, then on the loader's path. */
#ifndef GPU_H
#define GPU_H
#include "device/run/dev.h"

/* Loads the library and opens device rank_on_node modulo the number of devices. Calls nest: only
 * the first one chooses the device, and every call that returned 0 needs a gpu_close(). Returns 0,
 * or after printing an error: -ENOENT (there is no library), -ELIBACC (it does not load), -ELIBBAD
 * (it belongs to another build), -ENODEV (the driver is missing or too old, or there is no GPU). */
int gpu_open(int rank_on_node);
void gpu_close(void);

/* Returns whether gpu_open() could succeed. Prints nothing and keeps no device open. why: [size]
 * out, the reason why it could not. Pass NULL, 0 if the reason is not wanted. */
bool gpu_here(char *why, size_t size);

/* Returns the library while a device is open, else NULL. */
const struct dev_library *gpu(void);

/* Returns the open device. */
const struct dev_info *gpu_info(void);

/* Returns the first failure recorded by gpu_note() since the device was opened, or 0. Calls that
 * cannot return their failure record it (vec_cuda.h). */
int gpu_failed(void);
/* Records a failure, a negative errno, unless one is recorded already. */
void gpu_note(int code);
/* Clears the recorded failure. Only gpu.c calls it, when it opens a device. */
void gpu_forget(void);

/* While on, errors of the library are not printed. Used around attempts that may fail. */
void gpu_quiet(bool on);

/* Returns the path of the loaded library, "" before it is loaded. */
const char *gpu_library_path(void);

#endif
