/* fpga_process.c : starts and ends narrowcast-sim. */
#include "offload/card/fpga_process.h"
#include "base/plugin.h"
#include "base/clock.h"
#include "base/err.h"
#include "offload/card/fpga_link.h"
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROGRAM "narrowcast-sim"
enum { MAX_WORDS = 16, END_S = 2 /* until a card is killed */ };

/* Exits with 127, like a shell, if there is no simulator. */
static void become_card(int fd, const char *path, const char *const *words, bool silent)
{
    char number[16];
    const char *argv[MAX_WORDS + 4] = {PROGRAM, "--fd", number};
    snprintf(number, sizeof number, "%d", fd);
    for (int i = 0; i < MAX_WORDS && words[i]; i++)
        argv[3 + i] = words[i];
    int null = silent ? open("/dev/null", O_WRONLY) : -1;
    if (null >= 0)
        dup2(null, STDOUT_FILENO);
    /* after these signals the run finishes its step, then closes the card */
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGUSR1, SIG_IGN);
    if (fcntl(fd, F_SETFD, 0) == 0)
        execvp(path, (char *const *)(uintptr_t)argv);
    _exit(errno == ENOENT ? 127 : 126);
}

static int reap(struct fpga_process *card, double wait_s)
{
    int status = 0;
    pid_t pid = 0;
    const double until = clock_s() + wait_s;
    while (card->pid > 0 && !(pid = waitpid(card->pid, &status, WNOHANG)) && clock_s() < until)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    if (card->pid > 0 && !pid) {
        kill(card->pid, SIGKILL);
        pid = waitpid(card->pid, &status, 0);
    }
    card->pid = 0;
    return pid > 0 ? status : -1;
}

static int ended(int status, char why[FPGA_WHY_BYTES])
{
    if (status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == 127) {
        snprintf(why, FPGA_WHY_BYTES,
                 "cannot find the simulated card " PROGRAM ": `make sim` builds it");
        return -ENOENT;
    }
    if (status >= 0 && WIFSIGNALED(status))
        snprintf(why, FPGA_WHY_BYTES, "the simulated card was killed by signal %d",
                 WTERMSIG(status));
    else
        snprintf(why, FPGA_WHY_BYTES, "the simulated card ended with status %d",
                 status < 0 ? -1 : WEXITSTATUS(status));
    return status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == 1 ? -ECHILD : -EIO;
}

int fpga_process_died(struct fpga_process *card, char why[FPGA_WHY_BYTES])
{
    return ended(reap(card, END_S), why);
}

int fpga_process_end(struct fpga_process *card, char why[FPGA_WHY_BYTES])
{
    fpga_link_close(&card->link);
    const int status = reap(card, INFINITY);
    return status ? ended(status, why) : 0;
}

int fpga_process_start(struct fpga_process *card, const char *const *words, bool silent,
                       double timeout_s, char why[FPGA_WHY_BYTES])
{
    char path[PATH_MAX];
    return fpga_process_run(card, beside(PROGRAM, path), words, silent, timeout_s, why);
}

int fpga_process_run(struct fpga_process *card, const char *path, const char *const *words,
                     bool silent, double timeout_s, char why[FPGA_WHY_BYTES])
{
    int ends[2], rc = 0;
    *card = (struct fpga_process){.owner = getpid()};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) {
        rc = -errno;
        snprintf(why, FPGA_WHY_BYTES, "cannot make a socket for the simulated card: %s",
                 strerror(errno));
        return rc;
    }
    fflush(NULL);
    card->pid = fork();
    if (card->pid == 0)
        become_card(ends[1], path, words, silent);
    rc = card->pid < 0 ? -errno : 0;
    close(ends[1]);
    if (rc)
        close(ends[0]);
    else
        rc = fpga_link_open(&card->link, ends[0], clock_s() + timeout_s);
    if (!rc)
        return 0;
    if (rc == -EPIPE)
        rc = fpga_process_died(card, why);
    else if (rc == -EPROTO)
        snprintf(why, FPGA_WHY_BYTES, PROGRAM " does not speak version %d: rebuild both",
                 SIMLINK_VERSION);
    else
        snprintf(why, FPGA_WHY_BYTES, "cannot start the simulated card: %s", strerror(-rc));
    fpga_process_close(card);
    return rc;
}

void fpga_process_close(struct fpga_process *card)
{
    if (card->owner == getpid()) {
        fpga_link_close(&card->link);
        if (card->pid > 0)
            (void)reap(card, END_S);
    }
    *card = (struct fpga_process){0};
}

/* The Verilated core starts slowly on a busy machine. */
enum { START_S = 10 };

static bool sim_name_fits(const char *name)
{
    return !name[0] || !strcmp(name, ":rtl") || !strcmp(name, ":c");
}

static int start(struct fpga *card, const char *const *words, bool silent, double timeout_s)
{
    struct fpga_process *sim = calloc(1, sizeof *sim);
    if (!sim)
        return fpga_failed(card, -ENOMEM, "no memory for card %s", card->name);
    int rc = fpga_process_start(sim, words, silent, timeout_s, card->why);
    if (rc) {
        free(sim);
        return rc == -ENOENT ? -ENXIO : rc;
    }
    card->own = sim;
    return 0;
}

static int sim_open(struct fpga *card, const char *name, double timeout_s)
{
    const char *engine = name[0] == ':' ? name + 1 : "rtl";
    const char *const words[] = {"--engine", engine, "--listen", "127.0.0.1:0", NULL};
    return start(card, words, true, timeout_s > START_S ? timeout_s : START_S);
}

static void sim_close(struct fpga *card)
{
    struct fpga_process *sim = card->own;
    fpga_process_close(sim);
    free(sim);
}

static int reason(struct fpga *card, int rc)
{
    return rc == -EPIPE ? fpga_process_died(card->own, card->why) : rc;
}

static int sim_batch(struct fpga *card, struct fpga_op *ops, size_t n, size_t *done,
                     double timeout_s)
{
    struct fpga_process *sim = card->own;
    return reason(card, fpga_link_batch(card, &sim->link, ops, n, done, timeout_s));
}

static int sim_address(struct fpga *card, uint32_t *ip, uint16_t *port, double timeout_s)
{
    struct fpga_process *sim = card->own;
    return reason(card, fpga_link_address(card, &sim->link, ip, port, timeout_s));
}

static int sim_time(struct fpga *card, struct fpga_time *out, double timeout_s)
{
    struct fpga_process *sim = card->own;
    return reason(card, fpga_link_time(card, &sim->link, out, timeout_s));
}

static bool sim_alive(struct fpga *card)
{
    const struct fpga_process *sim = card->own;
    return fpga_link_whole(card, &sim->link);
}

const struct fpga_ops fpga_ops_sim = {
    .prefix = "sim",
    .name_fits = sim_name_fits,
    .open = sim_open,
    .batch = sim_batch,
    .address = sim_address,
    .time = sim_time,
    .alive = sim_alive,
    .close = sim_close,
};

int fpga_sim_start(struct fpga *card, const char *engine, const char *wave)
{
    const char *const words[] = {"--engine", engine, wave ? "--wave" : NULL, wave, NULL};
    *card = (struct fpga){0};
    snprintf(card->name, sizeof card->name, "sim:%s", engine);
    TRY(start(card, words, false, INFINITY));
    card->ops = &fpga_ops_sim;
    return 0;
}

struct fpga_process *fpga_sim_process(const struct fpga *card)
{
    return card->own;
}
