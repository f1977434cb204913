/* memory.c : reads memory figures from /proc/meminfo, the control group and getrusage(). */
#include "base/memory.h"
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

/* Control group version 2. Cached files count as free. */
static uint64_t group_available(void)
{
    const uint64_t limit = read_number("/sys/fs/cgroup/memory.max", ""),
                   used = read_number("/sys/fs/cgroup/memory.current", "");
    const uint64_t cached = read_number("/sys/fs/cgroup/memory.stat", "inactive_file ");
    if (limit == UINT64_MAX || used == UINT64_MAX)
        return UINT64_MAX;
    const uint64_t held = cached < used ? used - cached : used;
    return limit > held ? limit - held : 0;
}

uint64_t memory_available(void)
{
    const uint64_t kib = read_number("/proc/meminfo", "MemAvailable:"), group = group_available();
    const uint64_t machine = kib == UINT64_MAX ? kib : kib << 10;
    return machine < group ? machine : group;
}

uint64_t memory_peak(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) ? 0 : (uint64_t)usage.ru_maxrss << 10;
}

void memory_release(void *array, size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t before = (page - (uintptr_t)array % page) % page;
    if (bytes >= before + page)
        (void)madvise((char *)array + before, (bytes - before) / page * page, MADV_DONTNEED);
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
