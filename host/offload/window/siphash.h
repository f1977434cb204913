/* siphash.h : computes SipHash-2-4, a keyed hash. */
#ifndef SIPHASH_H
#define SIPHASH_H
#include <stddef.h>
#include <stdint.h>

/* key[0] is the low word. Source: Aumasson and Bernstein, "SipHash: a fast short-input PRF",
 * 2012. */
uint64_t siphash(const uint64_t key[2], const uint8_t *bytes, size_t n);

#endif
