/* picture.c : tells picture formats apart by their first bytes, and decodes PNM.
 *
 *   P5 (grey) or P6 (RGB)  width  height  levels  one white space  pixels
 *   # starts a comment in the header, up to the line's end */
#include "nn/data/picture.h"
#include <stdlib.h>
#include <string.h>
#include "base/err.h"

enum { FILE_MAX = 256 << 20, LEVELS = 255, NUMBER_MAX = 1000000 };

static bool is_space(uint8_t byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

static size_t skip_space(const uint8_t *bytes, size_t n, size_t at)
{
    bool comment = false;
    for (; at < n && (comment || is_space(bytes[at]) || bytes[at] == '#'); at++)
        comment = bytes[at] == '#' || (comment && bytes[at] != '\n');
    return at;
}

static int next_number(const uint8_t *bytes, size_t n, size_t *at)
{
    int v = 0;
    for (*at = skip_space(bytes, n, *at); *at < n && bytes[*at] >= '0' && bytes[*at] <= '9'; ++*at)
        if ((v = v * 10 + bytes[*at] - '0') > NUMBER_MAX)
            return 0;
    return v;
}

static int pnm_decode(const struct datafile *f, const uint8_t *bytes, size_t n, struct picture *out)
{
    struct picture p = {.c = n > 1 && bytes[1] == '6' ? 3 : 1};
    size_t at = 2;
    p.w = next_number(bytes, n, &at);
    p.h = next_number(bytes, n, &at);
    const int levels = next_number(bytes, n, &at);
    if (p.w < 1 || p.w > PICTURE_SIDE_MAX || p.h < 1 || p.h > PICTURE_SIDE_MAX)
        return datafile_err(f, at, "a picture of %d x %d, expected 1 to %d pixels a side", p.w, p.h,
                            PICTURE_SIDE_MAX);
    if (levels != LEVELS || at == n || !is_space(bytes[at]))
        return datafile_err(f, at, "%d grey levels, expected %d and then one white space", levels,
                            LEVELS);
    const size_t size = (size_t)p.h * (size_t)p.w * (size_t)p.c;
    if (n - ++at != size)
        return datafile_err(f, at, "%zu bytes of pixels, expected %zu", n - at, size);
    p.pixels = malloc(size);
    if (!p.pixels)
        return ERR(-ENOMEM, "cannot allocate the picture of '%s'", f->path);
    memcpy(p.pixels, bytes + at, size);
    *out = p;
    return 0;
}

static int decode(const struct datafile *f, const uint8_t *bytes, size_t n, struct picture *out)
{
    if (n > 0 && bytes[0] == 0x89)
        return png_decode(f, bytes, n, out);
    if (n > 1 && bytes[0] == 0xff && bytes[1] == 0xd8)
        return jpeg_decode(f, bytes, n, out);
    if (n > 1 && bytes[0] == 'P' && (bytes[1] == '5' || bytes[1] == '6'))
        return pnm_decode(f, bytes, n, out);
    return datafile_err(
        f, 0, "unknown kind of picture, expected JPEG, PNG, or PGM or PPM of bytes (P5, P6)");
}

int picture_read(const char *dir, const char *name, struct picture *out)
{
    struct datafile f;
    uint8_t *bytes = NULL;
    size_t n;
    TRY(datafile_open(dir, name, &f));
    int rc = datafile_all(&f, FILE_MAX, &bytes, &n);
    if (rc == 0)
        rc = decode(&f, bytes, n, out);
    free(bytes);
    datafile_close(&f);
    return rc;
}
