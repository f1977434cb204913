/* file.h : reads files in blocks, and writes files completely or not at all. */
#ifndef FILE_H
#define FILE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct file_in {
    FILE *f;
    const char *path; /* the caller's, outlives this */
    uint64_t at;      /* bytes read, for messages */
};
int file_in_open(struct file_in *in, const char *path);
/* Fill buf [bytes]. *got is less than bytes only at the end of the file. */
int file_in_read(struct file_in *in, void *buf, size_t bytes, size_t *got);
/* Return to the start for a second pass. Reports -EINVAL for a pipe. */
int file_in_rewind(struct file_in *in);
void file_in_close(struct file_in *in); /* legal if zeroed */

/* A file to be replaced. Until file_out_commit() begins, path has its old contents. The new file is
 * made in the same folder, which must be writable. It has the old one's permissions, except set-uid
 * and set-gid, and if root makes it also its owner. A device or a pipe (/dev/stdout) is written
 * directly. */
struct file_out {
    FILE *f;          /* written only by the functions below, which record errors */
    const char *path; /* the caller's, outlives this */
    int failed;       /* first errno of a write */
    int folder;       /* of the target; -1 for a device or a pipe */
    char *target;     /* absolute path, links resolved */
    const char *name; /* of the target in the folder */
    char temp[40];    /* temporary name, or "" (O_TMPFILE) */
};
int file_out_open(struct file_out *out, const char *path);
/* Reports only the first failure; later writes and the commit then fail without printing. */
int file_out_write(struct file_out *out, const void *buf, size_t bytes);
int file_out_print(struct file_out *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Flush to the disk without replacing path. Sync files that belong together before the first
 * commit. */
int file_out_sync(struct file_out *out);
/* Flush to the disk and replace path, or discard the new contents after a failure. A mounted file,
 * or another user's in a sticky folder, cannot be replaced: it is overwritten. If that fails, the
 * new contents stay in a temporary file, which the error names. */
int file_out_commit(struct file_out *out);
void file_out_discard(struct file_out *out); /* legal if zeroed and after commit */
/* Check, before any work, that path and its folder are writable. */
int file_out_check(const char *path);

/* Open a file, device or pipe for writing, at its start or end. Waits up to 5 s for the reader of a
 * pipe. Locks a regular file until it is closed, before changing it. Returns NULL with errno, which
 * file_why() explains. */
FILE *file_writer(const char *path, bool append);
/* Open path with flags O_..., as above but without the lock. Returns fd or -errno. */
int file_open_writer(const char *path, int flags);
const char *file_why(int code);
/* Lock an open file or folder until fd is closed, against processes that use this function. waits:
 * retry for up to 5 s, for a process that is about to end. Returns 0, or -EWOULDBLOCK if another
 * process holds the lock. */
int file_lock(int fd, bool waits);

/* Occupy closed ones of descriptors 0, 1 and 2, so that no later file or socket gets their number
 * and receives messages. Using them still fails. main() calls it first. */
void file_hold_standard(void);
/* Flush standard output. Reports -EIO if a write to it has failed. */
int file_end_standard(void);

/* Return true if both names are one file, which may not exist yet. False for devices and pipes of
 * /dev, which may be shared. */
bool file_same(const char *a, const char *b);

/* Refuse an output that is the same file as the input. */
int file_check_output(const char *in, const char *out);

#endif
