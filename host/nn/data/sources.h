/* sources.h : declares the loader of each source of samples, and what several of them need. */
#ifndef SOURCES_H
#define SOURCES_H
#include "nn/data/dataset.h"
#include <dirent.h>
#include <stdint.h>

/* Fill sizes, samples and kind (d->samples) of the zeroed *d, which owns memory allocated before a
 * failure. arg: the spec after the colon, or NULL. Returns 0 or -errno (reported). */
#define SOURCE(name, more, form, target, means) int name##_load(const char *arg, struct dataset *d);
#include "nn/data/sources.def"
#undef SOURCE

enum { SOURCE_N_MIN = 40, SOURCE_N_MAX = 1000000 };

/* Parse "n,seed" of generated data. n: training images, a multiple of `multiple` from SOURCE_N_MIN
 * to SOURCE_N_MAX. arg NULL leaves *n and *seed unchanged. name: of the source. Returns 0 or
 * -EINVAL (reported). */
int source_spec(const char *name, const char *arg, unsigned multiple, uint64_t *n, uint64_t *seed);

/* Split "DIR[,FIRST[,SECOND]]" into dir [room], *first and *second. A missing number leaves its
 * variable unchanged. Reports -ENAMETOOLONG, or -EINVAL without DIR. */
int source_folder(const char *arg, char *dir, size_t room, long *first, long *second);

/* List the entries of a folder that `keep` accepts (NULL: all but hidden ones), by name. The caller
 * frees *list with source_list_free(). Returns their number or -errno (not reported). */
int source_list(const char *path, int (*keep)(const struct dirent *), struct dirent ***list);
/* Return 1 for a folder, 0 for a file, or -errno (reported): also for a link to nothing, which may
 * be the folder of a disk that is missing. */
int source_is_folder(const char *path);
void source_list_free(struct dirent **list, int n);

#endif
