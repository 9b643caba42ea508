/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Manifests, indexes and configs; a first line "type: X" says as what they were announced. What is read is within the limits and
 * complete; the image of an index is one of it; an index.json to which a name was added has it, and keeps the others.
 */
#include "oci/layout_internal.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_error(const struct err *err)
{
    assert(err->code == ERR_INVALID || err->code == ERR_TOO_LARGE || err->code == ERR_UNSUPPORTED_MEDIA_TYPE);
    assert(err->msg[0] && str_is_utf8(str_of(err->msg)));
}

static void check_descriptor(const struct oci_descriptor *d)
{
    assert(d->media_type.n && oci_digest_is_set(&d->digest) && d->size <= OCI_SIZE_MAX);
    assert(d->annotations.n <= OCI_ANNOTATIONS_MAX);
}

static void check_index(struct arena *a, str text, const struct oci_manifest *m)
{
    const struct oci_descriptor *chosen;
    struct oci_reference ref;
    struct oci_descriptor what = {.media_type = S("x/y"), .digest = oci_digest_of(OCI_SHA256, text), .size = 1};
    struct oci_manifest after;
    struct err err;
    str changed;
    int code = oci_reference_parse(S("acme/wp:1"), &ref, &err);
    assert(code == 0);
    if (oci_index_choose(m, &chosen, &err) < 0)
        check_error(&err);
    else
        assert(chosen >= m->layers && chosen < m->layers + m->n_layers);
    if (oci_index_with(a, text, &ref, &what, &changed, &err) < 0) { /* announced as another kind of index, or full */
        check_error(&err);
        return;
    }
    code = oci_index_parse(a, changed, &after, &err);
    assert(code == 0 && after.n_layers <= m->n_layers + 1);
    const struct oci_descriptor *found = oci_index_find(&after, &ref);
    assert(found && oci_digest_eq(&found->digest, &what.digest));
}

static void check_manifest(struct arena *a, str text, const struct oci_manifest *m, const struct oci_config *config)
{
    ptrdiff_t base;
    struct err err;
    for (size_t i = 0; i < m->n_layers; i++)
        check_descriptor(&m->layers[i]);
    assert(m->n_layers <= (m->type == OCI_INDEX ? OCI_INDEX_MAX : OCI_LAYERS_MAX));
    assert(oci_manifest_is_known_type(m->media_type));
    if (m->type == OCI_INDEX) {
        check_index(a, text, m);
        return;
    }
    check_descriptor(&m->config);
    if (oci_manifest_find_base(a, m, config, &base, &err) < 0)
        check_error(&err);
    else
        assert(base >= -1 && base < (ptrdiff_t)m->n_layers);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a ARENA_SCOPE = {0};
    struct oci_manifest m;
    struct oci_config config = {0};
    struct err err;
    str text = {(const char *)data, size}, type = {0};
    if (str_has_prefix(text, S("type: "))) {
        str_cut(text, '\n', &type, &text);
        type = str_from(type, 6);
    }
    if (oci_config_parse(&a, text, &config, &err) < 0)
        check_error(&err);
    assert(config.n_diff_ids <= OCI_LAYERS_MAX && config.labels.n <= OCI_ANNOTATIONS_MAX);
    if (oci_manifest_parse(&a, text, type, &m, &err) < 0)
        check_error(&err);
    else
        check_manifest(&a, text, &m, &config);
    if (oci_layout_check(text, &err) < 0)
        check_error(&err);
    return 0;
}
