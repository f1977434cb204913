/* verilated_model.h : a Verilated module behind a C interface; which module is decided when the
 * program is linked (sim/rtl/models).
 *
 * Set inputs, model_tick() once a clock, look at outputs:
 *     struct model *m = model_open(argc, argv);
 *     uint8_t *valid = model_port(m, "in_valid_i", NULL);
 *     *valid = 1;
 *     model_tick(m);
 *     model_close(m);
 * The clock is clk_i, or ap_clk. Nothing here resets: hold rst_i for a clock or two. One thread.
 *
 * A second module in the same program has names of its own: a line of sim/rtl/models with
 * -DMODEL_PREFIX=mm_, and the same macro where this file is included, put mm_ before each below. */
#ifndef MODEL_H
#define MODEL_H
#include <stdint.h>

#ifdef MODEL_PREFIX
#define MODEL_PASTE(a, b) a##b
#define MODEL_NAMED(a, b) MODEL_PASTE(a, b)
#define model             MODEL_NAMED(MODEL_PREFIX, model)
#define model_open        MODEL_NAMED(MODEL_PREFIX, model_open)
#define model_close       MODEL_NAMED(MODEL_PREFIX, model_close)
#define model_port        MODEL_NAMED(MODEL_PREFIX, model_port)
#define model_eval        MODEL_NAMED(MODEL_PREFIX, model_eval)
#define model_tick        MODEL_NAMED(MODEL_PREFIX, model_tick)
#define model_cycles      MODEL_NAMED(MODEL_PREFIX, model_cycles)
#define model_wave        MODEL_NAMED(MODEL_PREFIX, model_wave)
#endif

#ifdef __cplusplus
extern "C" {
#endif

struct model;

/* A new model, all inputs 0. argc, argv: the program's, for Verilator's own +options; ends the
 * program when memory does. */
struct model *model_open(int argc, char **argv);
void model_close(struct model *m);

/* Where a port's value lies, to be read and (inputs) written at any time between calls; the
 * model's, valid until it is closed. uint8_t for 1..8 bits, uint16_t to 16, uint32_t to 32,
 * uint64_t to 64, else uint32_t[], least significant first. bits, if not NULL: how many bits it
 * has. Ends the program with a line when there is no such port. */
void *model_port(struct model *m, const char *name, unsigned *bits);

/* Settles outputs after inputs were changed, without a clock. */
void model_eval(struct model *m);

/* One clock: what was set before is seen at the edge; afterwards outputs are settled. */
void model_tick(struct model *m);

/* Clocks so far. */
uint64_t model_cycles(const struct model *m);

/* Writes all that happens from now on into an FST file, for GTKWave. Returns 0, or -1 when this
 * model was built without. */
int model_wave(struct model *m, const char *path);

#ifdef __cplusplus
}
#endif
#endif
