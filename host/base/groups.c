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
