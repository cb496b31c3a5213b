#include "io/ct_digest.h"

#include <assert.h>
#include <string.h>

#include <nettle/sha2.h>

#include "tensor/fail.h"

static_assert(sizeof(struct sha256_ctx) <= sizeof(struct ct_sha256), "the state must fit");

// Nettle's context is copied out and in: the public header shows neither its type nor its alignment.

static struct sha256_ctx load(const struct ct_sha256 *digest) {
    struct sha256_ctx context;
    memcpy(&context, digest->state, sizeof context);
    return context;
}

static void store(struct ct_sha256 *digest, const struct sha256_ctx *context) {
    memcpy(digest->state, context, sizeof *context);
}

void ct_sha256_init(struct ct_sha256 *digest) {
    if (!digest) {
        ct__fail_null_operand(__func__);
        return;
    }
    struct sha256_ctx context;
    memset(&context, 0, sizeof context); // the block that is not yet filled is copied as well
    sha256_init(&context);
    memset(digest, 0, sizeof *digest);
    store(digest, &context);
}

void ct_sha256_update(struct ct_sha256 *digest, const void *data, size_t bytes) {
    if (!digest || (!data && bytes)) {
        ct__fail_null_operand(__func__);
        return;
    }
    if (bytes == 0)
        return;
    struct sha256_ctx context = load(digest);
    sha256_update(&context, bytes, data);
    store(digest, &context);
}

void ct_sha256_final(struct ct_sha256 *digest, char *hex) {
    if (!digest || !hex) {
        ct__fail_null_operand(__func__);
        return;
    }
    static const char digits[] = "0123456789abcdef";
    unsigned char bytes[SHA256_DIGEST_SIZE];
    struct sha256_ctx context = load(digest);
    sha256_digest(&context, sizeof bytes, bytes); // starts anew by itself
    store(digest, &context);
    for (size_t i = 0; i < sizeof bytes; i++) {
        hex[2 * i] = digits[bytes[i] >> 4];
        hex[2 * i + 1] = digits[bytes[i] & 15];
    }
    hex[2 * sizeof bytes] = '\0';
}
