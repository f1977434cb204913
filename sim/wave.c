/* wave.c : checks an FST file, block by block.
 *
 *     block    type u8, bytes after the type u64 (big endian), contents
 *     file     blocks to its end; the last is of names (types 4, 6 and 7)
 *
 * Source: fstapi.h of GTKWave. */
#include "sim/wave.h"
#include "base/err.h"
#include <stdint.h>
#include <stdio.h>

enum { LENGTH_BYTES = 8, NAMES = 4, NAMES_LZ4 = 6, NAMES_LZ4_TWICE = 7 };

static bool is_whole(FILE *f)
{
    uint8_t head[1 + LENGTH_BYTES];
    int type = -1;
    uint64_t at = 0;
    while (fread(head, 1, sizeof head, f) == sizeof head) {
        uint64_t bytes = 0;
        for (int i = 1; i <= LENGTH_BYTES; i++)
            bytes = bytes << 8 | head[i];
        if (bytes < LENGTH_BYTES || bytes > INT64_MAX - 1 - at)
            return false;
        type = head[0];
        at += 1 + bytes;
        if (fseeko(f, (off_t)at, SEEK_SET))
            return false;
    }
    return !fseeko(f, 0, SEEK_END) && (uint64_t)ftello(f) == at &&
           (type == NAMES || type == NAMES_LZ4 || type == NAMES_LZ4_TWICE);
}

int wave_check(const char *path)
{
    FILE *f = fopen(path, "rb");
    const bool whole = f && is_whole(f);
    if (f)
        fclose(f);
    return whole ? 0 : ERR(-EIO, "cannot write '%s': the waves are cut, as on a full disk", path);
}
