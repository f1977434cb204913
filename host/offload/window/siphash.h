/* siphash.h : Computes a keyed hash that cannot be guessed without the key: SipHash-2-4. */
#ifndef SIPHASH_H
#define SIPHASH_H
#include <stddef.h>
#include <stdint.h>

/* key[2]: low word first. bytes[n]: any n. Source: Aumasson and Bernstein, "SipHash: a fast
 * short-input PRF", 2012. */
uint64_t siphash(const uint64_t key[2], const uint8_t *bytes, size_t n);

#endif
