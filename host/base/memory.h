/* memory.h : how much memory there is, and how much of it this process has had. */
#ifndef MEMORY_H
#define MEMORY_H
#include <stdint.h>

/* Bytes that may still be taken without others having to go: of the machine, or of what this process
 * is confined to (a control group of Linux), whichever is less. UINT64_MAX: nobody says. */
uint64_t memory_available(void);

/* The most bytes that this process has had in memory at once. */
uint64_t memory_peak(void);

/* Bytes as people read them: "1.4 GiB". Returns text. */
enum { MEMORY_TEXT = 24 };
const char *memory_text(uint64_t bytes, char text[MEMORY_TEXT]);

#endif
