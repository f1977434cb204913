/* sim_card.h : a simulated card: starts narrowcast-sim, and speaks to it: registers, frames, clocks. */
#ifndef SIM_CARD_H
#define SIM_CARD_H
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A frame that left the card, bytes [n], for that address; bytes are the card's until the call returns. Returns 0, or a
 * negative errno with a line, which ends sim_card_run(). */
typedef int sim_card_frame(void *arg, uint32_t ip, uint16_t port, const uint8_t *bytes, size_t n);

struct sim_card {
    int fd;
    pid_t pid;
    uint8_t *body; /* of a message */
};

struct sim_card_time {
    uint64_t clocks, beats_in, beats_out; /* clocks: from the first beat to the last; 0: this model has no clock */
    double seconds;                       /* of our time */
};

/* Starts the card beside this program's own file, else the one in PATH. model: "rtl" or "c". wave: FST file, or NULL.
 * Returns 0, or a negative errno with a line; -ENOENT says how to build it. */
int sim_card_open(struct sim_card *card, const char *model, const char *wave);
void sim_card_close(struct sim_card *card); /* legal when zeroed */

/* Registers by byte offset. Return 0, or a negative errno with a line: no such register, or the card died. */
int sim_card_write(struct sim_card *card, uint32_t at, uint32_t value);
int sim_card_read(struct sim_card *card, uint32_t at, uint32_t *value);

/* A frame for the card; it goes in at the next run, with at least gap idle clocks behind it. */
int sim_card_send(struct sim_card *card, uint32_t ip, uint16_t port, const uint8_t *bytes, size_t n, uint32_t gap);

/* Runs until the card is quiet. out gets every frame that leaves; what it took is added to *time. */
int sim_card_run(struct sim_card *card, sim_card_frame *out, void *arg, struct sim_card_time *time);

#endif
