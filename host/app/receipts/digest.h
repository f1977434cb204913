/* digest.h : computes SHA-256 digests (OpenSSL's libcrypto) and the root of a Merkle tree. */
#ifndef DIGEST_H
#define DIGEST_H
#include <stddef.h>
#include <stdint.h>

enum { DIGEST_BYTES = 32, DIGEST_HEX = 2 * DIGEST_BYTES + 1 };

struct digest;

/* Returns 0, -ENOMEM, or reports -ENOTSUP if the build had no libcrypto, or -EIO. */
int digest_open(struct digest **out);
void digest_close(struct digest *d); /* NULL is legal */

/* Add bytes to the digest of this object; end writes it and begins the next one. */
void digest_add(struct digest *d, const void *bytes, size_t n);
void digest_end(struct digest *d, uint8_t out[DIGEST_BYTES]);

/* Reports -EIO if libcrypto has failed since digest_open(): digests are then wrong. */
int digest_check(const struct digest *d);

/* Writes n bytes as hex digits and a zero. */
void digest_hex(const uint8_t *bytes, size_t n, char *to);

/* A Merkle tree as in RFC 9162, section 2.1: leaf = H(0, bytes), node = H(1, left, right); of n
 * leaves the left subtree has the largest power of two below n. */
struct merkle {
    uint8_t nodes[64][DIGEST_BYTES]; /* roots of full trees, the largest first */
    uint64_t n;                      /* leaves */
};
void merkle_add(struct merkle *m, struct digest *d, const void *leaf, size_t bytes);
void merkle_root(const struct merkle *m, struct digest *d, uint8_t out[DIGEST_BYTES]);

#endif
