/* memory.c : reads memory figures from /proc/meminfo, control groups and getrusage(), and leaves
 * the clearing of pages to the system. */
#include "base/memory.h"
#include "base/buf.h"
#include "base/groups.h"
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

static uint64_t read_number(const char *path, const char *words)
{
    const size_t n_words = strlen(words);
    uint64_t n = UINT64_MAX;
    char line[128], *end = line;
    FILE *f = fopen(path, "r");
    while (f && end == line && fgets(line, sizeof line, f)) {
        if (strncmp(line, words, n_words))
            continue;
        n = strtoull(line + n_words, &end, 10);
        if (end == line + n_words)
            n = UINT64_MAX;
    }
    if (f)
        fclose(f);
    return n;
}

/* Returns INFINITY if a number is missing; a "max" is none. Cached files count as free. */
static double available(const char *path, const char *limit, const char *used, const char *cached)
{
    char file[PATH_MAX];
    const char *const names[] = {limit, used, "memory.stat"}, *const words[] = {"", "", cached};
    uint64_t n[3];
    for (int i = 0; i < 3; i++) {
        snprintf(file, sizeof file, "%s/%s", path, names[i]);
        n[i] = read_number(file, words[i]);
    }
    if (n[0] == UINT64_MAX || n[1] == UINT64_MAX)
        return INFINITY;
    const uint64_t held = n[2] < n[1] ? n[1] - n[2] : n[1];
    return n[0] > held ? (double)(n[0] - held) : 0;
}

static double available_2(const char *path)
{
    return available(path, "memory.max", "memory.current", "inactive_file ");
}

static double available_1(const char *path)
{
    return available(path, "memory.limit_in_bytes", "memory.usage_in_bytes",
                     "total_inactive_file ");
}

uint64_t memory_of_groups(const struct groups *g)
{
    const double bytes = fmin(groups_least(g, "0::", "", available_2),
                              groups_least(g, ":memory:", "/memory", available_1));
    return bytes < 0x1p63 ? (uint64_t)bytes : UINT64_MAX;
}

uint64_t memory_available(void)
{
    const uint64_t kib = read_number("/proc/meminfo", "MemAvailable:"),
                   group = memory_of_groups(&groups_own);
    const uint64_t machine = kib == UINT64_MAX ? kib : kib << 10;
    return machine < group ? machine : group;
}

uint64_t memory_peak(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) ? 0 : (uint64_t)usage.ru_maxrss << 10;
}

/* Returns the bytes of the whole pages in an array and sets *before to those before the first. */
static size_t whole_pages(const void *array, size_t bytes, size_t *before)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    *before = (page - (uintptr_t)array % page) % page;
    return bytes < *before ? 0 : (bytes - *before) / page * page;
}

void memory_release(void *array, size_t bytes)
{
    size_t before;
    const size_t n = whole_pages(array, bytes, &before);
    if (n)
        (void)madvise((char *)array + before, n, MADV_DONTNEED);
}

void *memory_on_use(size_t bytes)
{
    enum { LEAST = 1 << 20 }; /* less is faster cleared at once */
    const size_t rounded = (bytes + 63) / 64 * 64;
    char *p = bytes >= LEAST && rounded >= bytes ? aligned_alloc(64, rounded) : NULL;
    if (!p)
        return buf_alloc(bytes); /* reports a lack of memory */
    size_t before;
    const size_t n = whole_pages(p, rounded, &before);
    if (madvise(p + before, n, MADV_DONTNEED))
        return memset(p, 0, rounded); /* as with mlockall() */
    memset(p, 0, before);
    memset(p + before + n, 0, rounded - before - n);
    return p;
}

const char *memory_text(uint64_t bytes, char text[MEMORY_TEXT])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    double x = (double)bytes;
    int u = 0;
    for (; x >= 1024 && u < 5; u++)
        x /= 1024;
    snprintf(text, MEMORY_TEXT, "%.*f %s", u > 0 && x < 100, x, units[u]);
    return text;
}
