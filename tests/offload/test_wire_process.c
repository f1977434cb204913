/* test_wire_process.c : runs windows over a card process that loses frames both ways, and fails to
 * start one. */
#include "base/err.h"
#include "check.h"
#include "codec/codec.h"
#include "hls/arith/philox.h"
#include "hls/card/regs.h"
#include "offload/card/fpga_process.h"
#include "offload/window/window.h"
#include "offload/wire/wire_process.h"
#include <libgen.h>
#include <limits.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOBODY = 65534, SEED = 9, RANKS = 3, N = 20000, STEPS = 6 };

static struct fpga card;
static struct wire_process *wires;
static struct wire_process_time spent;
static struct window *windows[RANKS];
static uint8_t codes[RANKS][N + 8], sums[RANKS][N], want[N];
static double acc[N], now = 1;

static void write_card(uint32_t at, uint32_t value)
{
    struct fpga_op op = {.at = at, .value = value};
    size_t done;
    CHECK(card.ops->batch(&card, &op, 1, &done, 10) == 0 && done == 1, "%x: %s", at, card.why);
}

static void open_all(const struct vec_sum *sum)
{
    struct window_config config = {.n_ranks = RANKS,
                                   .saturate = true,
                                   .out_shift = sum->out_shift,
                                   .beats = 22,
                                   .card_deadline_s = 2,
                                   .others_s = 10};
    struct fpga_rank ranks[RANKS];
    struct fpga_caps caps;
    struct fpga_job job = {0};
    err_hold();
    CHECK(card_fits(NULL, RANKS, "ranks", &config.fit) == -EINVAL, "no sum fits");
    err_release(false);
    CHECK(card_fits(sum, RANKS, "ranks", &config.fit) == 0, "fits");
    if (fpga_sim_start(&card, "c", NULL) ||
        wire_process_open(fpga_sim_process(&card), RANKS, 0, &wires)) {
        fprintf(stderr, "%s\n", card.why);
        exit(1);
    }
    for (int r = 0; r < RANKS; r++) {
        const struct wire wire = wire_process_of(wires, r);
        ranks[r] = (struct fpga_rank){wire.ip, wire.port};
    }
    CHECK(fpga_job_caps(&card, &config.fit, RANKS, &caps, 10) == 0 &&
              fpga_job_start(&card, &caps, &config.fit, ranks, RANKS, 16, 10, &job) == 0,
          "%s", card.why);
    for (int r = 0; r < RANKS; r++) {
        const struct window_card one = {wire_process_of(wires, r), {0}, job, "c"};
        config.rank = r;
        CHECK(window_open(&config, &one, 1, now, &windows[r]) == 0, "rank %d", r);
    }
    write_card(REG_CTRL, 1);
}

static unsigned run(void)
{
    for (;;) {
        unsigned busy = 0, lost = 0;
        for (unsigned r = 0; r < RANKS; r++) {
            bool moved;
            const enum window_state state = window_turn(windows[r], now, &moved);
            busy |= (unsigned)(state == WINDOW_BUSY) << r;
            lost |= (unsigned)(state != WINDOW_BUSY && state != WINDOW_DONE) << r;
        }
        if (!busy || lost)
            return lost;
        const int ran = wire_process_run(wires, &spent);
        CHECK(ran >= 0, "%d", ran);
        now += ran ? 0 : 5e-3;
    }
}

static void step(const struct vec_sum *sum, uint32_t tag)
{
    for (int r = 0; r < RANKS; r++) {
        for (size_t i = 0; i < N; i++)
            codes[r][i] = (uint8_t)philox_u32(SEED, ((uint64_t)tag * RANKS + (uint64_t)r) * N + i);
        vec_plain.accumulate(sum, acc, codes[r], N, r == 0);
        memset(sums[r], 0, N);
        window_start_sum(
            windows[r],
            &(struct card_path_sum){.n = N, .codes = codes[r], .result = sums[r], .tag = tag}, now);
    }
    vec_plain.finish(sum, acc, N, sum->out, sum->out_shift, want);
    CHECK(run() == 0, "step %u: %s", tag, window_why(windows[0]));
    for (int r = 0; r < RANKS; r++)
        CHECK(!memcmp(sums[r], want, N), "step %u: sums of rank %d", tag, r);
}

static bool find_card(void)
{
    char self[PATH_MAX] = "", path[2 * PATH_MAX];
    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0)
        return false;
    snprintf(path, sizeof path, "%s:%s", dirname(dirname(self)), getenv("PATH"));
    return setenv("PATH", path, 1) == 0;
}

/* A user at the limit of processes gets the reason, and no file descriptor is lost. */
static void cannot_fork(void)
{
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        const struct rlimit none = {0};
        const char *const words[] = {NULL};
        char why[FPGA_WHY_BYTES] = "";
        struct fpga_process process;
        const int before = dup(STDOUT_FILENO);
        close(before);
        if (setrlimit(RLIMIT_NPROC, &none) || (!getuid() && setuid(NOBODY)))
            _exit(77);
        CHECK(fpga_process_run(&process, "none", words, true, 1, why) == -EAGAIN &&
                  !strcmp(why, "cannot start the simulated card: Resource temporarily unavailable"),
              "%s", why);
        CHECK(dup(STDOUT_FILENO) == before, "a file descriptor is lost");
        _exit(check_bad != 0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child, "no child");
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    CHECK(code == 0 || code == 77, "status %x", status);
    if (code == 77)
        puts("not run: a limit of processes");
}

int main(void)
{
    const struct codec_spec spec = {.format = "e4m3", .out_format = "e4m3", .sum = "exact"};
    struct codec codec;
    printf("seed %d\n", SEED);
    CHECK(find_card() && codec_parse(&spec, &codec) == 0 &&
              codec_settle(&codec, RANKS,
                           &(struct codec_adder){.name = "test", .needs = REDUCE_WIDE}) == 0,
          "no codec");
    CHECK(vec_acc_bytes(codec_sum(&codec), N) <= sizeof acc, "acc");
    cannot_fork();
    open_all(codec_sum(&codec));
    for (uint32_t s = 0; s < STEPS; s++) {
        if (s == 1) {
            write_card(REG_DROP_SEED, SEED);
            write_card(REG_DROP_IN, 1u << 29);
            write_card(REG_DROP_OUT, 1u << 29);
        }
        step(codec_sum(&codec), s);
        const struct card_path_count count = window_counted(windows[0]);
        CHECK(s ? count.resent : !count.pings, "step %u: %llu pings, %llu packets again", s,
              (unsigned long long)count.pings, (unsigned long long)count.resent);
    }
    CHECK(spent.beats_in && spent.beats_out, "beats");

    write_card(REG_DROP_IN, UINT32_MAX);
    for (int r = 0; r < RANKS; r++)
        window_start_sum(
            windows[r],
            &(struct card_path_sum){.n = N, .codes = codes[r], .result = sums[r], .tag = STEPS},
            now);
    CHECK(run() && strstr(window_why(windows[0]), "card c has been silent for"), "%s",
          window_why(windows[0]));
    for (int r = 0; r < RANKS; r++)
        window_close(windows[r]);
    wire_process_close(wires);
    fpga_close(&card);
    DONE();
}
