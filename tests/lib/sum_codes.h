/* sum_codes.h : makes codes to add and lists this CPU's vector tables. */
#ifndef SUM_CODES_H
#define SUM_CODES_H
#include "check.h"
#include "hls/arith/philox.h"
#include "vec/pack.h"
#include "vec/vec_isa.h"
#include <string.h>

enum { N = 400, MAX_P = 66, GUARD = 16, CANARY = 0xa5, SEED = 11 };

static struct vec_ops tables[VEC_ISAS];
static int n_tables;

static const struct mf_fmt e5m2 = {5, 2, 0}, e4m3 = {4, 3, 0}, e4m3fn = {4, 3, 1}, e3m0 = {3, 0, 0},
                           half = {5, 10, 0}, bf16 = {8, 7, 0}, fp32 = {8, 23, 0};

enum kind { ANY, FINITE, LARGE, SMALL, INFINITE, N_KINDS };
/* starts at byte 1: any alignment must work */
static uint8_t packed[MAX_P][N * 4 + GUARD];

static uint32_t any_code(struct mf_fmt f, enum kind kind, uint32_t r)
{
    const uint32_t minus = 1u << (mf_width(f) - 1), sign = r & 1 ? minus : 0, max = mf_max(f);
    uint32_t mag = (r >> 1) % (mf_nan(f) + 1);
    if (kind == ANY)
        return sign | mag;
    if (kind == LARGE)
        return sign | (mag % 9 > max ? max : max - mag % 9);
    if (kind == SMALL)
        return sign | mag % ((4u << f.m) > max ? max + 1 : 4u << f.m);
    if (kind == INFINITE && (r >> 20) % 16 == 0)
        return sign | mf_inf(f);
    return sign | mag % (max + 1);
}

static void fill(struct mf_fmt f, enum kind kind, int p, size_t n)
{
    uint32_t codes[N];
    for (int r = 0; r < p; r++) {
        for (size_t i = 0; i < n; i++)
            codes[i] = any_code(f, kind,
                                philox_u32(SEED + 100u * f.e + f.m,
                                           ((uint64_t)kind * MAX_P + (uint64_t)r) * N + i) >>
                                    3);
        memset(packed[r], CANARY, sizeof packed[r]);
        pack_write(mf_width(f), codes, n, packed[r] + 1);
        if (n * mf_width(f) % 8 != 0) /* the last byte's unused bits are arbitrary */
            packed[r][vec_bytes(f, n)] |= (uint8_t)((r % 2 ? 0xff : 0x25) << n * mf_width(f) % 8);
    }
}

static void open_tables(void)
{
    printf("seed %d, tables", SEED);
    for (int isa = 0; isa < VEC_ISAS; isa++)
        if (vec_isa_table((enum vec_isa)isa, &tables[n_tables]))
            printf(" %s", tables[n_tables++].name);
    printf("\n");
}

#endif
