/* sources.c : splits specs of data sources, and lists folders. */
#include "nn/data/sources.h"
#include "base/err.h"
#include <stdlib.h>
#include <string.h>

static const char *parse_u64(const char *s, uint64_t *out)
{
    if (*s < '0' || *s > '9')
        return NULL;
    char *end;
    errno = 0;
    *out = strtoull(s, &end, 10);
    return errno ? NULL : end;
}

int source_spec(const char *name, const char *arg, unsigned multiple, uint64_t *n, uint64_t *seed)
{
    if (!arg)
        return 0;
    const char *s = parse_u64(arg, n);
    if (s && *s++ == ',')
        s = parse_u64(s, seed);
    else
        s = NULL;
    if (!s || *s)
        return ERR(
            -EINVAL,
            "data set '%s:%s' is malformed, expected %s:n,seed (two whole numbers below 2^64)",
            name, arg, name);
    if (*n < SOURCE_N_MIN || *n > SOURCE_N_MAX || *n % multiple)
        return ERR(-EINVAL,
                   "data set '%s:%s' has %llu images, expected a multiple of %u from %d to %d",
                   name, arg, (unsigned long long)*n, multiple, SOURCE_N_MIN, SOURCE_N_MAX);
    return 0;
}

/* Cuts ",NUMBER" off the end of a spec. Returns the number, or -1 if there is none. */
static long cut_number(char *spec)
{
    char *comma = strrchr(spec, ',');
    if (!comma || !comma[1] || strspn(comma + 1, "0123456789") != strlen(comma + 1))
        return -1;
    *comma = '\0';
    return strtol(comma + 1, NULL, 10);
}

int source_folder(const char *arg, char *dir, size_t room, long *first, long *second)
{
    if (strlen(arg) >= room)
        return ERR(-ENAMETOOLONG, "cannot open '%.40s...': the name is too long", arg);
    strcpy(dir, arg);
    const long last = cut_number(dir), other = last < 0 ? -1 : cut_number(dir);
    if (last >= 0)
        *first = other >= 0 ? other : last;
    if (other >= 0)
        *second = last;
    if (!*dir)
        return ERR(-EINVAL, "data set ':%s' lacks its DIR before the comma", arg);
    return 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_visible(const struct dirent *d)
{
    return d->d_name[0] != '.';
}

int source_list(const char *path, int (*keep)(const struct dirent *), struct dirent ***list)
{
    const int n = scandir(path, list, keep ? keep : is_visible, by_name);
    return n < 0 ? -errno : n;
}

int source_is_folder(const char *path)
{
    DIR *folder = opendir(path);
    if (!folder && errno != ENOTDIR)
        return ERR(-errno, "cannot read folder '%s': %s", path, strerror(errno));
    if (folder)
        closedir(folder);
    return folder != NULL;
}

void source_list_free(struct dirent **list, int n)
{
    for (int i = 0; i < n; i++)
        free(list[i]);
    free(list);
}
