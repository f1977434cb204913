/* comm_inside.h : the inside of struct comm, and the table by which its ranks reach each other. For
 * this folder and its tests alone.
 *
 * Everything is non-blocking: messages are posted into one list of places, then comm_wait() (or
 * comm_round()) waits for all of them. Buffers belong to the message until then. */
#ifndef COMM_INSIDE_H
#define COMM_INSIDE_H
#include "base/deadline.h"
#include "comm/comm.h"

enum { COMM_TAG_DATA = 1, COMM_TAG_ROLL = 2, COMM_TAG_GIVE_UP = 3, COMM_TAG_SUM = 4, COMM_TAGS };

/* What becomes of everybody's numbers, element by element, on every rank. */
enum comm_reduce {
    COMM_MAX_I8,
    COMM_MAX_F32,
    COMM_SUM_F64, /* in rank order */
    COMM_MIN_U64,
    COMM_OR_U64,
    COMM_REDUCES
};
static inline size_t comm_reduce_bytes(enum comm_reduce how) /* of a number */
{
    return how == COMM_MAX_I8 ? 1 : how == COMM_MAX_F32 ? 4 : 8;
}

/* How ranks reach each other: by MPI (comm_mpi.c), by calls of the caller's (comm_over.c), or as fibers of
 * one thread (comm_virtual.c). All that is not in here, they share. Slots return 0 or a negative errno,
 * with a line, if nothing else is said. */
struct comm_ops {
    bool is_mpi, is_virtual;

    /* ---- messages, of 1 to c->chunk_bytes bytes. Each has a place, chosen by the caller ---- */

    /* Places for so many, more than before: those there are stay as they are. False: no memory,
     * and nothing said. */
    bool (*make_room)(struct comm *c, size_t places);
    /* The first n places have no message. */
    void (*clear)(struct comm *c, size_t n);
    /* Posts one. Those of a pair of ranks and a tag arrive in the order they were posted. */
    int (*send)(struct comm *c, size_t place, int tag, int to, const void *buf, size_t bytes);
    int (*recv)(struct comm *c, size_t place, int tag, int from, void *buf, size_t bytes);
    /* Is no message under way at places at..at+n? */
    bool (*done)(const struct comm *c, size_t at, size_t n);
    /* comm_wait() and comm_some(), which see. After wait() c->n_req is 0. */
    int (*wait)(struct comm *c);
    int (*some)(struct comm *c, bool wait);

    /* ---- small collectives: all ranks call them in the same order. They wait, for messages under
     * way, too. what: for the line that says what cannot be done ("vote") ---- */

    int (*barrier)(struct comm *c);
    int (*bcast)(struct comm *c, void *buf, size_t bytes, int root);
    int (*reduce)(struct comm *c, enum comm_reduce how, void *x, size_t n, const char *what);
    /* all: [n_ranks * bytes], in order; bytes: 1 to c->chunk_bytes. NULL: by messages */
    int (*all_gather)(struct comm *c, const void *mine, size_t bytes, void *all);
    /* rank: this one's number on its machine; lowest: [n_ranks], or NULL: of every rank, the lowest
     * rank on its machine */
    int (*nodes)(struct comm *c, int *rank, int32_t *lowest);

    /* ---- waiting for something else than messages, steps whose sums do not come by messages,
     * ends ---- */

    /* Lets messages move, and others work. True: another rank calls the roll. */
    bool (*poll)(struct comm *c);
    int (*give_up)(struct comm *c);   /* comm_give_up(): tells the others */
    bool (*given_up)(struct comm *c); /* has one of the others told? */
    /* After a vote in which the ranks of this mask had given up: what they told is forgotten. */
    int (*forget)(struct comm *c, const uint64_t *gave_up);
    int (*missing)(struct comm *c); /* comm_missing() */
    /* comm_give_in(). NULL: these ranks' calls cannot be made to return */
    void (*give_in)(struct comm *c, int code);
    int (*failed)(const struct comm *c); /* comm_failed(). NULL: see there */
    void (*leave)(struct comm *c);       /* comm_leave(). NULL: who opened them closes them */
    void __attribute__((noreturn)) (*end)(struct comm *c, int code); /* the job's processes */
};

struct comm {
    const struct comm_ops *ops;
    bool threads; /* several may call, one at a time */
    int rank, n_ranks;
    double deadline_s;
    size_t chunk_bytes; /* the longest message: MPI counts in int. Tests make it small */
    size_t n_req, room; /* places posted into and not yet waited for; places there are */
    bool gave_up;       /* this step's way */
    void *scratch;      /* [COMM_BLOCK] of the collectives */
    /* [n_ranks * COMM_BOOK] pointers and counters of the algorithm that runs: its scratch may be a
     * GPU's */
    void *book;
    struct comm_count count;
};
enum { COMM_BOOK = 32 }; /* bytes a rank */
/* bytes that a collective with a buffer of its own handles at a time */
enum { COMM_BLOCK = 8192 };

/* Fills all but the first five of what stands in c, and empties it again. Returns 0 or -ENOMEM with
 * a line: then there is nothing to empty. */
int comm_init(struct comm *c);
void comm_fini(struct comm *c);

/* Room for one more message at place c->n_req. Returns 0 or -ENOMEM with a line. */
int comm_place(struct comm *c);

/* Posts a message to or from another rank, of any length (none for 0 bytes: both sides know the
 * length). Messages of a pair of ranks arrive in the order they were posted. Return 0, -EIO,
 * -ENOMEM. */
int comm_send(struct comm *c, int to, const void *buf, size_t bytes);
int comm_recv(struct comm *c, int from, void *buf, size_t bytes);

/* One wait, of whatever kind: comm_watch() begins it, comm_look() stands between two polls, at
 * least every DEADLINE_GAP_S: when the deadline has passed or another rank calls the roll, it returns what
 * comm_missing() does. Time in which this rank was stopped does not count. */
struct comm_watch {
    double start_s, waited_s; /* waited_s: by the last look */
    struct deadline deadline;
};
struct comm_watch comm_watch(const struct comm *c);
int comm_look(struct comm *c, struct comm_watch *w);

/* Between two polls of a wait: for all of one's messages, or for one of them. */
void comm_rest(unsigned n_polls, double waited_s);
void comm_rest_some(double waited_s);

/* into[n] = into and x, of the next rank. */
void comm_combine(enum comm_reduce how, size_t n, void *into, const void *x);

/* The slot end() of ranks that MPI has not started: this process, with all that are in it. */
void comm_exit(struct comm *c, int code) __attribute__((noreturn));

/* Says who of all ranks has not answered a roll call, after a wait that failed with code. heard: [n_ranks]
 * who has. */
void comm_roll_say(const struct comm *c, const bool *heard, int code);

/* How long a rank that waits may take to answer a roll call. */
static const double COMM_ROLL_S = 2.0;

/* comm_wait() as one point-to-point round, counted. */
int comm_round(struct comm *c);

/* What each rank has at all, so many bytes, is doubled until all have all, in ceil(log2 P) rounds (Bruck et
 * al., 1997): rank r's stand at all + bytes * ((r - rank) mod P). */
int comm_double(struct comm *c, size_t bytes, uint8_t *all);

/* At the opening of a job, all ranks: have all the same library (comm.c)? Returns 0, -EPROTO after
 * a line by one rank that names both versions, or what a failure of messages says. */
int comm_check_version(struct comm *c);

/* ---- waiting for some messages while others stay under way (comm_wait.c) ----
 *
 *     comm_lots_begin -> comm_lot_send, comm_lot_recv into lots -> comm_some until the lots of interest are done -> ...
 *     -> comm_wait for all that is left, which ends it. Nothing else is posted in between. */

/* Messages that are looked after together: places at..at+n_places of the table are theirs. Set used
 * to 0 to use them again when they are done. */
struct comm_lot {
    size_t at, n_places, used;
};

/* Places for the messages of all lots. Returns 0 or -ENOMEM. */
int comm_lots_begin(struct comm *c, size_t n_places);

/* Places that a message takes. */
size_t comm_lot_places(const struct comm *c, size_t bytes);

/* As comm_send() and comm_recv(). Messages of a pair of ranks and a tag arrive in the order they
 * were posted. */
int comm_lot_send(struct comm *c, struct comm_lot *lot, int tag, int to, const void *buf,
                  size_t bytes);
int comm_lot_recv(struct comm *c, struct comm_lot *lot, int tag, int from, void *buf, size_t bytes);

bool comm_lot_done(const struct comm *c, const struct comm_lot *lot);

/* Makes messages move. wait: until one more is done, under the deadline and the roll call of
 * comm_wait(); something must be under way. Returns how many were done (0 only without wait), or
 * -EIO: then nothing is under way any more. */
int comm_some(struct comm *c, bool wait);

#endif
