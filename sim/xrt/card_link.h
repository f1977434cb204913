/* card_link.h : the process narrowcast-sim as a board in this machine: its bus and its memory, for
 * any thread, each call with a deadline.
 *
 * All calls but open and close return 0 or a negative errno: -EIO once the card is gone,
 * -EFAULT where nothing answers. What went wrong stands in why, in one line. */
#ifndef CARD_LINK_H
#define CARD_LINK_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { CARD_LINK_WHY = 256 };

struct card_link; /* its why [CARD_LINK_WHY]: card_link_why() */

/* path: of narrowcast-sim. words: its options, a list, NULL behind the last. dies_after: bus
 * accesses before the process is killed, for tests; 0: never. Returns 0 or a negative errno, then
 * with a line in why. */
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
