/* train_core.h : --reduce-on: which layers' sums a simulated card makes as well. */
#ifndef TRAIN_CORE_H
#define TRAIN_CORE_H
#include <stdint.h>
#include "base/text.h"

struct train;
struct
    train_core; /* of the lead of emulated ranks; opened by train_core_open, closed by train_core_close */

/* Behind the job's opening: t->core, where t->o->reduce_on asks for one. Returns 0 or a negative errno with a line. */
int train_core_open(struct train *t);
void train_core_close(struct train_core *c); /* NULL is legal */

/* Behind that, on every rank. */
void train_core_join(struct train *t);

/* A line of the final table. */
void train_core_print(const struct train *t);

#endif
