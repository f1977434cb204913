/* checkpoint_file.h : the bytes of a checkpoint's file: written whole or not at all, read as bytes that
 * anybody may have made.
 *
 *     head (struct checkpoint_head) | id of the run | text: the options that matter for bits, "name=value" lines |
 *     an entry for each section (struct checkpoint_entry) | sections, in this order: of each its
 *     parts, rank after rank | crc32 of all before                                little endian */
#ifndef CHECKPOINT_FILE_H
#define CHECKPOINT_FILE_H
#include "base/file.h"
#include <stddef.h>
#include <stdint.h>

enum { CHECKPOINT_ENTRIES_MAX = 16, CHECKPOINT_RUN_BYTES = 16 };

/* The name of the line that stands in the text if the schedule depends on the number of steps. */
#define CHECKPOINT_STEPS "steps in all"

/* A section, as it stands in the file. */
struct checkpoint_entry {
    char name[20];    /* zeros behind it, one at least */
    uint32_t n_parts; /* 1, or one of each rank */
    uint64_t bytes;   /* of a part */
};

/* The contents of a run's checkpoint. A file to resume from must have the same contents, except for
 * the id of the run. */
struct checkpoint_plan {
    char run[CHECKPOINT_RUN_BYTES]; /* hex digits, no zero at the end; all zero: unknown */
    const char *text;
    uint32_t n_ranks, n_entries;
    struct checkpoint_entry entries[CHECKPOINT_ENTRIES_MAX];
};

struct checkpoint_out {
    struct file_out file;
    uint32_t crc;
};

/* Then every part of every section is put, in the plan's order, and the file committed or discarded.
 * Return 0 or a negative errno; a failure is said once, by the first that finds it. */
int checkpoint_out_open(struct checkpoint_out *out, const char *path,
                        const struct checkpoint_plan *plan);
int checkpoint_out_put(struct checkpoint_out *out, const void *from, size_t bytes);
int checkpoint_out_commit(struct checkpoint_out *out);
void checkpoint_out_discard(struct checkpoint_out *out); /* legal when zeroed and after commit */

/* Takes a file that is undamaged and made of what the plan says; then its parts are got in the
 * plan's order. *run: the id of the run that wrote the file; all zero: the file is of version 3,
 * which had none. Return 0 or a negative errno with a line. */
int checkpoint_in_open(struct file_in *in, const char *path, const struct checkpoint_plan *plan,
                       char run[CHECKPOINT_RUN_BYTES]);
int checkpoint_in_get(struct file_in *in, void *to, size_t bytes);

#endif
