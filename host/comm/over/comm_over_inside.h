/* comm_over_inside.h : struct comm over the caller's own calls. For comm_over*.c alone. */
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

/* What ranks tell each other beside messages, with COMM_TAG_ROLL. */
enum over_word {
    OVER_GAVE_UP = 1, /* this step's way; n: of which vote */
    OVER_ROLL,        /* a wait has failed with code: who is there? */
    OVER_LEFT,        /* gives in with code, and has said why */
    OVER_BYE          /* leaves, and all is well */
};
struct over_note {
    uint32_t word;
    int32_t code;
    uint64_t n;
};

/* A note on its way to a rank. */
struct over_sent {
    struct over_sent *next;
    struct over_message message;
    struct over_note note;
};

/* What is known of another rank. */
struct over_peer {
    struct over_note note; /* the next of its notes lands here */
    struct over_message message;
    uint64_t gave_up_in; /* the vote; 0: none */
    bool heard;          /* it answers the roll call, or has called it */
    bool gone;           /* messages to or from it fail: nothing is asked of it any more */
    int why;             /* they fail with */
    bool left, bye;
};

struct comm_over {
    struct comm comm; /* first: comm_over() */
    struct nc_transport t;
    struct over_message *messages; /* [comm.room] */
    struct over_peer *peers;       /* [n_ranks] */
    bool *heard;                   /* [n_ranks] of the roll call */
    struct over_sent *sent;
    char *all;        /* [n_ranks * COMM_BLOCK] of the collectives */
    double looked_s;  /* for notes, last */
    uint64_t n_votes; /* ended */
    int called; /* the code with which another rank has called the roll, or left; 0: none has */
    atomic_int asked; /* comm_give_in() */
    atomic_int failed;
};
static inline struct comm_over *comm_over(struct comm *c)
{
    return (struct comm_over *)c;
}

/* ---- comm_over_call.c ---- */

/* Begins a message, tests one that is under way, makes messages move. Return 0 or what the caller's
 * call does, and say nothing. */
int over_begin(struct comm_over *o, struct over_message *m, bool sends, int tag, int peer,
               void *buf, size_t bytes);
int over_test(struct comm_over *o, struct over_message *m);
void over_cancel(struct comm_over *o, struct over_message *m);
int over_progress(struct comm_over *o);

/* What the caller's code returns need not be an errno: 0, or one. */
int over_code(int rc);

/* ---- comm_over_message.c: messages, and waits for them. Slots of struct comm_ops, as is what follows but
 * for a few ---- */

bool over_make_room(struct comm *c, size_t places);
void over_clear(struct comm *c, size_t n);
int over_send(struct comm *c, size_t place, int tag, int to, const void *buf, size_t bytes);
int over_recv(struct comm *c, size_t place, int tag, int from, void *buf, size_t bytes);
bool over_done(const struct comm *c, size_t at, size_t n);
int over_wait(struct comm *c);
int over_some(struct comm *c, bool wait);

/* ---- comm_over_message.c ---- */

int over_barrier(struct comm *c);
int over_bcast(struct comm *c, void *buf, size_t bytes, int root);
int over_reduce(struct comm *c, enum comm_reduce how, void *x, size_t n, const char *what);
int over_nodes(struct comm *c, int *rank, int32_t *lowest);

/* ---- comm_over_note.c: what ranks tell each other, and the roll call ---- */

/* The receives of notes begin; all ends, with all ranks if nothing has failed. */
int over_notes_begin(struct comm_over *o);
void over_notes_end(struct comm_over *o);

bool over_poll(struct comm *c);
int over_give_up(struct comm *c);
bool over_given_up(struct comm *c);
int over_forget(struct comm *c, const uint64_t *gave_up);

/* The communicator fails with what code says: calls the roll, says who is missing if that is this rank's to
 * say, cancels what is under way. Returns code, or an earlier one. */
int over_fail(struct comm_over *o, int code);
int over_missing(struct comm *c);

#endif
