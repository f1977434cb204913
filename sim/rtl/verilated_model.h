/* verilated_model.h : wraps a Verilated module, which linking chooses (sim/rtl/models), in C.
 *
 * Set inputs, call model_tick() once per clock, read outputs:
 *     struct model *m = model_open(argc, argv);
 *     uint8_t *valid = model_port(m, "in_valid_i", NULL);
 *     *valid = 1;
 *     model_tick(m);
 *     model_close(m);
 * The clock is clk_i or ap_clk. The caller resets the module: hold rst_i for a clock or two. Only
 * one thread may use a model.
 *
 * A second module in a program needs a prefix: -DMODEL_PREFIX=mm_ in its line of sim/rtl/models.
 * Call it through mm_model_ops, or define the same macro where this file is included. */
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

/* The functions below. */
struct model_ops {
    void *(*open)(int argc, char **argv);
    void (*close)(void *model);
    void *(*port)(void *model, const char *name);
    void (*eval)(void *model);
    void (*tick)(void *model);
};

struct model;

/* Makes a model with inputs 0. argc, argv: the program's, for Verilator's +options. Ends the
 * program if memory is short. */
struct model *model_open(int argc, char **argv);
void model_close(struct model *m);

/* Returns the address of a port's value, valid until model_close(). Read it, and for inputs write
 * it, between calls. Its type is uint8_t for 1 to 8 bits, uint16_t up to 16, uint32_t up to 32,
 * uint64_t up to 64, else uint32_t[], least significant word first. *bits: set to the width, unless
 * bits is NULL. Ends the program after reporting a missing port. */
void *model_port(struct model *m, const char *name, unsigned *bits);

/* Updates outputs after inputs changed, without a clock. */
void model_eval(struct model *m);

/* Samples inputs at a clock's edge, then updates outputs. */
void model_tick(struct model *m);

uint64_t model_cycles(const struct model *m);

/* Records all signals from now on in an FST file, for GTKWave, where a clock takes 1/CARD_MHZ.
 * Returns 0, or -1 if the file cannot be opened or the build has no waves. */
int model_wave(struct model *m, const char *path);

#ifdef __cplusplus
}
#endif
#endif
