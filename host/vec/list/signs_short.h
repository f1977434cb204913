/* signs_short.h : Converts many adjacent columns of up to 16 elements in loops along the rows.
 *
 * Gives the results of signs_body.h: a column has at most one element per lane, so row j is lane
 * j. */
#ifndef SIGNS_SHORT_H
#define SIGNS_SHORT_H
#include "vec/list/levels_pack.h"
#include "vec/list/vec_signs.h"

enum { SIGNS_SHORT = LEVEL_LANES, SIGNS_BESIDE = 64 };

/* codes of adjacent columns, unpacked */
struct signs_beside {
    float plus[SIGNS_BESIDE], minus[SIGNS_BESIDE];
    uint32_t negative[SIGNS_BESIDE]; /* bit j: element j is negative */
};

/* of a column: two means and one word of signs */
enum { SIGNS_SHORT_BYTES = 12 };

static inline void signs_beside_get(const uint8_t *codes, size_t k, struct signs_beside *s)
{
    for (size_t c = 0; c < k; c++) {
        s->plus[c] = levels_float(codes + SIGNS_SHORT_BYTES * c);
        s->minus[c] = levels_float(codes + SIGNS_SHORT_BYTES * c + 4);
        s->negative[c] = levels_bits(codes + SIGNS_SHORT_BYTES * c + 8);
    }
}

static inline void signs_beside_put(const struct signs_beside *s, size_t k, uint8_t *codes)
{
    for (size_t c = 0; c < k; c++) {
        memcpy(codes + SIGNS_SHORT_BYTES * c, &s->plus[c], 4);
        memcpy(codes + SIGNS_SHORT_BYTES * c + 4, &s->minus[c], 4);
        memcpy(codes + SIGNS_SHORT_BYTES * c + 8, &s->negative[c], 4);
    }
}

static inline void signs_beside_add(const struct signs_beside *s, size_t j, size_t k, float *v)
{
    for (size_t c = 0; c < k; c++)
        v[c] = level_add(v[c], s->negative[c] >> j & 1 ? s->minus[c] : s->plus[c]);
}

/* Adds rows (lanes) into the first one, in the order of level_join(). */
static inline void signs_beside_join(size_t column, size_t k, float v[SIGNS_SHORT][SIGNS_BESIDE])
{
    for (size_t half = SIGNS_SHORT / 2; half > 0; half /= 2)
        for (size_t j = 0; j < half && j + half < column; j++)
            for (size_t c = 0; c < k; c++)
                v[j][c] = level_add(v[j][c], v[j + half][c]);
}

static inline void signs_beside_make(size_t column, size_t k, float v[SIGNS_SHORT][SIGNS_BESIDE],
                                     struct signs_beside *s)
{
    float plus[SIGNS_SHORT][SIGNS_BESIDE], minus[SIGNS_SHORT][SIGNS_BESIDE];
    uint32_t n_minus[SIGNS_BESIDE] = {0};
    memset(s->negative, 0, sizeof s->negative);
    for (size_t j = 0; j < column; j++)
        for (size_t c = 0; c < k; c++) {
            const float x = v[j][c];
            plus[j][c] = (x < 0.0f ? 0.0f : x) + 0.0f; /* no -0, as in a sum that begins with 0 */
            minus[j][c] = x < 0.0f ? x : 0.0f;
            n_minus[c] += x < 0.0f;
            s->negative[c] |= (uint32_t)(x < 0.0f) << j;
        }
    signs_beside_join(column, k, plus);
    signs_beside_join(column, k, minus);
    for (size_t c = 0; c < k; c++) {
        s->plus[c] = level_mean(plus[0][c], (uint32_t)column - n_minus[c]);
        s->minus[c] = level_mean(minus[0][c], n_minus[c]);
    }
}

#endif
