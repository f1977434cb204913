/* cast_in.c : what every way of casting a file begins with: its values, and the shift for them. */
#include "app/files/cast_in.h"
#include "base/err.h"

int cast_in_read(struct file_in *in, float *x, size_t most, size_t *n)
{
    size_t got;
    TRY(file_in_read(in, x, most * sizeof *x, &got));
    if (got % sizeof *x)
        return ERR(-EINVAL, "cannot cast '%s': %llu bytes are no whole number of fp32 values",
                   in->path, (unsigned long long)in->at);
    *n = got / sizeof *x;
    return 0;
}

int cast_in_shift(const struct codec *codec, const char *path, uint32_t largest, int *shift)
{
    const int8_t exponent = codec_exponent(codec, largest);
    if (exponent == CODEC_NOT_FINITE)
        return ERR(-EINVAL, "cannot scale '%s': it holds inf or nan", path);
    *shift = codec_shift(codec, exponent);
    return 0;
}
