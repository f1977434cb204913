/* conform_script.h : shares the state of a vector of a card: its job, sockets and counters. */
#ifndef CONFORM_SCRIPT_H
#define CONFORM_SCRIPT_H
#include "app/conform/conform.h"
#include "hls/card/regs.h"

struct conform_script {
    struct conform *c;
    const struct jsonl_in *in;
    struct conform_fault *fault;
    struct conform_ends ends;
    struct fpga_job job;
    int n_ranks;
    struct fpga_rank ranks[PKT_MAX_RANKS]; /* in the vector */
    /* exclusive or of keys with the vector's: answers to earlier vectors have another key */
    uint32_t mask;
    uint32_t jobs_used;             /* bit i: the vector is about job i */
    bool own_latch;                 /* the vector latches counters: this program must not */
    uint64_t latched[REG_COUNTERS]; /* last values read by this program */
    /* registers */
    uint32_t ip;            /* last one written or wanted */
    uint64_t counter_index; /* last one written */
    uint64_t shown;         /* counter whose lower half was wanted last */
};

/* Read all counters. */
int conform_counters(struct conform_script *s, uint64_t of[REG_COUNTERS]);

/* Do an event; return an enum conform_result or a negative errno. */
int conform_register(struct conform_script *s, const char *event);
int conform_exchange(struct conform_script *s, const char *event);

/* Fill the fault and return CONFORM_FAILED. NULL: leave the text as it is. */
int conform_fails(struct conform_script *s, const char *what, const char *field,
                  const char *received, const char *wanted);

/* Read [IP, port], the beginning of a list. Returns false for anything else. */
bool conform_pair(const char *list, uint32_t *ip, uint16_t *port);
/* Find the end of text: a list that begins with [IP, port] or [rank], or a rank's number. */
const struct conform_end *conform_end_of(const struct conform_script *s, const char *text);
/* Write "rank 1", "the group" or "another host". */
const char *conform_end_name(const struct conform_script *s, const struct conform_end *end,
                             char to[16]);

#endif
