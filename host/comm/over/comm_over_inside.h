/* comm_over_inside.h : declares the internals of struct comm over the caller's transport, for
 * comm_over*.c. */
#ifndef COMM_OVER_INSIDE_H
#define COMM_OVER_INSIDE_H
#include "comm/comm_inside.h"
#include "comm/over/comm_over.h"
#include <stdatomic.h>

struct over_message {
    void *request;
    int peer;
    bool under_way;
};

/* Notes: short messages with tag COMM_TAG_LIVENESS, independent of all other messages. */
enum over_word {
    OVER_ABANDONED = 1, /* the rank abandons this step's card path; n: number of the vote */
    OVER_LIVENESS,      /* the rank starts a liveness check: a wait failed with code */
    OVER_LEFT,          /* the rank fails with code and has printed the cause */
    OVER_BYE            /* the rank leaves without an error */
};
struct over_note {
    uint32_t word;
    int32_t code;
    uint64_t n;
};

struct over_sent {
    struct over_sent *next;
    struct over_message message;
    struct over_note note;
};

struct over_peer {
    struct over_note note; /* next note, being received */
    struct over_message message;
    uint64_t abandoned_in; /* number of the vote, or 0 */
    bool heard;            /* answered or started the liveness check */
    bool gone;             /* messages to or from it fail; it gets no more */
    int why;               /* the error of these messages, or 0 */
    bool left, bye;
};

struct comm_over {
    struct comm comm; /* must be first, see comm_over() */
    struct nc_transport t;
    struct over_message *messages; /* [comm.room] */
    struct over_peer *peers;       /* [n_ranks] */
    bool *heard;                   /* [n_ranks] result of the liveness check */
    struct over_sent *sent;
    uint8_t *all;     /* [n_ranks * COMM_BLOCK] for collectives */
    double looked_s;  /* time of the last look for notes */
    uint64_t n_votes; /* votes that have ended */
    /* Code of another rank's liveness check or departure, or 0. */
    int called;
    atomic_int asked; /* code passed to comm_fail(), or 0 */
    atomic_int failed;
};
static inline struct comm_over *comm_over(struct comm *c)
{
    return (struct comm_over *)c;
}

/* ---- comm_over_call.c ---- */

/* Begin, test and cancel a message, and progress messages. Return 0 or the transport's error; print
 * nothing. */
int over_begin(struct comm_over *o, struct over_message *m, bool sends, int tag, int peer,
               void *buf, size_t bytes);
int over_test(struct comm_over *o, struct over_message *m);
void over_cancel(struct comm_over *o, struct over_message *m);
int over_progress(struct comm_over *o);

/* ---- comm_over_message.c: messages and waits ---- */

bool over_make_room(struct comm *c, size_t places);
void over_clear(struct comm *c, size_t at, size_t n);
int over_send(struct comm *c, size_t place, int tag, int to, const void *buf, size_t bytes);
int over_recv(struct comm *c, size_t place, int tag, int from, void *buf, size_t bytes);
bool over_done(const struct comm *c, size_t at, size_t n);
int over_wait(struct comm *c);
int over_some(struct comm *c, bool wait);

/* ---- comm_over_message.c: collectives ---- */

int over_barrier(struct comm *c);
int over_reduce(struct comm *c, enum comm_reduce how, void *x, size_t n, const char *what);

/* ---- comm_over_note.c: notes, liveness check ---- */

/* Begin: post the receives of notes. End: end all messages, and wait for the other ranks unless
 * something has failed. */
int over_notes_begin(struct comm_over *o);
void over_notes_end(struct comm_over *o);

bool over_poll(struct comm *c);
int over_abandon(struct comm *c);
bool over_abandoned(struct comm *c);
int over_forget(struct comm *c, const uint64_t *abandoned);

/* Fail the communicator with code: run the liveness check, print the missing ranks if that is this
 * rank's task, and cancel messages in flight. Returns code, or that of an earlier failure. */
int over_fail(struct comm_over *o, int code);
int over_missing(struct comm *c);

#endif
