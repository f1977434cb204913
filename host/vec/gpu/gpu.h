/* gpu.h : loads the GPU library on demand and opens this process's one GPU.
 *
 * The library is NARROWCAST_CUDA=PATH if set, else libnarrowcast_cuda.so beside the program, then
 * on the loader's path. */
#ifndef GPU_H
#define GPU_H
#include "device/run/dev.h"

/* Loads the library and opens device rank_on_node modulo the number of devices, or with GPU_CURRENT
 * the calling thread's current one. Calls nest: the first chooses the device, and each success
 * needs a gpu_close(). Returns 0, or after printing an error: -ENOENT (no library), -ELIBACC (it
 * does not load), -ELIBBAD (it belongs to another build), -ENODEV (no GPU, or its driver is missing
 * or too old). */
enum { GPU_CURRENT = -1 };
int gpu_open(int rank_on_node);
void gpu_close(void);

/* Returns true if gpu_open() could succeed. Prints nothing and keeps no device open. why[size]
 * receives the reason if false; NULL, 0: not wanted. layers: the library must have them. */
bool gpu_here(bool layers, char *why, size_t size);

/* Returns the library while a device is open, else NULL. */
const struct dev_library *gpu(void);

const struct dev_info *gpu_info(void);

/* Around calls of a program that uses CUDA itself: gpu_enter() returns the thread's current device
 * (-1 before the library is loaded), and gpu_leave() makes it current again (run->restore()). */
int gpu_enter(void);
void gpu_leave(int before);

/* Failures on the GPU in functions that cannot return them. Each thread has its own: a failure,
 * such as one for lack of memory, concerns one communicator. If all work on the GPU fails, CUDA
 * reports that to every call.
 *
 * Call gpu_forget() when a call of narrowcast.h or a step begins in a thread, once for all its
 * fibers. gpu_failed() returns the first failure since then, a negative errno, or 0. gpu_note()
 * records one. */
void gpu_forget(void);
int gpu_failed(void);
void gpu_note(int code);

/* Stops or resumes printing the library's errors, for attempts that may fail. */
void gpu_quiet(bool on);

/* Returns the path of the loaded library, "" before it is loaded. */
const char *gpu_library_path(void);

#endif
