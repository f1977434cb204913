/* test_stored_blocks.c : compares MX and NVFP4 words and their values with those that ml_dtypes
 * makes (stored_blocks.py). */
#include "base/bits.h"
#include "check.h"
#include "codec/codec.h"
#include <string.h>

enum { LINE_BYTES = 1 << 12, LONGEST = 32, N_LINES = 78 };

static unsigned long next(int base)
{
    const char *word = strtok(NULL, " \n");
    return word ? strtoul(word, NULL, base) : 0;
}

static unsigned width_of(const char *name)
{
    return !strcmp(name, "mx:e4m3") || !strcmp(name, "mx:e5m2")   ? 8
           : !strcmp(name, "mx:e2m3") || !strcmp(name, "mx:e3m2") ? 6
                                                                  : 4;
}

static void check_block(const char *name)
{
    const size_t n = strcmp(name, "nvfp4") ? 32 : 16;
    const unsigned width = width_of(name);
    const int t = (int)next(10);
    float x[LONGEST], back[LONGEST];
    uint8_t want[1 + LONGEST] = {0}, got[1 + LONGEST];
    struct codec c;
    if (codec_parse(&(struct codec_spec){.codec = name}, &c) ||
        codec_settle(&c, 1, &(struct codec_adder){.name = "test"}))
        exit(1);
    for (size_t i = 0; i < n; i++)
        x[i] = float_of((uint32_t)next(16));
    want[0] = (uint8_t)next(16);
    for (size_t i = 0; i < n; i++) {
        const unsigned long code = next(16) << i * width % 8;
        want[1 + i * width / 8] |= (uint8_t)code;
        if (code >> 8)
            want[2 + i * width / 8] |= (uint8_t)(code >> 8);
    }
    codec_encode(&c, 0, 0, 0, x, n, -t, got);
    CHECK(memcmp(got, want, 1 + n * width / 8) == 0, "%s: words of %a ..., scale %x, want %x", name,
          (double)x[0], got[0], want[0]);
    codec_decode(&c, want, n, -t, back);
    for (size_t i = 0; i < n; i++) {
        const uint32_t value = (uint32_t)next(16);
        CHECK(bits_of(back[i]) == value, "%s: value %zu of %a ... is %08x, not %08x", name, i,
              (double)x[0], bits_of(back[i]), value);
    }
}

int main(void)
{
    static char line[LINE_BYTES];
    FILE *f = fopen("tests/hls/stored_blocks.txt", "r");
    int n_lines = 0;
    CHECK(f, "cannot open tests/hls/stored_blocks.txt");
    for (; f && fgets(line, sizeof line, f); n_lines++)
        check_block(strtok(line, " "));
    CHECK(n_lines == N_LINES, "%d lines", n_lines);
    if (f)
        fclose(f);
    DONE();
}
