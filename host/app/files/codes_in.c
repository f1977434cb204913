/* codes_in.c : a file of packed codes, read in blocks of whole codes. */
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
        return ERR(-EINVAL, "'%s' is truncated: %llu bytes are no whole number of %zu-bit codes",
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
