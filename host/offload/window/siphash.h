/* siphash.h : Computes a keyed hash that cannot be guessed without the key: SipHash-2-4. */
#ifndef SIPHASH_H
#define SIPHASH_H
#include <stddef.h>
#include <stdint.h>

/* Returns the hash of bytes[n] under key[2], whose low word is first. Source: Aumasson and
 * Bernstein, "SipHash: a fast short-input PRF", 2012. */
uint64_t siphash(const uint64_t key[2], const uint8_t *bytes, size_t n);

#endif
