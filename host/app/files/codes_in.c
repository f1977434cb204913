/* codes_in.c : reads files of codes and of values in blocks. */
#include "app/files/codes_in.h"
#include "base/err.h"
#include "app/files/reduce_card.h"

int codes_in_open(struct codes_in *in, const char *path, struct mf_fmt fmt, uint64_t count)
{
    *in = (struct codes_in){.fmt = fmt, .count = count};
    return file_in_open(&in->file, path);
}

void codes_in_close(struct codes_in *in)
{
    file_in_close(&in->file);
}

int codes_in_read(struct codes_in *in, uint8_t *codes, size_t *n)
{
    size_t got, width = mf_width(in->fmt);
    TRY(file_in_read(&in->file, codes, vec_bytes(in->fmt, CODES_IN_BLOCK), &got));
    size_t fit = got * 8 / width;
    if (!in->count && vec_bytes(in->fmt, fit) != got)
        return ERR(-EINVAL, "'%s' is truncated: %llu bytes are not a whole number of %zu-bit codes",
                   in->file.path, (unsigned long long)in->file.at, width);
    if (in->count) {
        uint64_t left = in->count - in->done;
        size_t want = left < CODES_IN_BLOCK ? (size_t)left : CODES_IN_BLOCK;
        if (vec_bytes(in->fmt, want) != got)
            return ERR(-EINVAL, "'%s' does not hold %llu codes of %zu bits: it is too %s",
                       in->file.path, (unsigned long long)in->count, width,
                       got < vec_bytes(in->fmt, want) ? "short" : "long");
        fit = want;
    }
    in->done += fit;
    *n = fit;
    return 0;
}

int cast_in_read(struct file_in *in, float *x, size_t most, size_t *n)
{
    size_t got;
    TRY(file_in_read(in, x, most * sizeof *x, &got));
    if (got % sizeof *x)
        return ERR(-EINVAL, "cannot cast '%s': %llu bytes are not a whole number of fp32 values",
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

int reduce_read(struct codes_in *in, int n_in, size_t n_blocks, uint8_t *const *to, size_t *n)
{
    size_t done = 0;
    for (size_t b = 0; b < n_blocks; b++) {
        size_t first_n = 0;
        for (int i = 0; i < n_in; i++) {
            size_t got = 0;
            TRY(codes_in_read(&in[i], to[i] + vec_bytes(in[i].fmt, done), &got));
            if (i > 0 && got != first_n)
                return ERR(
                    -EINVAL,
                    "'%s' and '%s' differ in length: all files must hold the same number of codes",
                    in[0].file.path, in[i].file.path);
            first_n = got;
        }
        done += first_n;
        if (first_n < CODES_IN_BLOCK)
            break;
    }
    *n = done;
    return 0;
}
