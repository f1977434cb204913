/* comm_virtual_inside.h : Declares the internals of struct comm_virtual,
 * only for comm_virtual*.c. */
#ifndef COMM_VIRTUAL_INSIDE_H
#define COMM_VIRTUAL_INSIDE_H
#include "base/err.h"
#include "base/fiber.h"
#include "comm/comm_inside.h"
#include "comm/virtual/comm_virtual.h"

/* The event that a rank waits for. */
enum virtual_wait {
    VIRTUAL_NOTHING, /* nothing: it runs or is queued to run */
    VIRTUAL_ALL,     /* all its messages */
    VIRTUAL_SOME,    /* one of its messages */
    VIRTUAL_OTHERS,  /* other ranks, in a collective */
    VIRTUAL_RUN,     /* the next run; its body has ended */
};

struct virtual_message {
    void *buf;
    size_t bytes;
    int peer, tag;
    uint32_t next; /* next message in its queue: place + 1, or 0 */
    bool sends, under_way;
};

/* Messages of one sender, receiver and tag whose counterpart is not posted yet: first and
 * last of them as place + 1 in the poster's list, or 0. */
struct virtual_queue {
    uint32_t first, last;
    bool sends; /* posted by the sender, not by the receiver */
};

/* A rank's call of a collective. Calls of all ranks must agree in kind, how and n. */
enum virtual_kind { VIRTUAL_BARRIER, VIRTUAL_BCAST, VIRTUAL_REDUCE, VIRTUAL_ONCE };
struct virtual_call {
    const char *what;
    enum virtual_kind kind;
    int how; /* root, or enum comm_reduce */
    size_t n;
    void *x;
    void (*work)(void *const *all, int n_ranks);
};

struct virtual_rank {
    struct comm comm; /* must be first, see virtual_rank() */
    struct comm_virtual *job;
    struct fiber fiber;
    struct err_lines lines;
    enum virtual_wait waits;
    struct virtual_message *messages; /* [comm.room] */
    size_t n_under_way, n_news;       /* n_news: messages done since comm_some() returned */
    struct virtual_call call;
    /* abandoned_in: this rank abandoned the card path of the step that ends with this vote; or 0. */
    uint64_t n_votes, abandoned_in;
    int rc;
};

struct comm_virtual {
    int n_ranks;
    struct virtual_rank *ranks;
    struct virtual_queue *queues; /* [COMM_TAGS][n_ranks to][n_ranks from] */
    int *turns;                   /* [n_ranks] ring of ranks queued to run */
    int first, n_turns;
    int n_live;
    int n_called; /* number of ranks that have called the collective */
    int broken;   /* negative errno of the run's failure, or 0 */
    struct fiber outside;
    struct err_lines *outside_lines;
    int (*body)(struct comm *c, void *ctx);
    void *ctx;
};

static inline struct virtual_rank *virtual_rank(struct comm *c)
{
    return (struct virtual_rank *)c;
}

/* ---- turns (comm_virtual_turn.c) ---- */

/* Runs bodies forever. This is the function of a rank's fiber. arg: struct virtual_rank. */
void virtual_live(void *arg);

/* Blocks the rank and runs others until virtual_wake(). Returns 0, or the code of
 * the run's failure. */
int virtual_block(struct virtual_rank *r, enum virtual_wait until);
void virtual_wake(struct virtual_rank *r);

void virtual_yield(struct virtual_rank *r);

/* Makes the run fail: prints text at once and wakes all ranks. Returns code. */
int virtual_break(struct comm_virtual *v, int code, const char *text);

/* Writes in one line which rank waits for which. */
enum { VIRTUAL_WHY_BYTES = 400 };
void virtual_why(const struct comm_virtual *v, char text[VIRTUAL_WHY_BYTES]);

/* ---- slots of struct comm_ops (comm_virtual_message.c) ---- */

bool virtual_make_room(struct comm *c, size_t places);
int virtual_send(struct comm *c, size_t place, int tag, int to, const void *buf, size_t bytes);
int virtual_recv(struct comm *c, size_t place, int tag, int from, void *buf, size_t bytes);
bool virtual_done(const struct comm *c, size_t at, size_t n);
int virtual_wait_all(struct comm *c);
int virtual_some(struct comm *c, bool wait);
int virtual_barrier(struct comm *c);
int virtual_bcast(struct comm *c, void *buf, size_t bytes, int root);
int virtual_reduce(struct comm *c, enum comm_reduce how, void *x, size_t n, const char *what);

#endif
