/* memory.h : determines the machine's available memory and this process's peak memory, gives memory
 * back, and allocates memory that is cleared on use. */
#ifndef MEMORY_H
#define MEMORY_H
#include <stddef.h>
#include <stdint.h>

/* Return the bytes that this process can take without displacing other memory: those available in
 * the machine, its Linux control group (version 1 or 2) or the groups around it, whichever is
 * least. UINT64_MAX if unknown. */
uint64_t memory_available(void);

/* The part of the groups, for tests. */
struct groups;
uint64_t memory_of_groups(const struct groups *g);

/* Return the peak resident memory, in bytes. */
uint64_t memory_peak(void);

/* Give the whole pages inside an array of buf_alloc() back to the system. They then read as zeros,
 * and take memory again when written. */
void memory_release(void *array, size_t bytes);

/* As buf_alloc(), but the system clears each page when it is first used, so that pages which stay
 * unused cost nothing. valgrind takes the array for uninitialised. */
void *memory_on_use(size_t bytes);

/* Format bytes, as "1.4 GiB". Returns text. */
enum { MEMORY_TEXT = 24 };
const char *memory_text(uint64_t bytes, char text[MEMORY_TEXT]);

#endif
