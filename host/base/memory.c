/* memory.c : what Linux says of memory: /proc/meminfo, the control group, getrusage(). */
#include "base/memory.h"
#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>

/* The first number of the first line that the pattern fits. */
static uint64_t read_number(const char *path, const char *pattern)
{
    char line[128];
    uint64_t n = UINT64_MAX;
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f) && sscanf(line, pattern, &n) != 1)
        n = UINT64_MAX;
    if (f)
        fclose(f);
    return n;
}

/* What a control group leaves, as version 2 shows its own to those inside; "max": no limit. */
static uint64_t group_available(void)
{
    const uint64_t limit = read_number("/sys/fs/cgroup/memory.max", "%" SCNu64),
                   used = read_number("/sys/fs/cgroup/memory.current", "%" SCNu64);
    return limit == UINT64_MAX || used == UINT64_MAX ? UINT64_MAX : limit > used ? limit - used : 0;
}

uint64_t memory_available(void)
{
    const uint64_t kib = read_number("/proc/meminfo", "MemAvailable: %" SCNu64),
                   group = group_available();
    const uint64_t machine = kib == UINT64_MAX ? kib : kib << 10;
    return machine < group ? machine : group;
}

uint64_t memory_peak(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) ? 0 : (uint64_t)usage.ru_maxrss << 10;
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
