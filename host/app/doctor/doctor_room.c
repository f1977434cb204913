/* doctor_room.c : checks the room of MPI's files: a segment per rank in /dev/shm, and what mpirun
 * and PMIx write to TMPDIR. */
#include "app/doctor/doctor.h"
#include "base/err.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

static const double mib = 1 << 20;
/* Sizes were measured with Open MPI 4.1.4 and 5.0.7 and their PMIx. */
static const double segment_4_mib = 4, segment_5_mib = 16, tmpdir_mib = 9;

/* Add the free bytes of a folder as fact `key`: "none" if nothing can be written to it. */
static void room_of(struct info *info, const char *key, const char *folder)
{
    struct statvfs s;
    if (access(folder, W_OK | X_OK) || statvfs(folder, &s))
        info_add(info, key, "none");
    else
        info_add(info, key, "%.0f", (double)s.f_bavail * (double)s.f_frsize);
}

void doctor_room(struct info *info)
{
    const char *folder = getenv("TMPDIR");
    folder = folder && *folder ? folder : "/tmp";
    room_of(info, "/dev/shm", "/dev/shm");
    info_add(info, "TMPDIR", "%s", folder);
    room_of(info, "TMPDIR room", folder);
}

static bool has_none(const struct doctor *d, int rank, const char *key)
{
    return !strcmp(doctor_fact(d, rank, key), "none");
}

static int ranks_beside(const struct doctor *d, int rank)
{
    int n = 0;
    for (int r = 0; r < d->n_ranks; r++)
        n += d->nodes[r] == d->nodes[rank];
    return n;
}

void doctor_shm(const struct doctor *d, struct doctor_finding *f)
{
    for (int r = 0; r < d->n_ranks; r++) {
        const bool is_4 = strstr(doctor_fact(d, r, "MPI"), "Open MPI v4");
        const int n = ranks_beside(d, r) > 1 ? ranks_beside(d, r) : 2;
        const double free_mib = doctor_number(d, r, "/dev/shm") / mib,
                     wanted_mib = n * (is_4 ? segment_4_mib : segment_5_mib);
        const char *host = doctor_fact(d, r, "host");
        if (has_none(d, r, "/dev/shm"))
            doctor_say(f, DOCTOR_WARN,
                       "/dev/shm of %s cannot be written to: its ranks may need slower ways", host);
        else if (free_mib < wanted_mib)
            doctor_say(f, DOCTOR_WARN,
                       "/dev/shm of %s has %.1f MiB free, %d ranks want %.0f MiB: some use TCP, "
                       "which is slower",
                       host, free_mib, n, wanted_mib);
        else
            continue;
        doctor_mend(f, "mount -o remount,size=1g /dev/shm; docker run --shm-size=1g");
    }
    doctor_say(f, DOCTOR_OK, "%.0f MiB of /dev/shm are free",
               doctor_number(d, 0, "/dev/shm") / mib);
}

void doctor_tmpdir(const struct doctor *d, struct doctor_finding *f)
{
    for (int r = 0; r < d->n_ranks; r++) {
        const double free_mib = doctor_number(d, r, "TMPDIR room") / mib;
        const char *folder = doctor_fact(d, r, "TMPDIR"), *host = doctor_fact(d, r, "host");
        if (has_none(d, r, "TMPDIR room"))
            doctor_say(f, DOCTOR_FAIL,
                       "'%.200s' on %s is no folder that can be written to: MPI may not start",
                       folder, host);
        else if (free_mib < tmpdir_mib)
            doctor_say(f, DOCTOR_WARN,
                       "'%.200s' on %s has %.1f MiB free: mpirun alone may hang or crash with less "
                       "than %.0f MiB (host/ranks.sh needs less)",
                       folder, host, free_mib, tmpdir_mib);
        else
            continue;
        doctor_mend(f, "export TMPDIR=FOLDER, a folder with room that can be written to");
    }
    doctor_say(f, DOCTOR_OK, "%.0f MiB are free in '%.200s'",
               doctor_number(d, 0, "TMPDIR room") / mib, doctor_fact(d, 0, "TMPDIR"));
}

void doctor_warn_early(void)
{
    struct info mine = {.n = 0};
    int32_t node = 0;
    const struct doctor alone = {.n_ranks = 1, .ranks = &mine, .nodes = &node};
    struct doctor_finding f = {0};
    char name[256] = "";
    gethostname(name, sizeof name - 1);
    info_add(&mine, "host", "%s", name);
    doctor_room(&mine);
    doctor_tmpdir(&alone, &f);
    if (f.grade != DOCTOR_OK)
        err_note("narrowcast: TMPDIR: %s; mend: %s", f.what, f.mend);
}
