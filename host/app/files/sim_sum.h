/* sim_sum.h : a simulated card that adds vectors of codes which lie in memory, as often as it is asked. */
#ifndef SIM_SUM_H
#define SIM_SUM_H
#include "base/text.h"
#include "vec/vec.h"

struct sim_sum; /* opened by sim_sum_open, closed by sim_sum_close */

/* Start the card, for sums of n_ranks vectors, each of a file. model: "rtl" (Verilated) or "c", a literal; wave: FST
 * file of all signals, or NULL. Return 0, or a negative errno with a line: what a card cannot add, or no simulator. */
int sim_sum_open(const struct vec_sum *sum, int n_ranks, const char *model, const char *wave,
                 struct sim_sum **out);
void sim_sum_close(struct sim_sum *c); /* NULL is legal */

/* sums = parts[0] + ... + parts[n_ranks - 1], n packed codes each, from a byte on. Returns 0, or a negative errno with a
 * line: then it adds no more. */
int sim_sum_add(struct sim_sum *c, const uint8_t *const *parts, size_t n, uint8_t *sums);

/* Codes that go in at once: a call of sim_sum_add() is best given multiples of it. */
size_t sim_sum_most(const struct sim_sum *c);

/* Clocks, beats, the time at CARD_MHZ, and at what speed it was simulated; MB: of frames in. */
void sim_sum_describe(const struct sim_sum *c, struct text *to);

#endif
