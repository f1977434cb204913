/* doctor_facts.c : collects the facts of info, and others of a process and its machine. */
#include "app/doctor/doctor.h"
#include "base/crc.h"
#include "base/groups.h"
#include "base/text.h"
#include "comm/mpi/comm_library.h"
#include "offload/wire/wire_socket.h"
#include "vec/vec_isa.h"
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Adds a checksum, which differs between builds of one version. */
static void program(struct info *info)
{
    uint8_t block[1 << 16];
    uint32_t crc = 0;
    size_t n;
    FILE *f = fopen("/proc/self/exe", "r");
    if (!f)
        return;
    while ((n = fread(block, 1, sizeof block, f)) > 0)
        crc = crc_more(crc, block, n);
    fclose(f);
    info_add(info, "program", "%08x", crc);
}

static void system_of(struct info *info)
{
    struct utsname u;
    if (uname(&u))
        return;
    info_add(info, "host", "%s", u.nodename);
    info_add(info, "kernel", "%s", u.release);
    info_add(info, "architecture", "%s", u.machine);
}

static void instructions(struct info *info)
{
    const char *wish = getenv("NARROWCAST_ISA");
    int best = VEC_ISAS - 1;
    while (!vec_isa_here((enum vec_isa)best))
        best--;
    info_add(info, "ISA here", "%s", vec_isa_name((enum vec_isa)best));
    if (wish)
        info_add(info, "NARROWCAST_ISA", "%s", wish);
}

static void cpus(struct info *info)
{
    char list[INFO_VALUE] = "";
    struct text text = text_in(list, sizeof list);
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set))
        return;
    for (size_t i = 0; i < CPU_SETSIZE; i++) {
        const size_t first = i;
        if (!CPU_ISSET(i, &set))
            continue;
        while (i + 1 < CPU_SETSIZE && CPU_ISSET(i + 1, &set))
            i++;
        text_add(&text, "%s%zu", text.n ? "," : "", first);
        if (i > first)
            text_add(&text, "-%zu", i);
    }
    info_add(info, "CPUs", "%s", list);
    info_add(info, "n CPUs", "%d", CPU_COUNT(&set));
}

static void quota(struct info *info)
{
    const double cpus = groups_cpus(&groups_own);
    if (isfinite(cpus))
        info_add(info, "CPU quota", "%.2f", cpus);
}

static void limits(struct info *info)
{
    struct rlimit lock;
    char word[64] = "";
    FILE *f = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "r");
    if (f && fgets(word, sizeof word, f) && strchr(word, '['))
        info_add(info, "huge pages", "%.*s", (int)strcspn(strchr(word, '[') + 1, "]"),
                 strchr(word, '[') + 1);
    if (f)
        fclose(f);
    if (!getrlimit(RLIMIT_MEMLOCK, &lock))
        info_add(info, "memlock", "%.0f",
                 lock.rlim_cur == RLIM_INFINITY ? -1 : (double)lock.rlim_cur);
    info_add(info, "verbs", "%s", access("/sys/class/infiniband", F_OK) ? "no" : "yes");
}

static void sockets(struct info *info)
{
    struct wire_socket_room room;
    char words[256], column[256];
    if (wire_socket_room(&room) == 0) {
        info_add(info, "receive buffer", "%d", room.receive_bytes);
        info_add(info, "receive buffer wanted", "%d", room.wanted_bytes);
        info_add(info, "UDP_GRO", "%s", room.many ? "yes" : "no");
    }
    FILE *f = fopen("/proc/net/snmp", "r");
    while (f && fgets(column, sizeof column, f)) {
        double lost;
        if (strncmp(column, "Udp: ", 5) || !fgets(words, sizeof words, f))
            continue;
        if (sscanf(words, "Udp: %*s %*s %*s %*s %lf", &lost) == 1)
            info_add(info, "UDP without room", "%.0f", lost);
        break;
    }
    if (f)
        fclose(f);
}

void doctor_facts(struct info *info, int level)
{
    static const char *const levels[] = {
        [COMM_MAIN] = "main", [COMM_TURNS] = "turns", [COMM_MANY] = "many"};
    int which;
    info_build(info);
    info_gpu(info);
    info_machine(info);
    info_add(info, "MPI threads", "%s", levels[level]);
    info_add(info, "started", "%d", comm_library_started(&which));
    program(info);
    system_of(info);
    instructions(info);
    cpus(info);
    quota(info);
    limits(info);
    doctor_room(info);
    sockets(info);
}
