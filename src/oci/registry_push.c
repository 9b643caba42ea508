/* SPDX-License-Identifier: Apache-2.0 */
/* Pushing: blobs first, each in one piece, then the manifests that need them, the named one last. Nothing refers to something that
 * is not there yet. */
#include "oci/registry_inside.h"

#include <stdlib.h>

enum { PUSH_BLOB_MAX = 512 * 1024 * 1024, ANSWER_MAX = 64 * 1024 };

struct push {
    struct oci_registry *r;
    struct oci_source *from;
    const struct oci_watch *watch; /* or NULL */
    struct oci_moved moved;
};

static void tell(const struct push *p)
{
    if (p->watch)
        p->watch->moved(p->watch->ctx, &p->moved);
}

/* A blob in memory, on its way out: libcurl wants to pull, sources push. */
struct outgoing {
    struct push *push;
    str bytes;
    size_t at;
};

static ptrdiff_t give(void *ctx, char *p, size_t n)
{
    struct outgoing *o = ctx;
    str piece = str_upto(str_from(o->bytes, o->at), n);
    if (piece.n)
        memcpy(p, piece.p, piece.n);
    o->at += piece.n;
    o->push->moved.bytes += piece.n;
    tell(o->push);
    return (ptrdiff_t)piece.n;
}

static int has_blob(struct oci_registry *r, struct arena *a, str digest, bool *ret, struct err *err)
{
    struct web_answer answer;
    struct registry_call call = {.method = "HEAD", .url = registry_url(r, a, "blobs", digest)};
    int code = registry_call(r, a, &call, &answer, err);
    *ret = code == 0;
    return code == ERR_NOT_FOUND ? 0 : code;
}

/* POST asks for a place to upload to, PUT sends it all. */
static int put_blob(struct push *p, const struct oci_descriptor *what, struct err *err)
{
    struct oci_registry *r = p->r;
    struct arena a ARENA_SCOPE = {0};
    struct web_answer answer;
    struct outgoing bytes = {.push = p};
    str digest = oci_digest_format(&a, &what->digest);
    bool is_there;
    if (has_blob(r, &a, digest, &is_there, err) < 0)
        return err->code;
    if (is_there) {
        p->moved.bytes_of -= what->size;
        return 0;
    }
    if (oci_source_blob_bytes(p->from, &a, what, PUSH_BLOB_MAX, &bytes.bytes, err) < 0)
        return err->code;
    struct registry_call begin = {
        .method = "POST", .url = registry_url(r, &a, "blobs", S("uploads/")), .body = S(""), .max = ANSWER_MAX};
    if (registry_call(r, &a, &begin, &answer, err) < 0)
        return err->code;
    if (answer.location.n == 0)
        return err_set(err, ERR_BAD_REQUEST, "%.*s names no place to upload to", STR(r->place->host));
    const struct web_body stream = {bytes.bytes.n, give, &bytes};
    const char *joint = str_find_char(answer.location, '?') < 0 ? "?" : "&";
    struct registry_call put = {
        .method = "PUT",
        .url = str_fmt(&a, "%.*s%sdigest=%.*s", STR(answer.location), joint, STR(digest)),
        .content_type = S("Content-Type: application/octet-stream"),
        .stream = &stream,
        .max = ANSWER_MAX,
    };
    return registry_call(r, &a, &put, &answer, err);
}

static int put_document(struct push *p, struct arena *a, str name, const struct oci_document *document, str type,
                        struct err *err)
{
    struct oci_registry *r = p->r;
    struct web_answer answer;
    struct oci_digest said;
    struct outgoing bytes = {.push = p, .bytes = document->bytes};
    const struct web_body stream = {document->bytes.n, give, &bytes};
    struct registry_call put = {
        .method = "PUT",
        .url = registry_url(r, a, "manifests", name),
        .content_type = str_fmt(a, "Content-Type: %.*s", STR(type)),
        .stream = &stream,
        .max = ANSWER_MAX,
    };
    if (registry_call(r, a, &put, &answer, err) < 0)
        return err->code;
    if (answer.digest.n && (!oci_digest_parse(answer.digest, &said) || !oci_digest_eq(&said, &document->digest)))
        return err_set(err, ERR_BAD_REQUEST, "%.*s stored another manifest than it was sent", STR(r->place->host));
    return 0;
}

/* What a document needs; those of an index in turn. name: what it is put as. */
static int push_document(struct push *p, const struct oci_document *document, str name, int depth, struct err *err)
{
    struct arena a ARENA_SCOPE = {0};
    struct oci_manifest m;
    if (depth > OCI_INDEX_DEPTH)
        return err_set(err, ERR_INVALID, "indexes inside indexes go too deep");
    if (oci_manifest_parse(&a, document->bytes, document->media_type, &m, err) < 0)
        return err->code;
    p->moved.of += m.type == OCI_MANIFEST ? m.n_layers : 0;
    p->moved.bytes_of += document->bytes.n + (m.type == OCI_MANIFEST ? m.config.size : 0);
    for (size_t i = 0; m.type == OCI_MANIFEST && i < m.n_layers; i++)
        p->moved.bytes_of += m.layers[i].size;
    tell(p);
    int code = m.type == OCI_MANIFEST ? put_blob(p, &m.config, err) : 0;
    for (size_t i = 0; code == 0 && i < m.n_layers; i++) {
        struct oci_document child;
        if (m.type == OCI_MANIFEST) {
            code = put_blob(p, &m.layers[i], err);
            p->moved.layers += code == 0;
            tell(p);
            continue;
        }
        code = oci_source_document(p->from, &a, &m.layers[i], &child, err);
        if (code == 0)
            code = push_document(p, &child, oci_digest_format(&a, &child.digest), depth + 1, err);
    }
    return code < 0 ? code : put_document(p, &a, name, document, m.media_type, err);
}

int oci_registry_push(struct oci_registry *r, struct oci_source *from, const struct oci_reference *ref,
                      const struct oci_watch *watch, struct oci_digest *ret, struct err *err)
{
    struct arena a ARENA_SCOPE = {0};
    struct push push = {.r = r, .from = from, .watch = watch};
    struct oci_document document;
    struct oci_reference full = oci_reference_normalize(&a, ref);
    if (oci_source_resolve(from, &a, ref, &document, err) < 0)
        return err->code;
    str name = full.tag.n ? full.tag : oci_digest_format(&a, &document.digest);
    if (push_document(&push, &document, name, 0, err) < 0)
        return err->code;
    *ret = document.digest;
    return 0;
}
