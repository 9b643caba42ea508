/* SPDX-License-Identifier: Apache-2.0 */
/*
 * References to images. The parts make up the text again; the full form is its own full form; a source in front of a reference
 * without a registry does not change what it names; an identity has all of its parts.
 */
#include "oci/reference.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static str put_together(struct arena *a, const struct oci_reference *r)
{
    return str_fmt(a, "%.*s%s%.*s%s%.*s%s%.*s", STR(r->registry), r->registry.n ? "/" : "", STR(r->path),
                   r->tag.n ? ":" : "", STR(r->tag), r->digest.n ? "@" : "", STR(r->digest));
}

static void check_normal(struct arena *a, const struct oci_reference *r)
{
    struct oci_reference again, normal = oci_reference_normalize(a, r);
    struct err err;
    int code = oci_reference_parse(normal.text, &again, &err);
    assert(code == 0);
    assert(str_eq(again.registry, normal.registry) && str_eq(again.path, normal.path) && str_eq(again.tag, normal.tag));
    assert(again.registry.n && (again.tag.n || again.digest.n));
    assert(str_eq(oci_reference_normalize(a, &again).text, normal.text));
    assert(oci_reference_same(r, &again));
}

static void check_source(struct arena *a, const struct oci_reference *r)
{
    struct oci_reference with;
    struct err err;
    str text = oci_reference_with_source(a, r->text, S("/registry.example/some/"));
    if (r->registry.n) {
        assert(str_eq(text, r->text));
        return;
    }
    if (oci_reference_parse(text, &with, &err) < 0)
        return; /* too long now */
    assert(str_eq(with.registry, S("registry.example")) && str_has_suffix(with.path, r->path));
    assert(str_eq(with.tag, r->tag) && str_eq(with.digest, r->digest));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a ARENA_SCOPE = {0};
    struct oci_reference r;
    struct err err;
    str text = {(const char *)data, size};
    struct oci_digest digest = oci_digest_of(OCI_SHA256, text), parsed;
    if (oci_digest_parse(text, &parsed))
        assert(str_eq(oci_digest_format(&a, &parsed), text));
    if (oci_reference_parse(text, &r, &err) < 0) {
        assert(err.code == ERR_INVALID && str_is_utf8(str_of(err.msg)));
        assert(str_eq(oci_reference_with_source(&a, text, S("x")), text));
        return 0;
    }
    assert(str_eq(put_together(&a, &r), text));
    assert(r.path.n && r.path.n <= OCI_PATH_MAX && r.tag.n <= OCI_TAG_MAX && r.registry.n <= OCI_REGISTRY_MAX);
    check_normal(&a, &r);
    check_source(&a, &r);
    struct oci_identity id = oci_reference_identity(&a, &r, (str){0}, &digest);
    assert(id.repo.n && id.name.n && id.version.n && str_find_char(id.repo, '/') < 0 &&
           str_find_char(id.name, '/') < 0);
    return 0;
}
