/* groups.h : finds the tightest limit among this process's Linux control groups and the groups
 * around them, in version 1 or 2. */
#ifndef GROUPS_H
#define GROUPS_H

struct groups {
    const char *list; /* /proc/self/cgroup */
    const char *root; /* /sys/fs/cgroup */
};

extern const struct groups groups_own;

/* Return the least value of the process's group and of those around it; INFINITY without groups.
 * mark: text before the group's path in its line of the list, "0::" (version 2) or ":memory:".
 * folder: "", or in version 1 the controller's folder, "/memory".
 * value: of one group, whose files are in path; INFINITY if it has no limit. */
double groups_least(const struct groups *g, const char *mark, const char *folder,
                    double (*value)(const char *path));

/* Return the least CPU quota, in CPUs (version 2); INFINITY without one. */
double groups_cpus(const struct groups *g);

#endif
