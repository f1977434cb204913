/* doctor.h : the parts of `narrowcast doctor`: what every rank knows of itself, held against what a job wants.
 *
 *     doctor_facts() on every rank -> doctor_gather() -> rank 0: doctor_checks[] -> findings
 *
 * A check is a function and a row of the table. It reads facts alone, so that any cluster can be made up
 * for it. */
#ifndef DOCTOR_H
#define DOCTOR_H
#include "app/doctor/info.h"
#include "comm/comm.h"
#include <stdbool.h>

enum doctor_grade { DOCTOR_OK, DOCTOR_WARN, DOCTOR_FAIL };

enum { DOCTOR_WORDS = 640 };

/* What a check has found: one line, and the command or option that mends it ("": nothing does). */
struct doctor_finding {
    enum doctor_grade grade;
    char what[DOCTOR_WORDS], mend[DOCTOR_WORDS];
    bool taken; /* the last doctor_say() was */
};

/* All ranks' facts, on rank 0. */
struct doctor {
    int n_ranks;
    struct info *ranks; /* [n_ranks] */
    int32_t *nodes;     /* [n_ranks] the lowest rank on the same machine */
    double *ahead_s;    /* [n_ranks] how far a rank's clock is ahead of rank 0's */
    double *sure_s;     /* [n_ranks] to how much */
};

struct doctor_check {
    const char *name;
    void (*look)(const struct doctor *d, struct doctor_finding *f); /* f: ok, and no words yet */
};
extern const struct doctor_check doctor_checks[]; /* the last one's name is NULL */

/* Of rank `rank`; "" where there is none. */
const char *doctor_fact(const struct doctor *d, int rank, const char *key);
double doctor_number(const struct doctor *d, int rank, const char *key); /* nan likewise */

/* The first rank whose fact is not rank 0's; -1: there is none. */
int doctor_other(const struct doctor *d, const char *key);

/* What is found: the first, unless a worse one takes its place. And what mends that, if it was taken. */
void doctor_say(struct doctor_finding *f, enum doctor_grade grade, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void doctor_mend(struct doctor_finding *f, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Of the network (doctor_network.c); rows of the table like all others. */
void doctor_sockets(const struct doctor *d, struct doctor_finding *f);
void doctor_mtu(const struct doctor *d, struct doctor_finding *f);
void doctor_clocks(const struct doctor *d, struct doctor_finding *f);

/* Of MPI's files (doctor_network.c). */
void doctor_shm(const struct doctor *d, struct doctor_finding *f);
void doctor_tmpdir(const struct doctor *d, struct doctor_finding *f);

/* Add the facts that these two need. */
void doctor_room(struct info *info);

/* Print the finding of doctor_tmpdir() for this process to stderr unless it is ok. To be called before
 * MPI begins, which may end or hang without room in TMPDIR. */
void doctor_warn_early(void);

/* What this process knows of itself and its machine: info's facts, and what only a doctor asks. level: of
 * comm_begin(). */
void doctor_facts(struct info *info, int level);

/* All ranks call it. d: filled on rank 0, doctor_close() in any case. Returns 0 or a negative errno. */
int doctor_gather(struct comm *c, const struct info *mine, struct doctor *d);
void doctor_close(struct doctor *d);

/* Facts as lines, for another rank, which may be of another version: what does not fit is left out. */
enum { DOCTOR_BYTES = 16384 };
void doctor_lines(const struct info *info, char lines[DOCTOR_BYTES]);
void doctor_unlines(const char lines[DOCTOR_BYTES], struct info *info);

/* ---- do cards answer all ranks, and add? ---- */

/* Opens a job through cards and takes a step. All ranks call it.
 *   where, fabric   words of train's --offload and --fabric     deadline_s   a silent card is given up
 *   f               rank 0: what was found
 * Returns 0, or a negative errno: -EINVAL with a line: words that no card can have. */
int doctor_card(struct comm *c, const char *where, const char *fabric, double deadline_s,
                struct doctor_finding *f);

#endif
