/* comm_mpi_heartbeat.c : finds ranks of this machine that do not call any more, and kills them. */
#include "comm/mpi/comm_mpi_heartbeat.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct entry {
    pid_t pid;      /* 0: rank of another machine, or killed */
    ino_t space;    /* PID namespace */
    uint64_t start; /* time of the process's start, since pids are reused */
    double beat_s;
};

struct heartbeat {
    struct entry *entry; /* [n] shared */
    int n;
};

/* Returns when a living process started, in the kernel's ticks, or 0 if there is none. */
static uint64_t start_of(pid_t pid)
{
    char path[64], line[1024];
    unsigned long long start = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "r");
    const size_t n = f ? fread(line, 1, sizeof line - 1, f) : 0;
    if (f)
        fclose(f);
    line[n] = 0;
    /* pid (name) state ...: the 22nd word is the start */
    char *at = strrchr(line, ')');
    if (!at || at[1] != ' ' || at[2] == 'Z')
        return 0;
    for (int word = 2; at && word < 22; word++)
        at = strchr(at + 1, ' ');
    return at && sscanf(at, "%llu", &start) == 1 ? start : 0;
}

static ino_t pid_space(void)
{
    struct stat st;
    return stat("/proc/self/ns/pid", &st) == 0 ? st.st_ino : 0;
}

static bool is_there(const struct entry *e)
{
    return e->pid && e->start && e->space == pid_space() && start_of(e->pid) == e->start;
}

void heartbeat_note(struct heartbeat *h, int rank)
{
    if (h)
        __atomic_store(&h->entry[rank].beat_s, (double[]){clock_s()}, __ATOMIC_RELAXED);
}

static struct heartbeat *map(const char *name, int n)
{
    struct heartbeat *h = buf_alloc(sizeof *h);
    const size_t bytes = (size_t)n * sizeof *h->entry;
    const int fd = shm_open(name, O_CREAT | O_RDWR, 0600);
    void *p = MAP_FAILED;
    /* ftruncate() reserves nothing: writing to a full /dev/shm would be a SIGBUS */
    if (h && fd >= 0 && posix_fallocate(fd, 0, (off_t)bytes) == 0)
        p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    if (p == MAP_FAILED)
        return free(h), NULL;
    *h = (struct heartbeat){p, n};
    return h;
}

struct heartbeat *heartbeat_join(const char *name, int rank, int n_ranks)
{
    struct heartbeat *h = map(name, n_ranks);
    if (!h)
        return NULL;
    struct entry *mine = &h->entry[rank];
    mine->space = pid_space();
    mine->start = start_of(getpid());
    heartbeat_note(h, rank);
    mine->pid = getpid();
    return h;
}

void heartbeat_close(struct heartbeat *h)
{
    if (!h)
        return;
    munmap(h->entry, (size_t)h->n * sizeof *h->entry);
    free(h);
}

int heartbeat_kill_silent(struct heartbeat *h, int rank, double deadline_s)
{
    int n = 0;
    for (int r = 0; h && r < h->n; r++) {
        struct entry *entry = &h->entry[r];
        double last;
        __atomic_load(&entry->beat_s, &last, __ATOMIC_RELAXED);
        const double silent_s = clock_s() - last;
        if (r == rank || silent_s < deadline_s || !is_there(entry))
            continue;
        const bool killed = kill(entry->pid, SIGKILL) == 0;
        err_news("rank %d (process %d) did not answer for %.0f s: %s", r, (int)entry->pid, silent_s,
                 killed ? "it is killed, the others go on" : strerror(errno));
        n += killed;
        entry->pid = 0;
    }
    return n;
}
