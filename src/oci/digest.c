/* SPDX-License-Identifier: Apache-2.0 */
#include "oci/digest.h"

#include <assert.h>
#include <openssl/evp.h>
#include <stdlib.h>

static const struct {
    str name;
    size_t n; /* bytes */
} algorithms[] = {
    [OCI_NO_DIGEST] = {S_INIT(""), 0},
    [OCI_SHA256] = {S_INIT("sha256"), 32},
    [OCI_SHA512] = {S_INIT("sha512"), 64},
};
enum { N_ALGORITHMS = COUNT(algorithms) };

static int hex_value(char c)
{
    if (char_is_digit(c))
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool oci_digest_parse(str text, struct oci_digest *ret)
{
    str name, hex;
    struct oci_digest d = {.algorithm = OCI_SHA256};
    if (!str_cut(text, ':', &name, &hex))
        return false;
    while (d.algorithm < N_ALGORITHMS && !str_eq(algorithms[d.algorithm].name, name))
        d.algorithm++;
    if (d.algorithm == N_ALGORITHMS || hex.n != 2 * algorithms[d.algorithm].n)
        return false;
    for (size_t i = 0; i < hex.n; i++) {
        int v = hex_value(hex.p[i]);
        if (v < 0)
            return false;
        d.bytes[i / 2] = (uint8_t)(d.bytes[i / 2] << 4 | v);
    }
    *ret = d;
    return true;
}

bool oci_digest_eq(const struct oci_digest *a, const struct oci_digest *b)
{
    return a->algorithm == b->algorithm && oci_digest_is_set(a) && memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

str oci_digest_algorithm_name(const struct oci_digest *d)
{
    return algorithms[d->algorithm].name;
}

static void add_hex(struct buf *b, const struct oci_digest *d)
{
    for (size_t i = 0; i < algorithms[d->algorithm].n; i++) {
        buf_add_char(b, "0123456789abcdef"[d->bytes[i] >> 4]);
        buf_add_char(b, "0123456789abcdef"[d->bytes[i] & 15]);
    }
}

str oci_digest_hex(struct arena *a, const struct oci_digest *d)
{
    struct buf b = {.arena = a};
    add_hex(&b, d);
    return buf_str(&b);
}

str oci_digest_format(struct arena *a, const struct oci_digest *d)
{
    struct buf b = {.arena = a};
    if (!oci_digest_is_set(d))
        return (str){0};
    buf_add_str(&b, algorithms[d->algorithm].name);
    buf_add_char(&b, ':');
    add_hex(&b, d);
    return buf_str(&b);
}

/* ---- Hashes. libcrypto fails only for want of memory or of the algorithm: neither can be helped. ---- */

struct oci_hash {
    EVP_MD_CTX *ctx;
    uint8_t algorithm;
};

static void must(int is_done)
{
    if (is_done != 1)
        abort();
}

struct oci_hash *oci_hash_new(enum oci_algorithm algorithm)
{
    struct oci_hash *h = malloc(sizeof(*h));
    assert(algorithm != OCI_NO_DIGEST);
    must(h != NULL);
    *h = (struct oci_hash){.ctx = EVP_MD_CTX_new(), .algorithm = (uint8_t)algorithm};
    must(h->ctx != NULL);
    must(EVP_DigestInit_ex(h->ctx, algorithm == OCI_SHA256 ? EVP_sha256() : EVP_sha512(), NULL));
    return h;
}

void oci_hash_add(struct oci_hash *h, str piece)
{
    if (piece.n)
        must(EVP_DigestUpdate(h->ctx, piece.p, piece.n));
}

struct oci_digest oci_hash_finish(struct oci_hash *h)
{
    struct oci_digest d = {.algorithm = h->algorithm};
    unsigned n = 0;
    must(EVP_DigestFinal_ex(h->ctx, d.bytes, &n));
    assert(n == algorithms[d.algorithm].n);
    return d;
}

void oci_hash_free(struct oci_hash *h)
{
    if (h == NULL)
        return;
    EVP_MD_CTX_free(h->ctx);
    free(h);
}

struct oci_digest oci_digest_of(enum oci_algorithm algorithm, str bytes)
{
    struct oci_hash *h = oci_hash_new(algorithm);
    oci_hash_add(h, bytes);
    struct oci_digest d = oci_hash_finish(h);
    oci_hash_free(h);
    return d;
}

/* ---- Verifiers. ---- */

void oci_verifier_init(struct oci_verifier *v, const struct oci_digest *want, uint64_t size)
{
    *v = (struct oci_verifier){.hash = oci_hash_new(want->algorithm), .want = *want, .size = size};
}

int oci_verifier_add(struct oci_verifier *v, str piece, struct err *err)
{
    if (piece.n > v->size - v->seen)
        return err_set(err, ERR_INVALID, "there is more of it than the %llu bytes it is said to have",
                       (unsigned long long)v->size);
    v->seen += piece.n;
    oci_hash_add(v->hash, piece);
    return 0;
}

int oci_verifier_finish(struct oci_verifier *v, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    if (v->seen != v->size)
        return err_set(err, ERR_INVALID, "it ends after %llu of the %llu bytes it is said to have",
                       (unsigned long long)v->seen, (unsigned long long)v->size);
    struct oci_digest got = oci_hash_finish(v->hash);
    if (!oci_digest_eq(&got, &v->want))
        return err_set(err, ERR_INVALID, "its content has the digest %.*s", STR(oci_digest_format(&scratch, &got)));
    return 0;
}

void oci_verifier_done(struct oci_verifier *v)
{
    oci_hash_free(v->hash);
    v->hash = NULL;
}
