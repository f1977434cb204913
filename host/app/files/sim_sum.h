/* sim_sum.h : runs a simulated card that adds vectors of codes from memory, any number of times. */
#ifndef SIM_SUM_H
#define SIM_SUM_H
#include "base/text.h"
#include "vec/vec.h"

struct sim_sum;

/* Starts the card for sums of n_ranks vectors. model: "rtl" (Verilated) or "c", not copied; wave:
 * FST file of all signals, or NULL. Returns 0, or a negative errno after reporting it: a card
 * cannot add this, or there is no simulator. Close *out with sim_sum_close(). */
int sim_sum_open(const struct vec_sum *sum, int n_ranks, const char *model, const char *wave,
                 struct sim_sum **out);
void sim_sum_close(struct sim_sum *c); /* NULL is legal */

/* Computes sums = parts[0] + ... + parts[n_ranks - 1], n packed codes each, each beginning on a
 * byte. Returns 0, or a negative errno after reporting it; the card is then unusable. */
int sim_sum_add(struct sim_sum *c, const uint8_t *const *parts, size_t n, uint8_t *sums);

/* Returns the codes of a batch. Calls of sim_sum_add() are best given multiples of it. */
size_t sim_sum_most(const struct sim_sum *c);

/* Describes clocks, beats, the time at CARD_MHZ, and the speed of simulation
 * in MB/s of received frames. */
void sim_sum_describe(const struct sim_sum *c, struct text *to);

#endif
