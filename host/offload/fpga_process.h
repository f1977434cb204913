/* fpga_process.h : a simulated card of one's own: starts narrowcast-sim, and speaks to it:
 * registers, frames, clocks.
 *
 * A card that listens on the network is the card of struct fpga_ops (fpga.h); one that does not is
 * given its frames here. */
#ifndef FPGA_PROCESS_H
#define FPGA_PROCESS_H
#include "offload/fpga.h"
#include "offload/fpga_link.h"
#include <stddef.h>
#include <sys/types.h>

/* A frame that left the card, bytes [n], for that address; bytes are the card's until the call
 * returns. Returns 0, or a negative errno with a line, which ends fpga_process_run(). */
typedef int fpga_process_frame(void *arg, uint32_t ip, uint16_t port, const uint8_t *bytes,
                               size_t n);

struct fpga_process {
    struct fpga_link link;
    pid_t pid;
};

struct fpga_process_time {
    /* clocks: from the first beat to the last; 0: this model has no clock */
    uint64_t clocks, beats_in, beats_out;
    double seconds; /* of our time */
};

/* Starts the card beside this program's own file, else the one in PATH. model: "rtl" or "c". wave:
 * FST file, or NULL. Returns 0, or a negative errno with a line; -ENOENT says how to build it. */
int fpga_process_open(struct fpga_process *card, const char *model, const char *wave);
void fpga_process_close(struct fpga_process *card); /* legal when zeroed */

/* Registers by byte offset. Return 0, or a negative errno with a line: no such register, or the
 * card died. */
int fpga_process_write(struct fpga_process *card, uint32_t at, uint32_t value);
int fpga_process_read(struct fpga_process *card, uint32_t at, uint32_t *value);

/* A frame for the card; it goes in at the next run, with at least gap idle clocks behind it. */
int fpga_process_send(struct fpga_process *card, uint32_t ip, uint16_t port, const uint8_t *bytes,
                      size_t n, uint32_t gap);

/* Runs until the card is quiet. out gets every frame that leaves; what it took is added to
 * *time. */
int fpga_process_run(struct fpga_process *card, fpga_process_frame *out, void *arg,
                     struct fpga_process_time *time);

/* The process: narrowcast-sim --fd N and words [a list, NULL behind the last]; silent: what it
 * prints on stdout is lost. Returns 0, or a negative errno and *card zeroed, why it did not come up
 * in why. */
int fpga_process_start(struct fpga_process *card, const char *const *words, bool silent,
                       double timeout_s, char why[FPGA_WHY_BYTES]);

/* In one line, why the card at the other end is gone: how its process ended. Returns -ENOENT, -EIO,
 * or -ECHILD: it has said on stderr what was wrong. */
int fpga_process_died(struct fpga_process *card, char why[FPGA_WHY_BYTES]);

#endif
