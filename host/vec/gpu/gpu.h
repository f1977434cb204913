/* gpu.h : the GPU of this process: the device library, loaded when a GPU is asked for, and the one
 * device it opens.
 *
 * Where the library is looked for: NARROWCAST_CUDA=PATH alone if that is set, else
 * libnarrowcast_cuda.so beside the program, else by the loader's path. */
#ifndef GPU_H
#define GPU_H
#include "device/run/dev.h"

/* Loads the library and takes a device (rank_on_node modulo the number there are). Calls nest: each
 * that returned 0 wants its gpu_close(); the first one's device stays. Returns 0, or after one
 * line: -ENOENT (no library), -ELIBACC (one that does not load), -ELIBBAD (of another build),
 * -ENODEV (no driver, one that is too old, no GPU). */
int gpu_open(int rank_on_node);
void gpu_close(void);

/* Could gpu_open() succeed? Says nothing; takes no device. why: [size] out when false: the reason
 * in words; NULL, 0 if not wanted. */
bool gpu_here(char *why, size_t size);

/* The library while a device is open, else NULL. */
const struct dev_library *gpu(void);

/* Of the open device. */
const struct dev_info *gpu_info(void);

/* 0, or the code of the first failure on the GPU in a call that cannot return one (vec_cuda.h), or
 * that was noted here. Stays until the device is closed. */
int gpu_failed(void);
void gpu_note(int code);
void gpu_forget(void); /* for gpu.c: the device is opened anew */

/* While on, lines of the library are not printed: for what is only tried. */
void gpu_quiet(bool on);

/* The file that was loaded, "" before. */
const char *gpu_library_path(void);

#endif
