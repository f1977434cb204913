/* card_memory.c : provides card memory. */
#include "sim/card_memory.h"
#include "base/err.h"
#include <string.h>
#include <sys/mman.h>

static const struct extent {
    uint64_t base, bytes;
} extents[N_BANKS] = {
#define BANK(NAME, base, kib, what) {base, (uint64_t)(kib) << 10},
#include "hls/card/kernels.def"
};

int card_memory_open(struct card_memory *memory)
{
    *memory = (struct card_memory){0};
    for (int i = 0; i < N_BANKS; i++) {
        void *at = mmap(NULL, extents[i].bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (at == MAP_FAILED) {
            card_memory_close(memory);
            return ERR(-ENOMEM, "cannot allocate card memory of %llu MiB: %s",
                       (unsigned long long)extents[i].bytes >> 20, strerror(errno));
        }
        memory->bytes[i] = at;
    }
    return 0;
}

void card_memory_close(struct card_memory *memory)
{
    for (int i = 0; i < N_BANKS; i++)
        if (memory->bytes[i])
            munmap(memory->bytes[i], extents[i].bytes);
    *memory = (struct card_memory){0};
}

void *card_memory_at(const struct card_memory *memory, uint64_t address, uint64_t bytes)
{
    for (int i = 0; i < N_BANKS; i++) {
        const struct extent e = extents[i];
        if (address >= e.base && address - e.base <= e.bytes &&
            bytes <= e.bytes - (address - e.base))
            return memory->bytes[i] + (address - e.base);
    }
    return NULL;
}
