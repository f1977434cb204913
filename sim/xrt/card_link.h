/* card_link.h : accesses a narrowcast-sim process as a board in this machine: its bus and memory.
 * Any thread may make calls; each has a deadline.
 *
 * All calls except open and close return 0 or a negative errno: -EIO for a card that is gone,
 * -EFAULT for an address without register or memory. card_link_why() returns the reason, one
 * line. */
#ifndef CARD_LINK_H
#define CARD_LINK_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { CARD_LINK_WHY = 256 };

struct card_link;

/* Starts narrowcast-sim at path. words: its options, then NULL. dies_after: for tests, bus accesses
 * after which the process is killed; 0: never. Returns 0, or a negative errno with one line in
 * why. */
int card_link_open(const char *path, const char *const *words, uint64_t dies_after,
                   struct card_link **link, char why[CARD_LINK_WHY]);
void card_link_close(struct card_link *link);
const char *card_link_why(const struct card_link *link);

int card_link_write(struct card_link *link, uint64_t address, uint32_t value);
int card_link_read(struct card_link *link, uint64_t address, uint32_t *value);
int card_link_put(struct card_link *link, uint64_t address, const void *from, size_t bytes);
int card_link_get(struct card_link *link, uint64_t address, void *to, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
