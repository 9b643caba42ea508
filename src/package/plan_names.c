/* SPDX-License-Identifier: Apache-2.0 */
#include "package/plan_parts.h"

#include <assert.h>
#include <openssl/evp.h>
#include <stdlib.h>

enum {
    DEPLOYMENT_NAME_BASE = 52, /* with "-controller" it fits into a label, which pods have */
    HASH_SUFFIX = 6,
    SHA1_BYTES = 20,
    SHA1_LETTERS = 32, /* in base32 */
    FAMILY_LABEL = 63,
    FAMILY_LETTERS = 26, /* 130 bits: nobody finds two families that have the same */
};

str plan_join(struct arena *a, str head, str tail)
{
    struct buf b = {.arena = a};
    buf_grow(&b, head.n + tail.n);
    buf_add_str(&b, head);
    buf_add_str(&b, tail);
    return buf_str(&b);
}

/* The first letters of the hash in base32 (RFC 4648), small, as many as fit into its bits. */
static void add_letters(struct buf *b, const unsigned char *hash, size_t letters)
{
    static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz234567";
    unsigned bits = 0, n_bits = 0;
    for (size_t at = 0; letters > 0; letters--) {
        if (n_bits < 5) {
            bits = (bits << 8 | hash[at++]) & 0xfff;
            n_bits += 8;
        }
        n_bits -= 5;
        buf_add_char(b, alphabet[bits >> n_bits & 31]);
    }
}

static void digest(const EVP_MD *kind, str text, unsigned char hash[EVP_MAX_MD_SIZE])
{
    if (EVP_Digest(text.n ? text.p : "", text.n, hash, NULL, kind, NULL) != 1)
        abort(); /* out of memory */
}

str plan_truncate(struct arena *a, str text, size_t length, size_t suffix)
{
    assert(suffix >= 2 && suffix <= SHA1_LETTERS + 1 && length >= suffix);
    if (text.n <= length)
        return text;
    unsigned char hash[EVP_MAX_MD_SIZE];
    digest(EVP_sha1(), text, hash); /* for names that people know from elsewhere; nothing relies on its strength */
    str head = str_upto(text, length - suffix);
    while (head.n && head.p[head.n - 1] == '.')
        head.n--;
    struct buf b = {.arena = a};
    buf_add_str(&b, head);
    buf_add_char(&b, '-');
    add_letters(&b, hash, suffix - 1);
    return buf_str(&b);
}

str plan_deployment_name(struct arena *a, str install)
{
    str base = plan_truncate(a, install, DEPLOYMENT_NAME_BASE, HASH_SUFFIX);
    return str_fmt(a, "%.*s-controller", STR(base));
}

str plan_role_name(struct arena *a, const struct dialect *dialect, const struct package *p, const char *role)
{
    return str_fmt(a, "%.*s:%.*s:%.*s:%s", STR(dialect->word), STR(p->family), STR(p->version), role);
}

/* Components of image names have no two dots in a row, so these part repo from name for certain. What is shortened always has 63
 * bytes and what is not never has, so that no family is named like the hash of another. */
str plan_family_label(struct arena *a, str family)
{
    struct buf b = {.arena = a};
    str repo, name;
    str_cut(family, ':', &repo, &name);
    buf_add_str(&b, repo);
    buf_add_str(&b, S(".."));
    buf_add_str(&b, name);
    if (b.n < FAMILY_LABEL)
        return buf_str(&b);
    unsigned char hash[EVP_MAX_MD_SIZE];
    digest(EVP_sha256(), family, hash);
    b.n = FAMILY_LABEL - 1 - FAMILY_LETTERS;
    buf_add_char(&b, '-');
    add_letters(&b, hash, FAMILY_LETTERS);
    return buf_str(&b);
}
