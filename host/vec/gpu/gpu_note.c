/* gpu_note.c : keeps a thread's first failure on the GPU in a call that cannot return it. */
#include "vec/gpu/gpu.h"

static _Thread_local int failed;

int gpu_failed(void)
{
    return failed;
}

void gpu_note(int code)
{
    failed = failed ? failed : code;
}

void gpu_forget(void)
{
    failed = 0;
}
