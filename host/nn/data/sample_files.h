/* sample_files.h : declares the pictures that imagefolder.c lists, for sample_files.c. */
#ifndef SAMPLE_FILES_H
#define SAMPLE_FILES_H
#include <limits.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum { FILES_CHANNELS = 3 };

/* pictures of train/ or val/ */
struct files_list {
    char *names; /* "CLASS/FILE", each with its zero */
    size_t n_bytes, room_bytes;
    size_t *name;    /* [n] in names */
    uint16_t *label; /* [n] */
    size_t n, room;
    char path[PATH_MAX];
};

struct files {
    struct files_list train, test;
    char (*classes)[NAME_MAX + 1]; /* [n_classes] */
    int n_threads;
    atomic_int failed;
};

#endif
