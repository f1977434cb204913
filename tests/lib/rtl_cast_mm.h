/* rtl_cast_mm.h : runs rtl/memory/cast_mm.sv as one kernel and compares all memory with `want`. */
#ifndef RTL_CAST_MM_H
#define RTL_CAST_MM_H
#include "hls/core/beat.h"
#include "rtl_memory.h"

enum {
    IN_AT = 0,
    OUT_AT = MEM_BEATS / 2,
    WORDS_AT = MEM_BEATS - 16, /* beats */
    MAX_BEATS = 1000
};

static struct beat from[MAX_BEATS], to[MAX_BEATS];

static inline void set_value(int arg, uint32_t value)
{
    write_reg((uint32_t)arg, value);
    CHECK(read_reg((uint32_t)arg) == value, "argument at %x", arg);
}

static inline void set_memory(int arg, uint64_t offset)
{
    set_value(arg, (uint32_t)(base + offset));
    set_value(arg + 4, (uint32_t)((base + offset) >> 32));
}

/* Returns the address of one of 24 words, or one that is not aligned: then nothing is written. */
static inline uint32_t word_place(void)
{
    return 64 * WORDS_AT + rnd() % 24 * 4 + (rnd() % 16 == 0);
}

static inline void want_word(uint32_t at, uint32_t value)
{
    if (at % 4 == 0)
        want_bytes(at, &value, 4);
}

static inline void load_beats(uint32_t at, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        from[i] = beat_load(mem[at + i]);
}

static inline void want_beats(uint32_t at, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint8_t bytes[64];
        beat_store(to[i], bytes);
        want_bytes(64 * (at + i), bytes, 64);
    }
}

static inline uint64_t compare(const char *what)
{
    uint64_t clocks;
    run_twice(what, &clocks);
    memcpy(mem, want, sizeof mem);
    return clocks;
}

#endif
