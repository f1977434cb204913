/* bank.c : provides card memory. */
#include "sim/bank.h"
#include "base/err.h"
#include <string.h>
#include <sys/mman.h>

static const struct extent {
    uint64_t base, bytes;
} extents[N_BANKS] = {
#define BANK(NAME, base, kib, what) {base, (uint64_t)(kib) << 10},
#include "hls/card/kernels.def"
};

int bank_open(struct bank *bank)
{
    *bank = (struct bank){0};
    for (int i = 0; i < N_BANKS; i++) {
        void *at = mmap(NULL, extents[i].bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (at == MAP_FAILED) {
            bank_close(bank);
            return ERR(-ENOMEM, "cannot allocate card memory of %llu MiB: %s",
                       (unsigned long long)extents[i].bytes >> 20, strerror(errno));
        }
        bank->bytes[i] = at;
    }
    return 0;
}

void bank_close(struct bank *bank)
{
    for (int i = 0; i < N_BANKS; i++)
        if (bank->bytes[i])
            munmap(bank->bytes[i], extents[i].bytes);
    *bank = (struct bank){0};
}

void *bank_at(const struct bank *bank, uint64_t address, uint64_t bytes)
{
    for (int i = 0; i < N_BANKS; i++) {
        const struct extent e = extents[i];
        if (address >= e.base && address - e.base <= e.bytes &&
            bytes <= e.bytes - (address - e.base))
            return bank->bytes[i] + (address - e.base);
    }
    return NULL;
}
