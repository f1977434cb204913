/* gpu.h : Loads the GPU library on demand and opens this process's one GPU.
 *
 * The library is NARROWCAST_CUDA=PATH if that is set. Otherwise it is libnarrowcast_cuda.so beside
 * the program, then on the loader's path. */
#ifndef GPU_H
#define GPU_H
#include "device/run/dev.h"

/* Loads the library and opens device rank_on_node modulo the number of devices. Calls nest: every
 * call that returned 0 needs a gpu_close(), and the first one's device stays. Returns 0, or after
 * printing an error: -ENOENT (no library), -ELIBACC (it does not load), -ELIBBAD (another build),
 * -ENODEV (no driver, an old driver, or no GPU). */
int gpu_open(int rank_on_node);
void gpu_close(void);

/* Could gpu_open() succeed? Prints nothing and opens no device. why: [size] out, the reason if not;
 * NULL, 0 if not wanted. */
bool gpu_here(char *why, size_t size);

/* The library while a device is open, else NULL. */
const struct dev_library *gpu(void);

/* The open device. */
const struct dev_info *gpu_info(void);

/* Returns 0, or the first failure on the GPU in a call that cannot return it (vec_cuda.h), or that
 * gpu_note() was given. It stays until a device is opened anew. */
int gpu_failed(void);
void gpu_note(int code);
void gpu_forget(void); /* for gpu.c, when the device is opened anew */

/* While on, the library's errors are not printed: for attempts that may fail. */
void gpu_quiet(bool on);

/* The loaded file, "" before. */
const char *gpu_library_path(void);

#endif
