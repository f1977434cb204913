/* card_link.c : accesses a narrowcast-sim process as a board. */
#include "sim/xrt/card_link.h"
#include "base/clock.h"
#include "base/err.h"
#include "offload/card/fpga_process.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { START_S = 30, ANSWER_S = 30 };

struct card_link {
    struct fpga_process process;
    pthread_mutex_t lock;
    atomic_int waiting; /* threads that wait for the lock */
    uint64_t accesses, dies_after;
    int gone; /* negative errno, or 0 */
    char why[CARD_LINK_WHY];
};

int card_link_open(const char *path, const char *const *words, uint64_t dies_after,
                   struct card_link **link, char why[CARD_LINK_WHY])
{
    struct card_link *l = calloc(1, sizeof *l);
    if (!l) {
        snprintf(why, CARD_LINK_WHY, "no memory");
        return -ENOMEM;
    }
    int rc = fpga_process_run(&l->process, path, words, true, START_S, why);
    if (rc) {
        free(l);
        return rc;
    }
    pthread_mutex_init(&l->lock, NULL);
    l->dies_after = dies_after;
    *link = l;
    return 0;
}

void card_link_close(struct card_link *l)
{
    if (!l)
        return;
    fpga_process_close(&l->process);
    pthread_mutex_destroy(&l->lock);
    free(l);
}

const char *card_link_why(const struct card_link *l)
{
    return l->why;
}

/* take() and give() let waiting threads run between the calls of a polling thread. */
static void take(struct card_link *l)
{
    atomic_fetch_add(&l->waiting, 1);
    pthread_mutex_lock(&l->lock);
    atomic_fetch_sub(&l->waiting, 1);
}

static void give(struct card_link *l)
{
    pthread_mutex_unlock(&l->lock);
    if (atomic_load(&l->waiting))
        nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
}

static int lost(struct card_link *l, int rc)
{
    if (rc == -EPIPE)
        (void)fpga_process_died(&l->process, l->why);
    else
        snprintf(l->why, sizeof l->why, "the simulated card does not answer: %s", strerror(-rc));
    l->gone = -EIO;
    return l->gone;
}

/* to: [want] bytes for the answer's body */
static int ask(struct card_link *l, struct simlink m, const void *body, struct simlink *answer,
               void *to, size_t want)
{
    if (l->gone)
        return l->gone;
    if (l->dies_after && ++l->accesses > l->dies_after)
        kill(l->process.pid, SIGKILL);
    int rc = fpga_link_ask(&l->process.link, m, body, answer, clock_s() + ANSWER_S);
    if (rc)
        return lost(l, rc);
    if (answer->status || answer->bytes != want) {
        snprintf(l->why, sizeof l->why, "nothing is mapped at 0x%llx of the card's %s",
                 (unsigned long long)m.a,
                 m.kind == SIMLINK_BUS_READ || m.kind == SIMLINK_BUS_WRITE ? "bus" : "memory");
        return -EFAULT;
    }
    if (want)
        memcpy(to, l->process.link.body, want);
    return 0;
}

int card_link_write(struct card_link *l, uint64_t address, uint32_t value)
{
    struct simlink answer;
    take(l);
    int rc = ask(l, (struct simlink){.kind = SIMLINK_BUS_WRITE, .a = address, .b = value}, NULL,
                 &answer, NULL, 0);
    give(l);
    return rc;
}

int card_link_read(struct card_link *l, uint64_t address, uint32_t *value)
{
    struct simlink answer;
    take(l);
    int rc =
        ask(l, (struct simlink){.kind = SIMLINK_BUS_READ, .a = address}, NULL, &answer, NULL, 0);
    give(l);
    if (!rc)
        *value = (uint32_t)answer.b;
    return rc;
}

static size_t piece(size_t left)
{
    return left < SIMLINK_MAX ? left : SIMLINK_MAX;
}

int card_link_put(struct card_link *l, uint64_t address, const void *from, size_t bytes)
{
    const uint8_t *at = from;
    int rc = 0;
    while (bytes && !rc) {
        const size_t n = piece(bytes);
        struct simlink answer;
        take(l);
        rc = ask(l, (struct simlink){.kind = SIMLINK_MEM_WRITE, .bytes = (uint32_t)n, .a = address},
                 at, &answer, NULL, 0);
        give(l);
        at += n;
        address += n;
        bytes -= n;
    }
    return rc;
}

int card_link_get(struct card_link *l, uint64_t address, void *to, size_t bytes)
{
    uint8_t *at = to;
    int rc = 0;
    while (bytes && !rc) {
        const size_t n = piece(bytes);
        struct simlink answer;
        take(l);
        rc = ask(l, (struct simlink){.kind = SIMLINK_MEM_READ, .a = address, .b = n}, NULL, &answer,
                 at, n);
        give(l);
        at += n;
        address += n;
        bytes -= n;
    }
    return rc;
}
