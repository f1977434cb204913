/* groups.c : reads /proc/self/cgroup and asks for a value of each group on the way to the root. */
#include "base/groups.h"
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

const struct groups groups_own = {"/proc/self/cgroup", "/sys/fs/cgroup"};

/* Sets path to the process's group, or "" if the list does not name it. */
static void find_group(const char *list, const char *mark, char path[PATH_MAX])
{
    char line[PATH_MAX];
    FILE *f = fopen(list, "r");
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

/* cpu.max "200000 100000" means 2 CPUs, "max 100000" no limit */
static double cpus(const char *path)
{
    char file[2 * PATH_MAX + 16];
    double limit, period, n = INFINITY;
    snprintf(file, sizeof file, "%s/cpu.max", path);
    FILE *f = fopen(file, "r");
    if (f && fscanf(f, "%lf %lf", &limit, &period) == 2 && period > 0)
        n = limit / period;
    if (f)
        fclose(f);
    return n;
}

double groups_least(const struct groups *g, const char *mark, const char *folder,
                    double (*value)(const char *path))
{
    double least = INFINITY;
    char path[PATH_MAX], files[2 * PATH_MAX], *end;
    find_group(g->list, mark, path);
    do {
        snprintf(files, sizeof files, "%s%s%s", g->root, folder, path);
        least = fmin(least, value(files));
        end = strrchr(path, '/');
        if (end)
            *end = 0;
    } while (end);
    return least;
}

double groups_cpus(const struct groups *g)
{
    return groups_least(g, "0::", "", cpus);
}
