/* train_files.c : the names of the files that a training writes: each one's own. */
#include "app/train/train_options.h"
#include "base/err.h"
#include "base/file.h"
#include <string.h>

int train_files_check(const struct train_options *o)
{
    const char *const files[][2] = {{"log", o->log},       {"trace", o->trace},
                                    {"stats", o->stats},   {"save", o->save},
                                    {"resume", o->resume}, {"dump-gradients", o->dump_dir}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (files[i][1] && !*files[i][1])
            return ERR(-EINVAL, "--%s '': must be a name", files[i][0]);
    /* the first three would be written over one another, or over a checkpoint */
    for (int i = 0; i < 3; i++)
        for (int j = i + 1; j < 5; j++) {
            const char *a = files[i][1], *b = files[j][1];
            if (!a || !b || !file_same(a, b))
                continue;
            return !strcmp(a, b) ? ERR(-EINVAL, "--%s and --%s both name '%s': must be two files",
                                       files[i][0], files[j][0], a)
                                 : ERR(-EINVAL, "--%s '%s' and --%s '%s' are one file: must be two",
                                       files[i][0], a, files[j][0], b);
        }
    return 0;
}
