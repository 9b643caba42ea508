/* SPDX-License-Identifier: Apache-2.0 */
#include "oci/source.h"

#include <assert.h>

/* The digest is of the kind the one wanted has, so that they can be compared. */
static int check_document(struct oci_document *doc, const struct oci_digest *want, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    if (doc->bytes.n > OCI_DOCUMENT_MAX)
        return err_set(err, ERR_TOO_LARGE, "manifest: it is larger than %d bytes", OCI_DOCUMENT_MAX);
    doc->digest = oci_digest_of(want ? want->algorithm : OCI_SHA256, doc->bytes);
    if (want && !oci_digest_eq(want, &doc->digest))
        return err_set(err, ERR_INVALID, "manifest %.*s: its content has the digest %.*s",
                       STR(oci_digest_format(&scratch, want)), STR(oci_digest_format(&scratch, &doc->digest)));
    return 0;
}

int oci_source_resolve(struct oci_source *s, struct arena *a, const struct oci_reference *ref, struct oci_document *ret,
                       struct err *err)
{
    struct oci_document doc = {0};
    struct oci_digest want = {0};
    if (ref->digest.n && !oci_digest_parse(ref->digest, &want))
        return err_set(err, ERR_INVALID, "the digest of the reference is none");
    int code = s->ops->resolve(s, a, ref, &doc, err);
    if (!oci_digest_is_set(&want))
        want = doc.digest;
    if (code == 0)
        code = check_document(&doc, oci_digest_is_set(&want) ? &want : NULL, err);
    if (code == 0)
        *ret = doc;
    return code;
}

int oci_source_document(struct oci_source *s, struct arena *a, const struct oci_descriptor *want,
                        struct oci_document *ret, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct oci_document doc = {0};
    if (want->size > OCI_DOCUMENT_MAX)
        return err_set(err, ERR_TOO_LARGE, "manifest %.*s: it is larger than %d bytes",
                       STR(oci_digest_format(&scratch, &want->digest)), OCI_DOCUMENT_MAX);
    int code = s->ops->document(s, a, want, &doc, err);
    if (code == 0)
        code = check_document(&doc, &want->digest, err);
    if (code == 0 && doc.bytes.n != want->size)
        code = err_set(err, ERR_INVALID, "manifest %.*s: it has %zu bytes, not the %llu it is said to have",
                       STR(oci_digest_format(&scratch, &want->digest)), doc.bytes.n, (unsigned long long)want->size);
    if (code == 0)
        *ret = doc;
    return code;
}

/* ---- Blobs: a verifier in front of the sink. ---- */

struct checked {
    struct oci_verifier verifier;
    struct oci_sink sink;
};

static int take_checked(void *ctx, str piece, struct err *err)
{
    struct checked *c = ctx;
    int code = oci_verifier_add(&c->verifier, piece, err);
    return code < 0 ? code : c->sink.take(c->sink.ctx, piece, err);
}

int oci_source_blob(struct oci_source *s, const struct oci_descriptor *want, struct oci_sink sink, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct checked c = {.sink = sink};
    oci_verifier_init(&c.verifier, &want->digest, want->size);
    int code = s->ops->blob(s, want, (struct oci_sink){take_checked, &c}, err);
    if (code == 0)
        code = oci_verifier_finish(&c.verifier, err);
    oci_verifier_done(&c.verifier);
    return code < 0 ? err_wrap(err, "blob %.*s", STR(oci_digest_format(&scratch, &want->digest))) : 0;
}

static int take_bytes(void *ctx, str piece, struct err *err)
{
    (void)err; /* the verifier has let pass no more than there should be */
    buf_add_str(ctx, piece);
    return 0;
}

int oci_source_blob_bytes(struct oci_source *s, struct arena *a, const struct oci_descriptor *want, size_t max,
                          str *ret, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct buf bytes = {.arena = a};
    if (want->size > max)
        return err_set(err, ERR_TOO_LARGE, "blob %.*s: it is larger than %zu bytes",
                       STR(oci_digest_format(&scratch, &want->digest)), max);
    int code = oci_source_blob(s, want, (struct oci_sink){take_bytes, &bytes}, err);
    if (code == 0)
        *ret = buf_str(&bytes);
    return code;
}

void oci_source_free(struct oci_source *s)
{
    if (s)
        s->ops->free(s);
}

struct oci_failure oci_failure_of(enum err_code code)
{
    assert(code != ERR_NONE);
    switch (code) {
    case ERR_INVALID:
    case ERR_TOO_LARGE:
    case ERR_UNSUPPORTED_MEDIA_TYPE:
        return (struct oci_failure){.reason = S("InvalidPackage")};
    case ERR_IO:
    case ERR_TIMEOUT:
    case ERR_SERVER_TIMEOUT:
    case ERR_UNAVAILABLE:
    case ERR_TOO_MANY_REQUESTS:
    case ERR_NO_SPACE:
    case ERR_INTERNAL:
        return (struct oci_failure){.reason = S("PullFailed"), .can_retry = true};
    default:
        return (struct oci_failure){.reason = S("PullFailed")};
    }
}
