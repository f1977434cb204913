/* file.h : files read in blocks, and files that are written whole or not at all. */
#ifndef FILE_H
#define FILE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct file_in {
    FILE *f;
    const char *path; /* the caller's, outlives this */
    uint64_t at;      /* bytes read so far, for messages */
};
/* Returns 0 or a negative errno with a line. */
int file_in_open(struct file_in *in, const char *path);
/* Fills buf [bytes]; *got is smaller at the end of the file alone. Returns 0 or a negative errno
 * with a line. */
int file_in_read(struct file_in *in, void *buf, size_t bytes, size_t *got);
/* Back to the start, for a second pass; -EINVAL with a line for a pipe. */
int file_in_rewind(struct file_in *in);
void file_in_close(struct file_in *in); /* legal when zeroed */

/* Until file_out_commit() has returned 0, path is as it was, and what was written is nowhere to be
 * seen; so one may read the file that one replaces. A device or a pipe (/dev/stdout) is written as
 * it goes. */
struct file_out {
    FILE *f;          /* written by the functions below alone: they remember what failed */
    const char *path; /* the caller's, outlives this */
    int failed;       /* the first errno of a write */
    int folder;       /* the target's; -1 for a device or a pipe */
    char *target;     /* name in the folder, links resolved */
    char temp[40];    /* likewise, "": it has none yet (O_TMPFILE) */
};
/* Returns 0 or a negative errno with a line. */
int file_out_open(struct file_out *out, const char *path);
/* A failure is said once, by the first that finds it; later writes and the commit fail in silence.
 * Return 0 or a negative errno. */
int file_out_write(struct file_out *out, const void *buf, size_t bytes);
int file_out_print(struct file_out *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* What was written is on the disk, though not in its place: of several files that belong together all
 * are synced before the first is committed. Returns 0 or a negative errno with a line. */
int file_out_sync(struct file_out *out);
/* Flushes to the disk, then takes path's place. On failure the file is discarded. Returns 0 or a
 * negative errno with a line. */
int file_out_commit(struct file_out *out);
void file_out_discard(struct file_out *out); /* legal when zeroed and after commit */
/* Could path be written now? Better asked before the work than after it. Returns 0 or a negative
 * errno with a line. */
int file_out_check(const char *path);

/* Opens a file, a device or a pipe to be written from its start, or its end. A pipe's reader is waited
 * for, some seconds, as none may ever come. A regular file is locked until it is closed, before
 * anything in it changes. Returns NULL with errno, which file_why() has words for. */
FILE *file_writer(const char *path, bool append);
int file_open_writer(const char *path, int flags); /* O_...; returns fd or -errno */
const char *file_why(int code);
/* Locks an open file or folder for this process until fd is closed. Only processes that use this
 * function are kept out. waits: some seconds, for another process that is about to end. Returns 0 or
 * -EWOULDBLOCK: another process has it. */
int file_lock(int fd, bool waits);

/* Occupy those of the descriptors 0, 1 and 2 that are closed, so that no file or socket which is opened
 * later takes their place and receives messages. Reading and writing them fails as before. For main(),
 * before all else. */
void file_hold_standard(void);

/* Do both names lead to one file, though it be there only when it has been written, so that what is
 * written by one is lost to the other? Not where both may write as they go: devices, pipes of /dev. */
bool file_same(const char *a, const char *b);

#endif
