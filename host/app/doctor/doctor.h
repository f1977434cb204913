/* doctor.h : declares the parts of `narrowcast doctor`.
 *
 *     doctor_facts() on every rank -> doctor_gather() -> rank 0: doctor_checks[] -> findings
 *
 * Checks read only facts, so tests can invent any cluster. */
#ifndef DOCTOR_H
#define DOCTOR_H
#include "app/doctor/info.h"
#include "comm/comm.h"
#include <stdbool.h>

enum doctor_grade { DOCTOR_OK, DOCTOR_WARN, DOCTOR_FAIL };

enum { DOCTOR_WORDS = 640 };

/* One line, and the command or option that fixes the fault, or "". */
struct doctor_finding {
    enum doctor_grade grade;
    char what[DOCTOR_WORDS], mend[DOCTOR_WORDS];
    bool taken; /* the last doctor_say() had an effect */
};

struct doctor {
    int n_ranks;
    struct info *ranks; /* [n_ranks] */
    int32_t *nodes;     /* [n_ranks] lowest rank of the same machine */
    double *ahead_s;    /* [n_ranks] s; clock relative to rank 0's */
    double *sure_s;     /* [n_ranks] s, uncertainty of ahead_s */
};

struct doctor_check {
    const char *name;
    void (*look)(const struct doctor *d, struct doctor_finding *f); /* *f is `ok` and empty */
};
extern const struct doctor_check doctor_checks[]; /* ends with a NULL name */

/* Return a fact of a rank; "" or nan if missing. */
const char *doctor_fact(const struct doctor *d, int rank, const char *key);
double doctor_number(const struct doctor *d, int rank, const char *key);

/* Returns the first rank whose fact differs from rank 0's, or -1. */
int doctor_other(const struct doctor *d, const char *key);

/* doctor_say() sets a finding unless its grade is already this or worse. doctor_mend() adds the fix
 * if the last doctor_say() had an effect. */
void doctor_say(struct doctor_finding *f, enum doctor_grade grade, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void doctor_mend(struct doctor_finding *f, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* doctor_network.c: the network, and the space for MPI's files. */
void doctor_sockets(const struct doctor *d, struct doctor_finding *f);
void doctor_mtu(const struct doctor *d, struct doctor_finding *f);
void doctor_clocks(const struct doctor *d, struct doctor_finding *f);

void doctor_shm(const struct doctor *d, struct doctor_finding *f);
void doctor_tmpdir(const struct doctor *d, struct doctor_finding *f);

/* Adds the facts for doctor_shm() and doctor_tmpdir(). */
void doctor_room(struct info *info);

/* Prints a bad finding of doctor_tmpdir() for this process to stderr. Call before MPI starts, which
 * may end or hang without space in TMPDIR. */
void doctor_warn_early(void);

/* level: from comm_begin(). */
void doctor_facts(struct info *info, int level);

/* Gathers all facts in rank 0's *d and compares clocks. All ranks call it. Call doctor_close() in
 * any case. Returns 0 or a negative errno. */
int doctor_gather(struct comm *c, const struct info *mine, struct doctor *d);
void doctor_close(struct doctor *d);

/* Convert facts to text and back, for ranks of different versions. Drop facts that do not fit. */
enum { DOCTOR_BYTES = 16384 };
void doctor_lines(const struct info *info, char lines[DOCTOR_BYTES]);
void doctor_unlines(const char lines[DOCTOR_BYTES], struct info *info);

/* Opens a job that uses cards, and does one step. All ranks call it.
 *   where, fabric   texts of train's --offload and --fabric
 *   deadline_s      time after which a silent card is abandoned
 *   f               the finding, set on rank 0
 * Returns 0 or a negative errno; -EINVAL after reporting texts that cannot name a card. */
int doctor_card(struct comm *c, const char *where, const char *fabric, double deadline_s,
                struct doctor_finding *f);

#endif
