/* fpga_process.c : a simulated card of one's own: starts narrowcast-sim, and speaks to it:
 * registers, frames, clocks. */
#include "offload/fpga_process.h"
#include "base/beside.h"
#include "base/clock.h"
#include "base/err.h"
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROGRAM "narrowcast-sim"
enum { MOST_CLOCKS = 1u << 30, MOST_WORDS = 16 }; /* MOST_CLOCKS: of one run: the card is stuck */

/* ---- its process ---- */

/* In the child. Does not return: 127 says that there is no such program, as a shell would. */
static void become_card(int fd, const char *path, const char *const *words, bool silent)
{
    char number[16];
    const char *argv[MOST_WORDS + 4] = {PROGRAM, "--fd", number};
    snprintf(number, sizeof number, "%d", fd);
    for (int i = 0; i < MOST_WORDS && words[i]; i++)
        argv[3 + i] = words[i];
    int null = silent ? open("/dev/null", O_WRONLY) : -1;
    if (null >= 0)
        dup2(null, STDOUT_FILENO);
    /* a step that is under way is finished: the card ends when its run does */
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGUSR1, SIG_IGN);
    if (fcntl(fd, F_SETFD, 0) == 0)
        execvp(path, (char *const *)(uintptr_t)argv);
    _exit(errno == ENOENT ? 127 : 126);
}

/* Its status after it has ended, which it does when its connection has; ended here if it takes
 * longer than 2 s. */
static int reap(struct fpga_process *card)
{
    int status = 0;
    pid_t pid = 0;
    const double until = clock_s() + 2;
    while (card->pid > 0 && !(pid = waitpid(card->pid, &status, WNOHANG)) && clock_s() < until)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    if (card->pid > 0 && !pid) {
        kill(card->pid, SIGKILL);
        pid = waitpid(card->pid, &status, 0);
    }
    card->pid = 0;
    return pid > 0 ? status : -1;
}

int fpga_process_died(struct fpga_process *card, char why[FPGA_WHY_BYTES])
{
    const int status = reap(card);
    if (status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == 127) {
        snprintf(why, FPGA_WHY_BYTES,
                 "cannot find the simulated card " PROGRAM ": `make sim` builds it");
        return -ENOENT;
    }
    if (status >= 0 && WIFSIGNALED(status))
        snprintf(why, FPGA_WHY_BYTES, "the simulated card was ended by signal %d",
                 WTERMSIG(status));
    else
        snprintf(why, FPGA_WHY_BYTES, "the simulated card ended with status %d",
                 status < 0 ? -1 : WEXITSTATUS(status));
    return status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == 1 ? -ECHILD : -EIO;
}

int fpga_process_start(struct fpga_process *card, const char *const *words, bool silent,
                       double timeout_s, char why[FPGA_WHY_BYTES])
{
    char path[PATH_MAX];
    const char *program = beside(PROGRAM, path);
    int ends[2], rc = 0;
    *card = (struct fpga_process){0};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) {
        rc = -errno;
        snprintf(why, FPGA_WHY_BYTES, "cannot make a socket for the simulated card: %s",
                 strerror(errno));
        return rc;
    }
    fflush(NULL);
    card->pid = fork();
    if (card->pid == 0)
        become_card(ends[1], program, words, silent);
    close(ends[1]);
    rc = fpga_link_open(&card->link, ends[0], clock_s() + timeout_s);
    if (!rc)
        return 0;
    if (rc == -EPIPE)
        rc = fpga_process_died(card, why);
    else if (rc == -EPROTO)
        snprintf(why, FPGA_WHY_BYTES, PROGRAM " does not speak version %d: build both anew",
                 SIMLINK_VERSION);
    else
        snprintf(why, FPGA_WHY_BYTES, "cannot start the simulated card: %s", strerror(-rc));
    fpga_process_close(card);
    return rc;
}

void fpga_process_close(struct fpga_process *card)
{
    fpga_link_close(&card->link);
    if (card->pid > 0)
        (void)reap(card);
    *card = (struct fpga_process){0};
}

/* ---- given its frames by this program ---- */

int fpga_process_open(struct fpga_process *card, const char *model, const char *wave)
{
    const char *const words[] = {"--model", model, wave ? "--wave" : NULL, wave, NULL};
    char why[FPGA_WHY_BYTES];
    int rc = fpga_process_start(card, words, false, INFINITY, why);
    return rc == 0 || rc == -ECHILD ? rc : ERR(rc, "%s", why);
}

static int failed(struct fpga_process *card, int rc)
{
    char why[FPGA_WHY_BYTES];
    if (rc != -EPIPE)
        return ERR(rc, "cannot talk to the simulated card: %s", strerror(-rc));
    rc = fpga_process_died(card, why);
    return rc == -ECHILD ? rc : ERR(rc, "%s", why);
}

static int ask(struct fpga_process *card, struct simlink *m)
{
    int rc = fpga_link_ask(&card->link, *m, NULL, m, INFINITY);
    return rc ? failed(card, rc) : 0;
}

int fpga_process_write(struct fpga_process *card, uint32_t at, uint32_t value)
{
    struct simlink m = {.kind = SIMLINK_WRITE, .a = at, .b = value};
    TRY(ask(card, &m));
    return m.status ? ERR(-EIO, "the card has no register 0x%03x to write", at) : 0;
}

int fpga_process_read(struct fpga_process *card, uint32_t at, uint32_t *value)
{
    struct simlink m = {.kind = SIMLINK_READ, .a = at};
    TRY(ask(card, &m));
    if (m.status)
        return ERR(-EIO, "the card has no register 0x%03x to read", at);
    *value = (uint32_t)m.b;
    return 0;
}

int fpga_process_send(struct fpga_process *card, uint32_t ip, uint16_t port, const uint8_t *bytes,
                      size_t n, uint32_t gap)
{
    const struct simlink m = {
        .kind = SIMLINK_FRAME, .bytes = (uint32_t)n, .a = ip, .b = port, .c = gap};
    int rc = fpga_link_say(&card->link, m, bytes, INFINITY);
    return rc ? failed(card, rc) : 0;
}

int fpga_process_run(struct fpga_process *card, fpga_process_frame *out, void *arg,
                     struct fpga_process_time *time)
{
    struct simlink m = {.kind = SIMLINK_RUN, .a = MOST_CLOCKS};
    double start = clock_s();
    int rc = fpga_link_say(&card->link, m, NULL, INFINITY);
    while (!rc && !(rc = fpga_link_hear(&card->link, &m, INFINITY)) && m.kind != SIMLINK_DONE) {
        if (m.kind != SIMLINK_FRAME)
            return ERR(-EPROTO, "the simulated card sent message %u while it ran", m.kind);
        TRY(out(arg, (uint32_t)m.a, (uint16_t)m.b, card->link.body, m.bytes));
    }
    if (rc)
        return failed(card, rc);
    time->clocks += m.a;
    time->beats_in += m.b;
    time->beats_out += m.c;
    time->seconds += clock_s() - start;
    return m.status
               ? ERR(-ETIMEDOUT, "the simulated card was still busy after %u clocks", MOST_CLOCKS)
               : 0;
}
