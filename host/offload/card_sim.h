/* card_sim.h : a simulated card of one's own: starts narrowcast-sim, and speaks to it: registers, frames, clocks.
 *
 * A card that listens on the network is the card of struct fpga_ops (fpga.h); one that does not is given its frames here. */
#ifndef CARD_SIM_H
#define CARD_SIM_H
#include "offload/card_link.h"
#include <stddef.h>
#include <sys/types.h>

/* A frame that left the card, bytes [n], for that address; bytes are the card's until the call returns. Returns 0, or a
 * negative errno with a line, which ends card_sim_run(). */
typedef int card_sim_frame(void *arg, uint32_t ip, uint16_t port, const uint8_t *bytes, size_t n);

struct card_sim {
    struct card_link link;
    pid_t pid;
};

struct card_sim_time {
    uint64_t clocks, beats_in, beats_out; /* clocks: from the first beat to the last; 0: this model has no clock */
    double seconds;                       /* of our time */
};

/* Starts the card beside this program's own file, else the one in PATH. model: "rtl" or "c". wave: FST file, or NULL.
 * Returns 0, or a negative errno with a line; -ENOENT says how to build it. */
int card_sim_open(struct card_sim *card, const char *model, const char *wave);
void card_sim_close(struct card_sim *card); /* legal when zeroed */

/* Registers by byte offset. Return 0, or a negative errno with a line: no such register, or the card died. */
int card_sim_write(struct card_sim *card, uint32_t at, uint32_t value);
int card_sim_read(struct card_sim *card, uint32_t at, uint32_t *value);

/* A frame for the card; it goes in at the next run, with at least gap idle clocks behind it. */
int card_sim_send(struct card_sim *card, uint32_t ip, uint16_t port, const uint8_t *bytes, size_t n, uint32_t gap);

/* Runs until the card is quiet. out gets every frame that leaves; what it took is added to *time. */
int card_sim_run(struct card_sim *card, card_sim_frame *out, void *arg, struct card_sim_time *time);

/* The process: narrowcast-sim --fd N and words [a list, NULL behind the last]; silent: what it prints on stdout is lost.
 * Returns 0, or a negative errno and *card zeroed, why it did not come up in why. */
int card_sim_start(struct card_sim *card, const char *const *words, bool silent, double timeout_s,
                   char why[CARD_WHY_BYTES]);

/* In one line, why the card at the other end is gone: how its process ended. Returns -ENOENT, -EIO, or
 * -ECHILD: it has said on stderr what was wrong. */
int card_sim_died(struct card_sim *card, char why[CARD_WHY_BYTES]);

#endif
