/* card_formats.h : lists the bytes of all formats that a card adds (hls/core/beat.h). */
#ifndef CARD_FORMATS_H
#define CARD_FORMATS_H
#include <stdint.h>

static const uint8_t card_formats[] = {0x12, 0x21, 0x30, 0x16, 0x25, 0x34, 0x43, 0x52,
                                       0xc3, 0x5a, 0x92, 0xa1, 0xb0, 0x96, 0xa5, 0xb4};
enum { CARD_FORMATS = sizeof card_formats };

/* Returns 1 if a card adds codes of this format of n_ranks (1..64) ranks: fp16 of 32 at most. */
static inline int card_adds(uint32_t format, uint32_t n_ranks)
{
    for (int i = 0; i < CARD_FORMATS; i++)
        if (card_formats[i] == format)
            return format != 0x5a || n_ranks <= 32;
    return 0;
}

#endif
