/* sim_sum.h : adds vectors of codes in memory on a simulated card. */
#ifndef SIM_SUM_H
#define SIM_SUM_H
#include "base/text.h"
#include "vec/vec.h"

struct sim_sum;

/* Starts the card for sums of n_ranks vectors. engine: "rtl" (Verilated) or "c", not copied. wave:
 * FST file of all signals, or NULL. Fails if a card cannot compute this sum, or without a
 * simulator. */
int sim_sum_open(const struct vec_sum *sum, int n_ranks, const char *engine, const char *wave,
                 struct sim_sum **out);
/* After success, ends the card and thereby completes `wave`. Then only sim_sum_describe() and
 * sim_sum_close() are legal. */
int sim_sum_end(struct sim_sum *c);
void sim_sum_close(struct sim_sum *c); /* accepts NULL */

/* sums = parts[0] + ... + parts[n_ranks - 1]. Each vector has n packed codes and begins at a byte.
 * After an error the card is unusable. */
int sim_sum_add(struct sim_sum *c, const uint8_t *const *parts, size_t n, uint8_t *sums);

/* Returns the number of codes of a batch. sim_sum_add() is fastest for multiples of it. */
size_t sim_sum_most(const struct sim_sum *c);

/* Describes clocks, beats, time at CARD_MHZ, and simulated MB/s of received frames. */
void sim_sum_describe(const struct sim_sum *c, struct text *to);

#endif
