/* gpu_note.c : keeps the first failure on the GPU in a call that cannot return it. */
#include "vec/gpu/gpu.h"
#include <stdatomic.h>

static _Atomic int failed;

int gpu_failed(void)
{
    return failed;
}

void gpu_note(int code)
{
    int none = 0;
    atomic_compare_exchange_strong(&failed, &none, code);
}

void gpu_forget(void)
{
    failed = 0;
}
