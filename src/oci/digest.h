/* SPDX-License-Identifier: Apache-2.0 */
/* What: digests of content: "sha256:" and 64 hex digits, or "sha512:" and 128; computing them, and checking content against them.
 * Owns: a digest is a plain value; a hash or verifier owns its state of libcrypto.
 * Threads: one thread at a time for each hash or verifier.
 * Errors: ERR_INVALID for content that is not what its digest or size says. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

enum oci_algorithm {
    OCI_NO_DIGEST, /* the zero value: equal to nothing, not even to itself */
    OCI_SHA256,
    OCI_SHA512,
};

struct oci_digest {
    uint8_t bytes[64]; /* those behind the algorithm's length are zero */
    uint8_t algorithm;
};

/* Small hex digits only, as the specification has it. False for anything else. */
bool oci_digest_parse(str text, struct oci_digest *ret);
static inline bool oci_digest_is_set(const struct oci_digest *d)
{
    return d->algorithm != OCI_NO_DIGEST;
}
bool oci_digest_eq(const struct oci_digest *a, const struct oci_digest *b);
/* "sha256:…"; empty when not set. */
str oci_digest_format(struct arena *a, const struct oci_digest *d);
/* "sha256" and the hex digits alone: the name of a blob in a layout. */
str oci_digest_algorithm_name(const struct oci_digest *d);
str oci_digest_hex(struct arena *a, const struct oci_digest *d);

/* Of bytes in memory. */
struct oci_digest oci_digest_of(enum oci_algorithm algorithm, str bytes);

/* Of bytes that come in pieces. */
struct oci_hash;
struct oci_hash *oci_hash_new(enum oci_algorithm algorithm);
void oci_hash_add(struct oci_hash *h, str piece);
/* The digest of all pieces; once. */
struct oci_digest oci_hash_finish(struct oci_hash *h);
/* Takes NULL. */
void oci_hash_free(struct oci_hash *h);

/* Checks content while it is read: never more than size bytes pass, and at the end they are exactly what was wanted. */
struct oci_verifier {
    struct oci_hash *hash;
    struct oci_digest want;
    uint64_t size, seen;
};

void oci_verifier_init(struct oci_verifier *v, const struct oci_digest *want, uint64_t size);
/* Fails at the first byte too many, before the piece is used. */
int oci_verifier_add(struct oci_verifier *v, str piece, struct err *err);
/* All there, and all right? Once. */
int oci_verifier_finish(struct oci_verifier *v, struct err *err);
void oci_verifier_done(struct oci_verifier *v);
#define OCI_VERIFIER_SCOPE __attribute__((cleanup(oci_verifier_done)))
