/* doctor_checks.c : checks programs, machines, cores and memory. */
#include "app/doctor/doctor.h"
#include <stdlib.h>
#include <string.h>

static const char *host(const struct doctor *d, int rank)
{
    return doctor_fact(d, rank, "host");
}

static void launcher(const struct doctor *d, struct doctor_finding *f)
{
    const double started = doctor_number(d, 0, "started");
    int nodes = 0;
    for (int r = 0; r < d->n_ranks; r++)
        nodes += d->nodes[r] == r;
    if (started > d->n_ranks) {
        doctor_say(f, DOCTOR_FAIL,
                   "%.0f processes were started, but MPI sees only %d of them: the launcher "
                   "belongs to another MPI",
                   started, d->n_ranks);
        doctor_mend(f, "use the mpirun that belongs to %.60s; with Slurm: srun --mpi=pmix",
                    doctor_fact(d, 0, "MPI"));
    } else if (d->n_ranks == 1) {
        doctor_say(f, DOCTOR_OK,
                   "1 process; mpirun -np N ... narrowcast doctor compares N processes");
    } else {
        doctor_say(f, DOCTOR_OK, "%d ranks on %d machine%s", d->n_ranks, nodes,
                   nodes > 1 ? "s" : "");
    }
}

static void program(const struct doctor *d, struct doctor_finding *f)
{
    const int version = doctor_other(d, "narrowcast"), build = doctor_other(d, "program");
    if (version > 0) {
        doctor_say(f, DOCTOR_FAIL, "rank %d on %s has version %s, rank 0 on %s has %s", version,
                   host(d, version), doctor_fact(d, version, "narrowcast"), host(d, 0),
                   doctor_fact(d, 0, "narrowcast"));
        doctor_mend(f, "make install PREFIX=... from one tree on both, or share one PREFIX");
    } else if (build > 0) {
        doctor_say(f, DOCTOR_WARN,
                   "rank %d on %s runs another build (%s) than rank 0 on %s (%s) of version %s",
                   build, host(d, build), doctor_fact(d, build, "program"), host(d, 0),
                   doctor_fact(d, 0, "program"), doctor_fact(d, 0, "narrowcast"));
        doctor_mend(f, "copy one build to both, unless their systems differ");
    } else {
        doctor_say(f, DOCTOR_OK, "version %s, build %s%s", doctor_fact(d, 0, "narrowcast"),
                   doctor_fact(d, 0, "program"), d->n_ranks > 1 ? ", on all ranks" : "");
    }
}

static void kernel(const struct doctor *d, struct doctor_finding *f)
{
    const int other = doctor_other(d, "kernel"), machine = doctor_other(d, "architecture");
    for (int r = 0; r < d->n_ranks; r++)
        if (!strcmp(doctor_fact(d, r, "UDP_GRO"), "no")) {
            doctor_say(
                f, DOCTOR_WARN,
                "Linux %s on %s has no UDP_GRO: each call receives only one packet of a card",
                doctor_fact(d, r, "kernel"), host(d, r));
            doctor_mend(f, "install Linux 5.0 or later");
        }
    if (machine > 0)
        doctor_say(f, DOCTOR_OK, "%s on %s, %s on %s: codes and sums have the same bits",
                   doctor_fact(d, 0, "architecture"), host(d, 0),
                   doctor_fact(d, machine, "architecture"), host(d, machine));
    else if (other > 0)
        doctor_say(f, DOCTOR_OK, "Linux %s on %s, %s on %s: the difference has no effect",
                   doctor_fact(d, 0, "kernel"), host(d, 0), doctor_fact(d, other, "kernel"),
                   host(d, other));
    else
        doctor_say(f, DOCTOR_OK, "Linux %s", doctor_fact(d, 0, "kernel"));
}

static void instructions(const struct doctor *d, struct doctor_finding *f)
{
    const int other = doctor_other(d, "vec backend");
    for (int r = 0; r < d->n_ranks; r++) {
        const char *used = doctor_fact(d, r, "vec backend"), *here = doctor_fact(d, r, "ISA here");
        if (strcmp(used, here) != 0) {
            doctor_say(f, DOCTOR_WARN,
                       "rank %d on %s casts with %s although its CPU has %s, because "
                       "NARROWCAST_ISA=%s is set",
                       r, host(d, r), used, here, doctor_fact(d, r, "NARROWCAST_ISA"));
            doctor_mend(f, "unset NARROWCAST_ISA");
        } else if (!strcmp(here, "scalar") &&
                   !strncmp(doctor_fact(d, r, "architecture"), "x86", 3)) {
            doctor_say(f, DOCTOR_WARN,
                       "rank %d on %s casts with plain C, because its CPU reports no AVX2", r,
                       host(d, r));
            doctor_mend(f, "in a virtual machine: pass the host's CPU through (qemu -cpu host)");
        }
    }
    if (other > 0) {
        doctor_say(f, DOCTOR_WARN,
                   "rank %d on %s has %s, rank 0 on %s has %s: codes and sums have the same bits, "
                   "but fp32 products of CBLAS may differ, and with them the result of a training",
                   other, host(d, other), doctor_fact(d, other, "vec backend"), host(d, 0),
                   doctor_fact(d, 0, "vec backend"));
        doctor_mend(
            f,
            "mpirun -x OPENBLAS_CORETYPE=Haswell ..., if whole trainings must have the same bits");
    }
    doctor_say(f, DOCTOR_OK, "%s, %s", doctor_fact(d, 0, "vec backend"), doctor_fact(d, 0, "CPU"));
}

/* Returns a rank with AVX-512 whose OpenBLAS uses older kernels, or -1. */
static int slow_products(const struct doctor *d)
{
    static const char *const wide[] = {"SkylakeX", "Cooperlake", "SapphireRapids"};
    for (int r = 0; r < d->n_ranks; r++) {
        const char *config = doctor_fact(d, r, "CBLAS");
        bool fine = strncmp(config, "OpenBLAS", 8) != 0 ||
                    strncmp(doctor_fact(d, r, "ISA here"), "avx512", 6) != 0;
        for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
            fine = fine || strstr(config, wide[i]);
        if (!fine)
            return r;
    }
    return -1;
}

static void cblas(const struct doctor *d, struct doctor_finding *f)
{
    const int slow = slow_products(d);
    if (slow >= 0) {
        doctor_say(f, DOCTOR_WARN,
                   "rank %d on %s has AVX-512, but '%.120s' uses older kernels: convolutions are "
                   "half as fast",
                   slow, host(d, slow), doctor_fact(d, slow, "CBLAS"));
        doctor_mend(f, "mpirun -x OPENBLAS_CORETYPE=SkylakeX ... (changes the bits of trainings)");
    }
    const int other = doctor_other(d, "CBLAS");
    if (other > 0) {
        doctor_say(
            f, DOCTOR_WARN,
            "rank %d on %s has '%.120s', rank 0 '%.120s': products may be rounded differently",
            other, host(d, other), doctor_fact(d, other, "CBLAS"), doctor_fact(d, 0, "CBLAS"));
        doctor_mend(f, "apt-get install libopenblas0-pthread of one version, or mpirun -x "
                       "OPENBLAS_CORETYPE=Haswell ...");
    } else {
        doctor_say(f, DOCTOR_OK, "by %s", doctor_fact(d, 0, "CBLAS"));
    }
}

static void mpi(const struct doctor *d, struct doctor_finding *f)
{
    const int other = doctor_other(d, "MPI");
    if (other > 0) {
        doctor_say(f, DOCTOR_FAIL, "rank %d on %s has %.120s, rank 0 on %s has %.120s", other,
                   host(d, other), doctor_fact(d, other, "MPI"), host(d, 0),
                   doctor_fact(d, 0, "MPI"));
        doctor_mend(f, "put the same MPI first in PATH and LD_LIBRARY_PATH on all machines");
    }
    for (int r = 0; r < d->n_ranks; r++)
        if (!strcmp(doctor_fact(d, r, "MPI threads"), "main")) {
            doctor_say(f, DOCTOR_WARN,
                       "%.120s lets only the main thread call it: no --overlap on, and only one "
                       "communicator of narrowcast.h at a time",
                       doctor_fact(d, r, "MPI"));
            doctor_mend(f, "use an MPI with MPI_THREAD_MULTIPLE (Open MPI: the default; MPICH: "
                           "--enable-threads=multiple)");
        }
    doctor_say(f, DOCTOR_OK, "%.160s, threads: %s", doctor_fact(d, 0, "MPI"),
               !strcmp(doctor_fact(d, 0, "MPI threads"), "many") ? "any"
                                                                 : "any thread, one at a time");
}

/* list: such as "0-3,8" */
enum { CPU_MAX = 1024 };
static void add_cpus(const char *list, bool set[CPU_MAX])
{
    while (*list) {
        char *end;
        long first = strtol(list, &end, 10), last = *end == '-' ? strtol(end + 1, &end, 10) : first;
        for (long i = first < 0 ? 0 : first; i <= last && i < CPU_MAX; i++)
            set[i] = true;
        list = *end == ',' ? end + 1 : "";
    }
}

static void cores(const struct doctor *d, struct doctor_finding *f)
{
    for (int r = 0; r < d->n_ranks; r++) {
        bool set[CPU_MAX] = {false};
        int ranks = 0, cpus = 0;
        if (d->nodes[r] != r)
            continue;
        for (int k = r; k < d->n_ranks; k++)
            if (d->nodes[k] == r)
                add_cpus(doctor_fact(d, k, "CPUs"), set), ranks++;
        for (int i = 0; i < CPU_MAX; i++)
            cpus += set[i];
        const double quota = doctor_number(d, r, "CPU quota");
        if (cpus > 0 && cpus < ranks && doctor_number(d, r, "cores") >= ranks) {
            doctor_say(f, DOCTOR_WARN, "%d ranks of %s are bound to %d of %.0f cores (%s)", ranks,
                       host(d, r), cpus, doctor_number(d, r, "cores"), doctor_fact(d, r, "CPUs"));
            doctor_mend(f, "mpirun --bind-to core --map-by core ...");
        } else if (cpus > 0 && cpus < ranks) {
            doctor_say(f, DOCTOR_WARN, "%d ranks share %d core%s of %s", ranks, cpus,
                       cpus > 1 ? "s" : "", host(d, r));
            doctor_mend(f, "mpirun -np %d ..., or more machines: -H HOST:%d,...", cpus, cpus);
        } else if (quota < ranks) {
            doctor_say(f, DOCTOR_WARN, "%d ranks of %s may use %.2f cores (cgroup)", ranks,
                       host(d, r), quota);
            doctor_mend(f, "docker run --cpus=%d, or --cpus-per-task of Slurm", ranks);
        }
    }
    doctor_say(f, DOCTOR_OK, "%s CPUs of %s for rank 0 (%s)%s", doctor_fact(d, 0, "n CPUs"),
               host(d, 0), doctor_fact(d, 0, "CPUs"),
               d->n_ranks > 1 ? ", at least one for each rank" : "");
}

static void huge_pages(const struct doctor *d, struct doctor_finding *f)
{
    for (int r = 0; r < d->n_ranks; r++) {
        const char *word = doctor_fact(d, r, "huge pages");
        if (*word && strcmp(word, "always") != 0) {
            doctor_say(f, DOCTOR_WARN,
                       "transparent huge pages are '%s' on %s: sums and casts of large buffers are "
                       "a tenth slower with small pages",
                       word, host(d, r));
            doctor_mend(f, "echo always >/sys/kernel/mm/transparent_hugepage/enabled");
        }
    }
    doctor_say(f, DOCTOR_OK,
               *doctor_fact(d, 0, "huge pages") ? "transparent huge pages are always on"
                                                : "this kernel does not report them");
}

static void memlock(const struct doctor *d, struct doctor_finding *f)
{
    for (int r = 0; r < d->n_ranks; r++) {
        const double bytes = doctor_number(d, r, "memlock");
        if (bytes >= 0 && bytes < 64 << 20 && !strcmp(doctor_fact(d, r, "verbs"), "yes")) {
            doctor_say(f, DOCTOR_WARN,
                       "%s limits locked memory to %.0f kB, but has an RDMA adapter, whose buffers "
                       "are locked",
                       host(d, r), bytes / 1024);
            doctor_mend(f, "ulimit -l unlimited; permanently: '* - memlock unlimited' in "
                           "/etc/security/limits.conf, LimitMEMLOCK=infinity for slurmd");
        }
    }
    if (doctor_number(d, 0, "memlock") < 0)
        doctor_say(f, DOCTOR_OK, "unlimited");
    else
        doctor_say(f, DOCTOR_OK, "%.0f kB; no RDMA adapter needs more",
                   doctor_number(d, 0, "memlock") / 1024);
}

static bool has_gpu(const struct doctor *d, int rank)
{
    const char *word = doctor_fact(d, rank, "CUDA");
    return *word && strncmp(word, "no", 2) != 0;
}

static bool sees_nvidia(const struct doctor *d, int rank)
{
    const struct info *info = &d->ranks[rank];
    for (int i = 0; i < info->n; i++)
        if (!strncmp(info->facts[i].key, "card ", 5) && !strncmp(info->facts[i].value, "NVIDIA", 6))
            return true;
    return false;
}

/* Warns of the first machine with more ranks than GPUs, if its ranks take turns. */
static void gpu_shares(const struct doctor *d, struct doctor_finding *f)
{
    for (int r = 0; r < d->n_ranks; r++) {
        const char *of = strstr(doctor_fact(d, r, "GPU"), " of ");
        const int n = of ? atoi(of + 4) : 0;
        int here = 0;
        for (int other = 0; other < d->n_ranks; other++)
            here += d->nodes[r] == d->nodes[other];
        if (n == 0 || here <= n || strncmp(doctor_fact(d, r, "MPS"), "off", 3) != 0)
            continue;
        doctor_say(f, DOCTOR_WARN, "%d ranks on %s share %d GPU%s and take turns without MPS", here,
                   host(d, r), n, n > 1 ? "s" : "");
        doctor_mend(f, "one rank per GPU, or NARROWCAST_MPS=1 host/ranks.sh; on a cluster, start "
                       "nvidia-cuda-mps-control -d on each machine");
        return;
    }
}

static void gpus(const struct doctor *d, struct doctor_finding *f)
{
    int with = 0, without = -1;
    for (int r = 0; r < d->n_ranks; r++) {
        with += has_gpu(d, r);
        without = has_gpu(d, r) ? without : r;
        if (!has_gpu(d, r) && sees_nvidia(d, r)) {
            doctor_say(f, DOCTOR_WARN, "%s has an NVIDIA GPU that is not used: %s", host(d, r),
                       doctor_fact(d, r, "CUDA"));
            doctor_mend(f, "check the driver with nvidia-smi; make NVCC=/usr/local/cuda/bin/nvcc "
                           "builds the library");
        }
    }
    if (with > 0 && without >= 0) {
        doctor_say(f, DOCTOR_WARN, "%d of %d ranks have a GPU, but rank %d on %s has none: %s",
                   with, d->n_ranks, without, host(d, without), doctor_fact(d, without, "CUDA"));
        doctor_mend(f, "use --device cpu on all ranks, or only machines with GPUs: mpirun -H ...");
    }
    gpu_shares(d, f);
    if (with > 0)
        doctor_say(f, DOCTOR_OK, "%s; cuDNN %s", doctor_fact(d, 0, "GPU"),
                   doctor_fact(d, 0, "cuDNN"));
    else
        doctor_say(f, DOCTOR_OK, "none%s",
                   doctor_fact(d, 0, "CUDA") + strcspn(doctor_fact(d, 0, "CUDA"), ":"));
}

const struct doctor_check doctor_checks[] = {
    {"launcher", launcher},
    {"program", program},
    {"kernel", kernel},
    {"instructions", instructions},
    {"CBLAS", cblas},
    {"MPI", mpi},
    {"cores", cores},
    {"huge pages", huge_pages},
    {"memlock", memlock},
    {"shared memory", doctor_shm},
    {"TMPDIR", doctor_tmpdir},
    {"GPUs", gpus},
    {"sockets", doctor_sockets},
    {"MTU", doctor_mtu},
    {"clocks", doctor_clocks},
    {NULL, NULL},
};
