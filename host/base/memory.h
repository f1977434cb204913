/* memory.h : determines the available memory of this machine and the peak memory
 * of this process. */
#ifndef MEMORY_H
#define MEMORY_H
#include <stdint.h>

/* Return the bytes that are available without displacing other memory: of the machine or of this
 * process's Linux control group, whichever is less. Returns UINT64_MAX if unknown. */
uint64_t memory_available(void);

/* Return the peak resident memory of this process, bytes. */
uint64_t memory_peak(void);

/* Format bytes in a readable unit, such as "1.4 GiB". Returns text. */
enum { MEMORY_TEXT = 24 };
const char *memory_text(uint64_t bytes, char text[MEMORY_TEXT]);

#endif
