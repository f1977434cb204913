/* test_doctor.c : runs each check of `narrowcast doctor` on made-up clusters: sound, with one
 * wrong fact, or damaged. */
#include "app/doctor/doctor.h"
#include "check.h"
#include <string.h>

enum { RANKS = 4 };

static const char *const good[][2] = {
    {"narrowcast", "0.1.0"},
    {"program", "0123abcd"},
    {"started", "4"},
    {"kernel", "6.1.0"},
    {"architecture", "x86_64"},
    {"UDP_GRO", "yes"},
    {"vec backend", "avx512"},
    {"ISA here", "avx512"},
    {"CPU", "AMD EPYC"},
    {"CBLAS", "OpenBLAS 0.3.21 SkylakeX"},
    {"MPI", "Open MPI v4.1.4"},
    {"MPI threads", "many"},
    {"cores", "8 online, 4 for this process"},
    {"CPUs", "0-2,7"},
    {"n CPUs", "4"},
    {"huge pages", "always"},
    {"memlock", "8388608"},
    {"verbs", "no"},
    {"/dev/shm", "67108864"},
    {"TMPDIR", "/var/tmp"},
    {"TMPDIR room", "1e10"},
    {"CUDA", "no: no libnarrowcast_cuda.so"},
    {"receive buffer", "4194304"},
    {"receive buffer wanted", "4194304"},
    {"UDP without room", "0"},
    {"NIC eth0", "10000 Mb/s, MTU 1500, up"},
    {"NIC eth1", "speed unknown, MTU 576, down"},
    {"NIC lo", "speed unknown, MTU 65536, unknown"},
};

static struct info ranks[RANKS];
static int32_t nodes[RANKS];
static double ahead_s[RANKS], sure_s[RANKS];
static struct doctor cluster = {RANKS, ranks, nodes, ahead_s, sure_s};

static void make_good(void)
{
    cluster.n_ranks = RANKS;
    for (int r = 0; r < RANKS; r++) {
        ranks[r] = (struct info){0};
        nodes[r] = r / 2 * 2;
        ahead_s[r] = r ? 0.25 : 0;
        sure_s[r] = r ? 1e-3 : 0;
        info_add(&ranks[r], "host", "%s", r < 2 ? "a" : "b");
        for (size_t i = 0; i < sizeof good / sizeof *good; i++)
            info_add(&ranks[r], good[i][0], "%s", good[i][1]);
    }
}

static void set(int rank, const char *key, const char *value)
{
    for (int i = 0; i < ranks[rank].n; i++)
        if (!strcmp(ranks[rank].facts[i].key, key)) {
            snprintf(ranks[rank].facts[i].value, INFO_VALUE, "%s", value);
            return;
        }
    info_add(&ranks[rank], key, "%s", value);
}

static void expect(const char *check, enum doctor_grade grade, const char *what, const char *mend)
{
    bool met = false;
    for (const struct doctor_check *c = doctor_checks; c->name; c++) {
        struct doctor_finding f = {0};
        c->look(&cluster, &f);
        const bool this_one = !strcmp(c->name, check);
        met |= this_one;
        CHECK(f.what[0] && !strchr(f.what, '\n'), "%s says nothing", c->name);
        CHECK((f.grade == DOCTOR_OK) == !f.mend[0], "%s: '%s' is mended by '%s'", c->name, f.what,
              f.mend);
        CHECK(f.grade == (this_one ? grade : DOCTOR_OK), "%s (for %s): grade %d: %s", c->name,
              check, (int)f.grade, f.what);
        CHECK(!this_one || (strstr(f.what, what) && strstr(f.mend, mend)),
              "%s: '%s', mended by '%s', not '%s', '%s'", c->name, f.what, f.mend, what, mend);
    }
    CHECK(met, "no check '%s'", check);
}

static const struct {
    const char *check;
    int rank;
    const char *key, *value;
    enum doctor_grade grade;
    const char *what, *mend;
} cases[] = {
    {"launcher", 0, NULL, NULL, DOCTOR_OK, "4 ranks on 2 machines", ""},
    {"launcher", 0, "started", "8", DOCTOR_FAIL, "8 processes were started, but MPI sees only 4",
     "mpirun that belongs to Open MPI v4.1.4"},
    {"program", 2, "narrowcast", "0.2.0", DOCTOR_FAIL,
     "rank 2 on b has version 0.2.0, rank 0 on a has 0.1.0", "make install"},
    {"program", 3, "program", "ffffffff", DOCTOR_WARN, "rank 3 on b runs another build (ffffffff)",
     "copy one build"},
    {"kernel", 2, "kernel", "5.4.0", DOCTOR_OK, "5.4.0 on b: the difference has no effect", ""},
    {"kernel", 2, "architecture", "aarch64", DOCTOR_OK,
     "aarch64 on b: codes and sums have the same bits", ""},
    {"kernel", 2, "UDP_GRO", "no", DOCTOR_WARN, "on b has no UDP_GRO", "5.0"},
    {"instructions", 1, "vec backend", "avx2", DOCTOR_WARN,
     "rank 1 on a casts with avx2 although its CPU has avx512", "unset NARROWCAST_ISA"},
    {"CBLAS", 3, "CBLAS", "OpenBLAS 0.3.21 Haswell", DOCTOR_WARN,
     "rank 3 on b has AVX-512, but 'OpenBLAS 0.3.21 Haswell' uses older kernels", "SkylakeX"},
    {"CBLAS", 0, "CBLAS", "ATLAS", DOCTOR_WARN, "rank 1 on a has", "OPENBLAS_CORETYPE"},
    {"CBLAS", 1, "CBLAS", "OpenBLAS 0.3.22 SkylakeX", DOCTOR_WARN, "rank 1 on a has",
     "OPENBLAS_CORETYPE"},
    {"MPI", 2, "MPI", "MPICH 4", DOCTOR_FAIL, "rank 2 on b has MPICH 4, rank 0 on a has Open MPI",
     "put the same MPI first"},
    {"MPI", 3, "MPI threads", "main", DOCTOR_WARN, "lets only the main thread call it",
     "MPI_THREAD_MULTIPLE"},
    {"MPI", 0, "MPI threads", "turns", DOCTOR_OK, "any thread, one at a time", ""},
    {"cores", 2, "CPU quota", "1.50", DOCTOR_WARN, "2 ranks of b may use 1.50 cores", "--cpus"},
    {"cores", 2, "CPU quota", "2", DOCTOR_OK, "4 CPUs of a for rank 0 (0-2,7), at least one", ""},
    {"huge pages", 1, "huge pages", "never", DOCTOR_WARN, "'never' on a", "echo always"},
    {"memlock", 1, "memlock", "65536", DOCTOR_OK, "8192 kB", ""},
    {"memlock", 1, "verbs", "yes", DOCTOR_WARN, "limits locked memory to 8192 kB", "ulimit -l"},
    {"shared memory", 0, NULL, NULL, DOCTOR_OK, "64 MiB of /dev/shm are free", ""},
    {"shared memory", 2, "/dev/shm", "8388607", DOCTOR_WARN,
     "/dev/shm of b has 8.0 MiB free, but 2 ranks need 8 MiB", "size=1g"},
    {"shared memory", 3, "/dev/shm", "8388608", DOCTOR_OK, "64 MiB", ""},
    {"shared memory", 1, "/dev/shm", "none", DOCTOR_WARN, "/dev/shm of a is not writable",
     "remount"},
    {"TMPDIR", 0, NULL, NULL, DOCTOR_OK, "9537 MiB are free in '/var/tmp'", ""},
    {"TMPDIR", 3, "TMPDIR room", "none", DOCTOR_FAIL, "'/var/tmp' on b is not a writable folder",
     "export TMPDIR"},
    {"TMPDIR", 1, "TMPDIR room", "1048576", DOCTOR_WARN, "'/var/tmp' on a has 1.0 MiB free",
     "export TMPDIR"},
    {"GPUs", 3, "card 0000:01:00.0", "NVIDIA, device 1", DOCTOR_WARN,
     "b has an NVIDIA GPU that is not used: no: no lib", "nvidia-smi"},
    {"GPUs", 3, "CUDA", "/lib/libnarrowcast_cuda.so", DOCTOR_WARN,
     "1 of 4 ranks have a GPU, but rank 2 on b has none", "--device cpu"},
    {"GPUs", 0, NULL, NULL, DOCTOR_OK, "none: no libnarrowcast_cuda.so", ""},
    {"sockets", 2, "receive buffer", "106496", DOCTOR_WARN, "gets a buffer of 104 kB on b",
     "sysctl -w net.core.rmem_max=4194304"},
    {"sockets", 2, "receive buffer", "212992", DOCTOR_OK, "4096 kB", ""},
    {"sockets", 2, "UDP without room", "7", DOCTOR_OK, "4096 kB", ""},
    {"MTU", 2, "NIC eth0", "1 Mb/s, MTU 1280, up", DOCTOR_WARN,
     "the MTU of eth0 of b is 1280 bytes: a card's packets have 1500 on most networks, and here "
     "1244",
     "ip link set dev eth0 mtu 1500"},
    {"MTU", 3, "NIC eth0", "1 Mb/s, MTU 9000, up", DOCTOR_WARN,
     "the MTU of eth0 of b is 9000 bytes, that of eth0 of a 1500",
     "ip link set dev eth0 mtu 9000 on a, if"},
    {"MTU", 3, "NIC eth0", "1 Mb/s, MTU 1280, down", DOCTOR_OK, "the MTU of eth0 is 1500", ""},
};

static void test_cases(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        make_good();
        if (cases[i].key)
            set(cases[i].rank, cases[i].key, cases[i].value);
        expect(cases[i].check, cases[i].grade, cases[i].what, cases[i].mend);
    }
}

static void test_combinations(void)
{
    make_good();
    for (int r = 2; r < RANKS; r++)
        set(r, "vec backend", "avx2"), set(r, "ISA here", "avx2");
    expect("instructions", DOCTOR_WARN, "rank 2 on b has avx2, rank 0 on a has avx512: codes and",
           "OPENBLAS_CORETYPE");
    make_good();
    for (int r = 0; r < RANKS; r++)
        set(r, "vec backend", "scalar"), set(r, "ISA here", "scalar");
    expect("instructions", DOCTOR_WARN, "its CPU reports no AVX2", "-cpu host");
    for (int r = 0; r < RANKS; r++)
        set(r, "architecture", "aarch64");
    expect("instructions", DOCTOR_OK, "scalar, AMD EPYC", "");

    make_good();
    for (int r = 2; r < RANKS; r++)
        set(r, "CPUs", "3");
    expect("cores", DOCTOR_WARN, "2 ranks of b are bound to 1 of 8 cores (3)",
           "mpirun --bind-to core --map-by core");
    for (int r = 2; r < RANKS; r++)
        set(r, "cores", "1 online, 1 for this process");
    expect("cores", DOCTOR_WARN, "2 ranks share 1 core of b", "mpirun -np 1 ..., or more machines");
    set(2, "CPUs", "2");
    expect("cores", DOCTOR_OK, "4 CPUs of a", "");

    make_good();
    set(3, "receive buffer", "212992"), set(3, "UDP without room", "7");
    expect("sockets", DOCTOR_WARN, "7 datagrams were dropped by full sockets of b",
           "sysctl -w net.core.rmem_max=4194304");
    make_good();
    for (int r = 0; r < RANKS; r++)
        set(r, "NIC eth0", "1 Mb/s, MTU 1500, down");
    expect("MTU", DOCTOR_OK, "only the loopback interface", "");

    make_good();
    ahead_s[3] = -2.5;
    expect("clocks", DOCTOR_WARN, "the clock of rank 3 on b is 2.5 s behind that of rank 0",
           "chronyc");
    sure_s[3] = 1.75; /* the offset may be zero */
    expect("clocks", DOCTOR_OK, "within", "");
    make_good();
    ahead_s[2] = 86400;
    expect("clocks", DOCTOR_WARN, "86400.0 s ahead of", "timedatectl");

    make_good(); /* Open MPI 5 has larger segments */
    for (int r = 0; r < RANKS; r++)
        set(r, "MPI", "Open MPI v5.0.7"), set(r, "/dev/shm", "33554431");
    expect("shared memory", DOCTOR_WARN, "/dev/shm of a has 32.0 MiB free, but 2 ranks need 32 MiB",
           "size");

    make_good();
    for (int r = 0; r < RANKS; r++)
        set(r, "CUDA", "/lib/x.so"), set(r, "GPU", "NVIDIA H100"), set(r, "cuDNN", "9.1");
    expect("GPUs", DOCTOR_OK, "NVIDIA H100; cuDNN 9.1", "");
    for (int r = 0; r < RANKS; r++)
        set(r, "GPU", r < 2 ? "NVIDIA H100, number 0 of 2" : "NVIDIA H100, number 0 of 1"),
            set(r, "MPS", "off: they take turns");
    expect("GPUs", DOCTOR_WARN, "2 ranks on b share 1 GPU and take turns", "NARROWCAST_MPS=1");
    for (int r = 2; r < RANKS; r++)
        set(r, "MPS", "on");
    expect("GPUs", DOCTOR_OK, "NVIDIA H100, number 0 of 2; cuDNN 9.1", "");

    make_good();
    cluster.n_ranks = 1;
    set(0, "started", "1");
    expect("launcher", DOCTOR_OK, "1 process", "");
    expect("clocks", DOCTOR_OK, "only one rank: nothing to compare", "");
    ranks[0].n = 0;
    for (const struct doctor_check *c = doctor_checks; c->name; c++) {
        struct doctor_finding f = {0};
        c->look(&cluster, &f);
        CHECK(f.what[0] && f.grade != DOCTOR_FAIL, "%s of nothing: %s", c->name, f.what);
    }
}

static void test_lines(void)
{
    static char lines[DOCTOR_BYTES];
    static struct info back;
    make_good();
    set(0, "NIC lo", "a=b\nc");
    doctor_lines(&ranks[0], lines);
    doctor_unlines(lines, &back);
    CHECK(back.n == ranks[0].n, "%d of %d facts", back.n, ranks[0].n);
    for (int i = 0; i < back.n; i++)
        CHECK(!strcmp(back.facts[i].key, ranks[0].facts[i].key) &&
                  (!strcmp(back.facts[i].value, ranks[0].facts[i].value) ||
                   !strcmp(back.facts[i].value, "a=b")),
              "%s is %s", back.facts[i].key, back.facts[i].value);
    for (size_t n = 0; n < DOCTOR_BYTES; n += n < 300 ? 1 : 997) {
        memset(lines, n % 3 ? 'x' : '=', sizeof lines);
        lines[n] = '\n';
        doctor_unlines(lines, &back);
        CHECK(back.n <= 1, "%d facts", back.n);
    }
    struct info many = {0};
    for (int i = 0; i < INFO_MAX; i++)
        info_add(&many, "key", "%0200d", i);
    doctor_lines(&many, lines);
    CHECK(strnlen(lines, sizeof lines) < sizeof lines, "no end");
    doctor_unlines(lines, &back);
    CHECK(back.n > 60 && back.n < INFO_MAX, "%d facts", back.n);
}

int main(void)
{
    test_cases();
    test_combinations();
    test_lines();
    DONE();
}
