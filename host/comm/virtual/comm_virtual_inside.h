/* comm_virtual_inside.h : declares the internals of struct comm_virtual, for comm_virtual*.c. */
#ifndef COMM_VIRTUAL_INSIDE_H
#define COMM_VIRTUAL_INSIDE_H
#include "base/err.h"
#include "base/fiber.h"
#include "comm/comm_inside.h"
#include "comm/virtual/comm_virtual.h"

/* The event that a rank waits for. */
enum virtual_wait {
    VIRTUAL_NOTHING, /* runs or is queued to run */
    VIRTUAL_ALL,     /* all its messages */
    VIRTUAL_SOME,    /* one of its messages */
    VIRTUAL_OTHERS,  /* other ranks, in a collective */
    VIRTUAL_RUN,     /* the next run */
};

struct virtual_message {
    void *buf;
    size_t bytes;
    int peer, tag;
    uint32_t next; /* next message of its queue: place + 1, or 0 */
    bool sends, under_way;
};

/* Messages of one sender, receiver and tag whose counterpart is not posted yet. first, last: place
 * + 1 in the list of the rank that posted them, or 0. */
struct virtual_queue {
    uint32_t first, last;
    bool sends; /* posted by the sender; false: by the receiver */
};

/* A call of a collective. All ranks must agree in kind, how and n. */
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
    size_t n_under_way, n_news;       /* n_news: done since comm_some() returned */
    struct virtual_call call;
    /* abandoned_in: vote that ends the step whose card path it abandoned, or 0 */
    uint64_t n_votes, abandoned_in;
    int rc;
};

/* A message that travels between processes: a head, then a body. */
struct virtual_far_head {
    int32_t from, to, tag, zero;
    uint64_t bytes;
};
struct virtual_far {
    struct virtual_far_head head;
    struct virtual_far *next;  /* in `wanted` or `early` of its stream */
    struct virtual_rank *rank; /* sends or receives it; NULL: its receive is not posted yet */
    size_t place;              /* in rank->messages */
    int n_left;                /* parts that have not travelled */
    void *early;               /* body, if it arrived before its receive was posted; else NULL */
};

/* Messages from one other process, which arrive in the order in which they were sent. */
struct virtual_stream {
    struct virtual_far_head head; /* arriving */
    bool reads;                   /* a receive of `head` is posted */
    /* wanted: receives without a message. early: messages whose receive was not posted when the
     * head arrived. Both are in order: of posting, or of arrival. */
    struct virtual_far *wanted, *early;
};

/* A part of a message: a head that arrives (m is NULL), a body that arrives, or a head or body that
 * is sent (from is NULL). parts[i] is posted at place i of comm_virtual.below. */
struct virtual_part {
    struct virtual_far *m;
    struct virtual_stream *from;
};

struct comm_virtual {
    int n_ranks;         /* of the job */
    int lowest, n_here;  /* this process has ranks [lowest, lowest + n_here) */
    struct comm *below;  /* connects the job's processes; NULL if there is only one */
    struct comm *caller; /* connects the processes, even a single one; NULL if opened without one */
    int on_node;         /* index of this process on its machine */
    struct virtual_stream *streams; /* [processes] */
    struct virtual_part *parts;     /* [n_places] */
    size_t n_places, n_far;         /* n_far: messages in flight between processes */
    size_t free_from;               /* no place below this one is empty */
    size_t taken_to;                /* where virtual_far_take() goes on */
    /* Number of the last vote for which this process has told the others that a rank abandoned the
     * card path, and of the last vote whose notes it has dropped. */
    uint64_t abandon_sent_for, dropped_for;
    struct virtual_rank *ranks;   /* [n_here] */
    struct virtual_queue *queues; /* [COMM_TAGS][n_here to][n_here from] */
    int *turns;                   /* [n_here] ring of indices of ranks queued to run */
    int first, n_turns;
    int n_live;
    int n_called; /* ranks that have called the collective */
    int broken;   /* the run's failure, or 0 */
    struct fiber outside;
    struct err_lines *outside_lines;
    int (*body)(struct comm *c, void *ctx);
    void *ctx;
};

static inline struct virtual_rank *virtual_rank(struct comm *c)
{
    return (struct virtual_rank *)c;
}

/* Index in v->ranks; outside [0, n_here) if another process has the rank. */
static inline int virtual_index(const struct comm_virtual *v, int rank)
{
    return rank - v->lowest;
}
static inline bool virtual_is_here(const struct comm_virtual *v, int rank)
{
    return rank >= v->lowest && rank < v->lowest + v->n_here;
}

/* ---- other processes (comm_virtual_far.c) ---- */

int virtual_lowest_of(const struct comm_virtual *v, int process);
int virtual_process_of(const struct comm_virtual *v, int rank);

/* Makes room for messages between processes. All processes call it. rc: this process's result so
 * far. Returns 0, or a negative errno on all processes if one of them has failed. */
int virtual_far_open(struct comm_virtual *v, int rc);
/* Frees the messages between processes. */
void virtual_far_drop(struct comm_virtual *v);
/* Posts r->messages[place], whose peer is in another process. Returns 0, 1 if it is done already,
 * or reports a failure. */
int virtual_far_post(struct virtual_rank *r, size_t place);
/* Progresses messages between processes. If `wait`, blocks until a part of a message has travelled;
 * some message must be in flight. After a positive result messages may be done: take them all. A
 * negative errno: the communicator between the processes has failed. */
int virtual_far_progress(struct comm_virtual *v, bool wait);
/* Takes a message that is done. *r, *place: out: it was (*r)->messages[*place]. Returns 1, 0 if
 * there is none (left), or reports a failure. */
int virtual_far_take(struct comm_virtual *v, struct virtual_rank **r, size_t *place);
/* Performs a collective between processes, after the ranks of this one have combined theirs. No
 * message of a rank may be in flight between processes. */
int virtual_far_collect(struct comm_virtual *v, const struct virtual_call *call);

/* Tells the other processes that a rank has abandoned this vote's card path. */
int virtual_far_abandon(struct comm_virtual *v, uint64_t vote);
/* Forgets, after this vote, which processes abandoned the card path. Only a vote's first call does
 * something. abandoned: bit mask of ranks. No message may be in flight between processes. */
int virtual_far_forget(struct comm_virtual *v, uint64_t vote, const uint64_t *abandoned);

/* ---- turns (comm_virtual_turn.c) ---- */

/* Run bodies forever, as the function of a rank's fiber. arg: struct virtual_rank. */
void virtual_live(void *arg);

/* Block the rank and run others until virtual_wake(). Returns 0, or the code of the run's
 * failure. */
int virtual_block(struct virtual_rank *r, enum virtual_wait until);
void virtual_wake(struct virtual_rank *r);

/* Mark a message of r as done, and wake r if it waited for it. */
void virtual_end_message(struct virtual_rank *r, struct virtual_message *m);
/* Mark all messages between processes that are done. */
void virtual_end_far(struct comm_virtual *v);
/* wait: as in virtual_far_progress(). */
void virtual_progress(struct comm_virtual *v, bool wait);
/* Waits until no message is in flight between processes, or the run has failed. */
void virtual_drain(struct comm_virtual *v);

void virtual_yield(struct virtual_rank *r);

/* Fail the run: wake all ranks and, if there are several processes, fail or end the job. Returns
 * code. virtual_break() prints text first. */
int virtual_fail(struct comm_virtual *v, int code);
int virtual_break(struct comm_virtual *v, int code, const char *text);

/* Write in one line which rank waits for which. */
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
