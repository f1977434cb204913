/* test_stored_casts.c : compares values and casts with those of ml_dtypes (stored_casts.py). */
#include "base/bits.h"
#include "check.h"
#include "codec/codec.h"
#include "mf_slow.h"

enum { LINE_BYTES = 1 << 14 };

static void check_value(struct mf_fmt f, uint32_t code, const char *word)
{
    const uint32_t bits = mf_dec(f, code, 0);
    if (!strcmp(word, "nan"))
        CHECK(isnan(float_of(bits)), "code %x is %08x, not nan", code, bits);
    else
        CHECK(bits == strtoul(word, NULL, 16), "code %x is %08x, not %s", code, bits, word);
}

/* ml_dtypes' casts overflow to inf, to nan without it, else to the largest number. */
static void check_cast(struct mf_fmt f, const char *word)
{
    char *end;
    const uint32_t x = (uint32_t)strtoul(word, &end, 16),
                   code = mf_enc(f, x, 0, MF_NEAREST, MF_INF, 0);
    if (!strcmp(end, ":nan"))
        CHECK(slow_dec(f, code) != slow_dec(f, code), "%08x becomes %x, not nan", x, code);
    else
        CHECK(code == strtoul(end + 1, NULL, 16), "%08x becomes %x, not %s", x, code, end + 1);
}

int main(void)
{
    static char line[LINE_BYTES];
    FILE *f = fopen("tests/hls/stored_casts.txt", "r");
    int n_lines = 0, n_words = 0;
    CHECK(f, "cannot open tests/hls/stored_casts.txt");
    for (; f && fgets(line, sizeof line, f); n_lines++) {
        struct mf_fmt fmt;
        uint32_t code = 0;
        char *word = strtok(line, " ");
        if (codec_format_parse("format", word, &fmt) < 0)
            abort();
        while ((word = strtok(NULL, " \n"))) {
            if (n_lines % 2 == 0)
                check_value(fmt, code++, word);
            else
                check_cast(fmt, word);
            n_words++;
        }
        CHECK(n_lines % 2 || code == 1u << mf_width(fmt), "%u codes of %d bits", code,
              (int)mf_width(fmt));
    }
    CHECK(n_lines == 14, "%d lines", n_lines);
    CHECK(n_words == 4582, "%d values and casts", n_words);
    if (f)
        fclose(f);
    printf("%d values and casts\n", n_words);
    DONE();
}
