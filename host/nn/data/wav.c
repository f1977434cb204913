/* wav.c : parses RIFF files: little-endian chunks of a name, a size and data.
 *
 *   "RIFF" size "WAVE"
 *   "fmt " 16.. [u16 1: PCM, u16 channels, u32 rate, u32, u16, u16 bits]   "data" size samples
 * Source: Multimedia Programming Interface and Data Specifications 1.0, IBM and Microsoft, 1991. */
#include "nn/data/wav.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "base/err.h"
#include "nn/data/datafile.h"

enum { HEAD = 12, CHUNK = 8, FORMAT = 16, PCM = 1, BITS = 16 };

/* Programs that write to a pipe do not know sizes: ffmpeg leaves 0xffffffff, sox 0x7ffff000, others
 * 0. Files read here are shorter. 0 may also be the size of data without samples, if the RIFF chunk
 * has the chunks after it. at: where the data begin. */
static bool is_unknown(size_t size, size_t riff_size, size_t at)
{
    enum { UNKNOWN = 0x7ffff000 };
    return size >= UNKNOWN || (size == 0 && (riff_size >= UNKNOWN || riff_size + CHUNK <= at));
}

static uint32_t le16(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}

static uint32_t le32(const uint8_t *p)
{
    return le16(p) | le16(p + 2) << 16;
}

static int check_format(const struct datafile *f, size_t at, const uint8_t *p, size_t bytes,
                        unsigned rate)
{
    if (bytes < FORMAT)
        return datafile_err(f, at, "a format of %zu bytes, expected %d", bytes, FORMAT);
    if (le16(p) != PCM || le16(p + 2) != 1 || le16(p + 14) != BITS)
        return datafile_err(
            f, at, "format %u, %u channels, %u bits, expected %d (PCM), 1 channel, %d bits",
            le16(p), le16(p + 2), le16(p + 14), PCM, BITS);
    if (le32(p + 4) != rate)
        return datafile_err(f, at + 4, "%u samples a second, expected %u", le32(p + 4), rate);
    return 0;
}

static int find(const struct datafile *f, const uint8_t *all, size_t bytes, unsigned rate,
                const uint8_t **samples, size_t *n)
{
    bool known = false;
    size_t at = HEAD;
    if (bytes < HEAD || memcmp(all, "RIFF", 4) || memcmp(all + 8, "WAVE", 4))
        return datafile_err(f, 0, "not a sound file: expected RIFF and WAVE");
    for (;;) {
        if (bytes - at < CHUNK)
            return datafile_err(f, at, "the file ends where chunk '%s' is expected",
                                known ? "data" : "fmt ");
        const uint8_t *chunk = all + at;
        size_t size = le32(chunk + 4);
        at += CHUNK;
        if (!memcmp(chunk, "data", 4) && is_unknown(size, le32(all + 4), at))
            size = bytes - at;
        if (size > bytes - at)
            return datafile_err(f, at - 4, "a chunk of %zu bytes, but only %zu are left", size,
                                bytes - at);
        if (!memcmp(chunk, "data", 4) && known) {
            *samples = all + at;
            *n = size / 2;
            return 0;
        }
        if (!memcmp(chunk, "fmt ", 4)) {
            TRY(check_format(f, at, all + at, size, rate));
            known = true;
        }
        at += size + (size & 1);
        at = at < bytes ? at : bytes;
    }
}

static int take(const struct datafile *f, const uint8_t *from, size_t n, int16_t **samples)
{
    *samples = malloc(n * sizeof **samples + 1);
    if (!*samples)
        return ERR(-ENOMEM, "cannot read '%s': no memory", f->path);
    for (size_t i = 0; i < n; i++)
        (*samples)[i] = (int16_t)le16(from + 2 * i);
    return 0;
}

int wav_read(const char *dir, const char *name, unsigned rate, size_t n_least, size_t n_most,
             int16_t **samples, size_t *n)
{
    struct datafile f;
    uint8_t *all = NULL;
    const uint8_t *from = NULL;
    size_t bytes, found = 0;
    TRY(datafile_open(dir, name, &f));
    int rc = datafile_all(&f, 2 * n_most + (1 << 20), &all, &bytes);
    if (rc == 0)
        rc = find(&f, all, bytes, rate, &from, &found);
    if (rc == 0 && (found < n_least || found > n_most))
        rc = datafile_err(&f, (uint64_t)(from - all), "%zu samples, expected %zu to %zu", found,
                          n_least, n_most);
    if (rc == 0)
        rc = take(&f, from, found, samples);
    if (rc == 0)
        *n = found;
    free(all);
    datafile_close(&f);
    return rc;
}
