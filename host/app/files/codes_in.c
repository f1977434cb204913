/* codes_in.c : reads files of codes and of values in blocks. */
#include "app/files/codes_in.h"
#include "base/err.h"

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

int codes_in_read_one(struct codes_in *in, int i, uint8_t *codes, size_t *n)
{
    size_t got = 0;
    TRY(codes_in_read(&in[i], codes, &got));
    if (i > 0 && got != *n)
        return ERR(-EINVAL,
                   "'%s' and '%s' differ in length: all files must hold the same number of codes",
                   in[0].file.path, in[i].file.path);
    *n = got;
    return 0;
}

int codes_in_read_all(struct codes_in *in, int n_in, size_t n_blocks, uint8_t *const *to, size_t *n)
{
    size_t done = 0, got = CODES_IN_BLOCK;
    for (size_t b = 0; b < n_blocks && got == CODES_IN_BLOCK; b++) {
        for (int i = 0; i < n_in; i++)
            TRY(codes_in_read_one(in, i, to[i] + vec_bytes(in[i].fmt, done), &got));
        done += got;
    }
    *n = done;
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

int cast_in_shift(const struct codec *codec, struct file_in *in, cast_in_largest *find, void *arg,
                  int *shift)
{
    const struct mf_fmt fmt = codec_sum(codec)->in;
    char name[CODEC_NAME_BYTES];
    uint32_t largest = 0;
    if (codec_guess(codec) == CODEC_NO_GUESS || fmt.flavour == MF_NUMBERS) {
        TRY(find(arg, in, &largest));
        TRY(file_in_rewind(in));
    }
    if (largest >= 0x7f800000 && fmt.flavour == MF_NUMBERS)
        return ERR(-EINVAL, "cannot cast '%s' to %s, which has no inf and no nan: the file has one",
                   in->path, codec_format_name(fmt, name));
    const int8_t exponent = codec_exponent(codec, largest);
    if (exponent == CODEC_NOT_FINITE)
        return ERR(-EINVAL, "cannot scale '%s': it holds inf or nan", in->path);
    *shift = codec_shift(codec, exponent);
    return 0;
}
