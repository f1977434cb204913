/* digest.c : computes SHA-256 digests and Merkle roots. */
#include "app/receipts/digest.h"
#include "base/buf.h"
#include "base/err.h"
#include <stdlib.h>
#include <string.h>

#if __has_include(<openssl/evp.h>)
#include <openssl/evp.h>

struct digest {
    EVP_MD_CTX *ctx;
    EVP_MD *sha256;
    bool failed;
};

static void begin(struct digest *d)
{
    d->failed = EVP_DigestInit_ex(d->ctx, d->sha256, NULL) != 1 || d->failed;
}

int digest_open(struct digest **out)
{
    struct digest *d = buf_alloc(sizeof *d);
    if (!d)
        return -ENOMEM;
    d->ctx = EVP_MD_CTX_new();
    d->sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
    if (d->ctx && d->sha256)
        begin(d);
    if (!d->ctx || !d->sha256 || d->failed) {
        digest_close(d);
        return ERR(-EIO, "cannot compute digests: libcrypto has no SHA-256");
    }
    *out = d;
    return 0;
}

void digest_close(struct digest *d)
{
    if (!d)
        return;
    EVP_MD_CTX_free(d->ctx);
    EVP_MD_free(d->sha256);
    free(d);
}

void digest_add(struct digest *d, const void *bytes, size_t n)
{
    d->failed = EVP_DigestUpdate(d->ctx, bytes, n) != 1 || d->failed;
}

void digest_end(struct digest *d, uint8_t out[DIGEST_BYTES])
{
    d->failed = EVP_DigestFinal_ex(d->ctx, out, NULL) != 1 || d->failed;
    begin(d);
}

int digest_check(const struct digest *d)
{
    return d->failed ? ERR(-EIO, "cannot compute digests: libcrypto failed") : 0;
}

#else

int digest_open(struct digest **out)
{
    (void)out;
    return ERR(-ENOTSUP, "this build has no receipts, because openssl/evp.h was missing: install "
                         "libssl-dev, then type make clean all");
}

void digest_close(struct digest *d)
{
    (void)d;
}

void digest_add(struct digest *d, const void *bytes, size_t n)
{
    (void)d, (void)bytes, (void)n;
}

void digest_end(struct digest *d, uint8_t out[DIGEST_BYTES])
{
    (void)d;
    memset(out, 0, DIGEST_BYTES);
}

int digest_check(const struct digest *d)
{
    (void)d;
    return -ENOTSUP;
}

#endif

void digest_hex(const uint8_t *bytes, size_t n, char *to)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < n; i++) {
        *to++ = digits[bytes[i] >> 4];
        *to++ = digits[bytes[i] & 15];
    }
    *to = '\0';
}

static void join(struct digest *d, const uint8_t *left, const uint8_t *right, uint8_t *out)
{
    static const uint8_t node = 1;
    digest_add(d, &node, 1);
    digest_add(d, left, DIGEST_BYTES);
    digest_add(d, right, DIGEST_BYTES);
    digest_end(d, out);
}

/* Every bit of n is a full tree. */
void merkle_add(struct merkle *m, struct digest *d, const void *leaf, size_t bytes)
{
    static const uint8_t mark = 0;
    int at = __builtin_popcountll(m->n);
    digest_add(d, &mark, 1);
    digest_add(d, leaf, bytes);
    digest_end(d, m->nodes[at]);
    for (uint64_t n = m->n++; n & 1; n >>= 1, at--)
        join(d, m->nodes[at - 1], m->nodes[at], m->nodes[at - 1]);
}

void merkle_root(const struct merkle *m, struct digest *d, uint8_t out[DIGEST_BYTES])
{
    int at = __builtin_popcountll(m->n) - 1;
    if (at < 0) { /* of no leaves */
        digest_end(d, out);
        return;
    }
    memcpy(out, m->nodes[at], DIGEST_BYTES);
    while (at-- > 0)
        join(d, m->nodes[at], out, out);
}
