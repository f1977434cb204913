/* doctor_network.c : checks sockets, MTU and clocks of the machines, and the space for MPI's
 * files. */
#include "app/doctor/doctor.h"
#include "hls/card/packet.h"
#include "base/err.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* bytes of IPv4 and UDP headers; of a usual packet with headers */
enum { HEADERS = 28, USUAL = HEADERS + PKT_BEAT_BYTES * (1 + PKT_USUAL_BEATS) };
/* Linux's default, enough for a card's 64 in-flight packets */
enum { LEAST_BYTES = 212992 };
static const double clocks_s = 1;

void doctor_sockets(const struct doctor *d, struct doctor_finding *f)
{
    for (int r = 0; r < d->n_ranks; r++) {
        const double got = doctor_number(d, r, "receive buffer"),
                     wanted = doctor_number(d, r, "receive buffer wanted"),
                     lost = doctor_number(d, r, "UDP without room");
        const char *host = doctor_fact(d, r, "host");
        if (got < LEAST_BYTES)
            doctor_say(f, DOCTOR_WARN,
                       "a card's socket gets a buffer of %.0f kB on %s, too little for 64 packets "
                       "in flight: some will be lost and sent again",
                       got / 1024, host);
        else if (got < wanted && lost > 0)
            doctor_say(f, DOCTOR_WARN,
                       "%.0f datagrams were dropped by full sockets of %s since it was started; a "
                       "card's socket gets a buffer of %.0f kB instead of %.0f",
                       lost, host, got / 1024, wanted / 1024);
        else
            continue;
        doctor_mend(f, "sysctl -w net.core.rmem_max=%.0f", wanted);
    }
    doctor_say(f, DOCTOR_OK, "%.0f kB for packets from cards",
               doctor_number(d, 0, "receive buffer") / 1024);
}

static int mtu_of(const struct info_fact *fact)
{
    const char *at = strstr(fact->value, "MTU ");
    int mtu = 0;
    if (strncmp(fact->key, "NIC ", 4) || !strcmp(fact->key, "NIC lo") ||
        strstr(fact->value, ", down") || !at)
        return 0;
    return sscanf(at, "MTU %d", &mtu) == 1 ? mtu : 0;
}

static int longest(const struct doctor *d, int rank, const char **name)
{
    const struct info *info = &d->ranks[rank];
    int most = 0;
    for (int i = 0; i < info->n; i++)
        if (mtu_of(&info->facts[i]) > most) {
            most = mtu_of(&info->facts[i]);
            *name = info->facts[i].key + 4;
        }
    return most;
}

void doctor_mtu(const struct doctor *d, struct doctor_finding *f)
{
    const char *first_name = "", *name = "";
    const int first = longest(d, 0, &first_name);
    for (int r = 0; r < d->n_ranks; r++) {
        const int mtu = longest(d, r, &name);
        const char *host = doctor_fact(d, r, "host");
        if (mtu > 0 && mtu < USUAL) {
            doctor_say(
                f, DOCTOR_WARN,
                "the MTU of %s of %s is %d bytes: a card's packets have %d on most networks, "
                "and here %d",
                name, host, mtu, USUAL,
                (mtu - HEADERS) / PKT_BEAT_BYTES * PKT_BEAT_BYTES + HEADERS);
            doctor_mend(f, "ip link set dev %s mtu 1500, if the network allows it", name);
        } else if (mtu > 0 && first > 0 && mtu != first) {
            doctor_say(f, DOCTOR_WARN,
                       "the MTU of %s of %s is %d bytes, that of %s of %s %d: all send the shorter "
                       "packets",
                       name, host, mtu, first_name, doctor_fact(d, 0, "host"), first);
            const bool shorter = mtu < first;
            doctor_mend(f, "ip link set dev %s mtu %d on %s, if the switches allow it",
                        shorter ? name : first_name, shorter ? first : mtu,
                        shorter ? host : doctor_fact(d, 0, "host"));
        }
    }
    if (first > 0)
        doctor_say(f, DOCTOR_OK, "the MTU of %s is %d bytes", first_name, first);
    else
        doctor_say(f, DOCTOR_OK, "only the loopback interface is up");
}

void doctor_clocks(const struct doctor *d, struct doctor_finding *f)
{
    int worst = d->n_ranks > 1;
    for (int r = 1; r < d->n_ranks; r++)
        if (fabs(d->ahead_s[r]) - d->sure_s[r] > fabs(d->ahead_s[worst]) - d->sure_s[worst])
            worst = r;
    const double off_s = fabs(d->ahead_s[worst]);
    if (worst && off_s - d->sure_s[worst] > clocks_s) {
        doctor_say(f, DOCTOR_WARN,
                   "the clock of rank %d on %s is %.1f s %s that of rank 0: dates in logs and "
                   "files mislead; nothing else depends on it",
                   worst, doctor_fact(d, worst, "host"), off_s,
                   d->ahead_s[worst] > 0 ? "ahead of" : "behind");
        doctor_mend(f, "chronyc makestep, or timedatectl set-ntp true");
    } else if (d->n_ranks > 1) {
        doctor_say(f, DOCTOR_OK, "within %.3g ms of rank 0's", 1e3 * (off_s + d->sure_s[worst]));
    } else {
        doctor_say(f, DOCTOR_OK, "only one rank: nothing to compare");
    }
}

static const double mib = 1 << 20;
/* measured with Open MPI 4.1.4 and 5.0.7: a segment per rank in /dev/shm, and PMIx files in
 * TMPDIR */
static const double segment_4_mib = 4, segment_5_mib = 16, tmpdir_mib = 9;

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
                       "/dev/shm of %s is not writable: its ranks may need slower paths", host);
        else if (free_mib < wanted_mib)
            doctor_say(f, DOCTOR_WARN,
                       "/dev/shm of %s has %.1f MiB free, but %d ranks need %.0f MiB: some will "
                       "use TCP, which is slower",
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
            doctor_say(f, DOCTOR_FAIL, "'%.200s' on %s is not a writable folder: MPI may not start",
                       folder, host);
        else if (free_mib < tmpdir_mib)
            doctor_say(f, DOCTOR_WARN,
                       "'%.200s' on %s has %.1f MiB free: mpirun without host/ranks.sh may hang or "
                       "crash with less than %.0f MiB",
                       folder, host, free_mib, tmpdir_mib);
        else
            continue;
        doctor_mend(f, "export TMPDIR=FOLDER, with a writable folder that has room");
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
        err_note("narrowcast: TMPDIR: %s; fix: %s", f.what, f.mend);
}
