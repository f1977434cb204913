/* memory.c : reads memory figures from /proc/meminfo, control groups and getrusage(), and leaves
 * the clearing of pages to the system. */
#include "base/memory.h"
#include "base/buf.h"
#include <limits.h>
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

static const struct hierarchy {
    const char *mark; /* before the path in /proc/self/cgroup */
    const char *folder, *limit, *used, *cached;
} hierarchies[] = {{"0::", "", "memory.max", "memory.current", "inactive_file "}, /* version 2 */
                   {":memory:", "/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
                    "total_inactive_file "}};

/* Sets path to the process's group, or "" if the file does not name it. */
static void find_group(const char *groups, const char *mark, char path[PATH_MAX])
{
    char line[PATH_MAX];
    FILE *f = fopen(groups, "r");
    path[0] = 0;
    while (f && !path[0] && fgets(line, sizeof line, f)) {
        const char *at = strstr(line, mark);
        line[strcspn(line, "\n")] = 0;
        if (at)
            strcpy(path, at + strlen(mark));
    }
    if (f)
        fclose(f);
}

static uint64_t group_number(const struct hierarchy *h, const char *root, const char *path,
                             const char *name, const char *words)
{
    char file[2 * PATH_MAX];
    snprintf(file, sizeof file, "%s%s%s/%s", root, h->folder, path, name);
    return read_number(file, words);
}

/* Cached files count as free. */
static uint64_t group_available(const struct hierarchy *h, const char *root, const char *path)
{
    const uint64_t limit = group_number(h, root, path, h->limit, ""),
                   used = group_number(h, root, path, h->used, "");
    const uint64_t cached = group_number(h, root, path, "memory.stat", h->cached);
    if (limit == UINT64_MAX || used == UINT64_MAX)
        return UINT64_MAX;
    const uint64_t held = cached < used ? used - cached : used;
    return limit > held ? limit - held : 0;
}

uint64_t memory_of_groups(const char *groups, const char *root)
{
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < sizeof hierarchies / sizeof *hierarchies; i++) {
        char path[PATH_MAX], *end;
        find_group(groups, hierarchies[i].mark, path);
        do {
            const uint64_t n = group_available(&hierarchies[i], root, path);
            least = n < least ? n : least;
            end = strrchr(path, '/');
            if (end)
                *end = 0;
        } while (end);
    }
    return least;
}

uint64_t memory_available(void)
{
    const uint64_t kib = read_number("/proc/meminfo", "MemAvailable:"),
                   group = memory_of_groups("/proc/self/cgroup", "/sys/fs/cgroup");
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
