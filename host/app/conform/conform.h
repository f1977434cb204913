/* conform.h : declares the parts of `narrowcast conform`, which plays stored vectors
 * (tests/conformance/FORMAT.md, appendix A) to a card and compares its answers. */
#ifndef CONFORM_H
#define CONFORM_H
#include "app/conform/conform_ends.h"
#include "base/jsonl_read.h"
#include "offload/card/fpga_job.h"

#define CONFORM_CONTROL_S 5.0 /* seconds to wait for an answer about registers */

/* Results of playing a vector; negative errnos have been reported and end the run. */
enum conform_result { CONFORM_PASSED, CONFORM_FAILED, CONFORM_NOT_RUN };

/* the first difference, or why the vector was not run (what) */
struct conform_fault {
    int event; /* of the vector, from 1; 0: before its events; -1: it has none */
    char what[80], field[24], received[160], wanted[48];
};

struct conform {
    struct fpga card;
    struct fpga_caps caps;
    double deadline_s; /* for each answer */
    uint32_t card_ip;  /* address for frames */
    uint16_t card_port;
    bool counted; /* the card has counted or answered a frame of this program */
};

/* Play the line of a vector file. card: also vectors with the op `step`. */
int conform_card(struct conform *c, const struct jsonl_in *in, struct conform_fault *fault);
int conform_stream(struct conform *c, const struct jsonl_in *in, struct conform_fault *fault);

/* ---- parts of vectors ---- */

enum { CONFORM_FRAME_BYTES = 4096 };

/* Read an integer, or hexadecimal digits in quotes. text: a value of the line, or NULL. Returns
 * false for anything else. */
bool conform_number(const char *text, uint64_t *to);
/* Read a string of bytes. Returns their number, or -1 if they are none or more than `most`. */
int conform_bytes(const char *text, uint8_t *to, size_t most);
/* Read a string of hexadecimal words with blanks between them. Returns their number, or 0 if they
 * are none or more than `most`. */
size_t conform_words(const char *text, uint32_t *to, size_t most);
/* Reports -EINVAL: this line is not a vector. */
int conform_malformed(const struct jsonl_in *in);

/* Exchange the job's key in a frame [n], which may be damaged on purpose: exclusive or with mask.
 * A wrong CRC stays wrong by the same bits. */
void conform_rekey(uint8_t *frame, size_t n, uint32_t mask);
/* Return a frame's op, such as "RESULT". */
const char *conform_op(const uint8_t *frame, size_t n);
/* Compare frames. If they differ, return true and fill the fault's field, received and wanted. */
bool conform_differs(const uint8_t *got, size_t n_got, const uint8_t *want, size_t n_want,
                     struct conform_fault *f);

#endif
