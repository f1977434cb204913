/* file_same.c : do two names lead to one file? */
#include "base/file.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINKS_MAX = 40 };

/* to [PATH_MAX] = the folder of a name, `name` [n] of the end of it. False: too long. */
static bool join(const char *folder, size_t n, const char *name, char *to)
{
    const int length = snprintf(to, PATH_MAX, "%.*s/%s", (int)n, folder, name);
    return length > 0 && length < PATH_MAX;
}

/* to [PATH_MAX] = the one name, without links, of what path leads to, or would where nothing is
 * yet. False: it leads nowhere. */
static bool place_of(const char *path, char *to)
{
    char name[PATH_MAX], folder[PATH_MAX], link[PATH_MAX];
    if (strlen(path) >= sizeof name)
        return false;
    strcpy(name, path);
    for (int i = 0; i < LINKS_MAX; i++) {
        if (realpath(name, to))
            return true;
        const char *slash = strrchr(name, '/'), *last = slash ? slash + 1 : name;
        if (!join(slash ? name : ".", slash ? (size_t)(slash - name) : 1, "", folder) ||
            !realpath(folder, to) || !join(to, strlen(to), last, folder))
            return false;
        strcpy(name, folder);
        const ssize_t n = readlink(name, link, sizeof link - 1);
        if (n < 0) {
            strcpy(to, name);
            return true;
        }
        link[n] = '\0'; /* a link to nothing: what it names is made */
        if (*link != '/' && !join(to, strlen(to), link, folder))
            return false;
        strcpy(name, *link == '/' ? link : folder);
    }
    return false;
}

bool file_same(const char *a, const char *b)
{
    char at[2][PATH_MAX];
    struct stat one, two;
    const bool there = !stat(a, &one);
    if (there != !stat(b, &two))
        return false;
    if (!there)
        return !strcmp(a, b) || (place_of(a, at[0]) && place_of(b, at[1]) && !strcmp(at[0], at[1]));
    const bool given = !strncmp(a, "/dev/", 5) && !strncmp(b, "/dev/", 5) && !S_ISREG(one.st_mode);
    return one.st_dev == two.st_dev && one.st_ino == two.st_ino && !S_ISCHR(one.st_mode) && !given;
}
