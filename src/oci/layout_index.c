/* SPDX-License-Identifier: Apache-2.0 */
#include "oci/layout_index.h"

#include "oci/shown.h"
#include "json/json.h"

#define NAME_ANNOTATION "org.opencontainers.image.ref.name"
#define FULL_NAME_ANNOTATION "io.containerd.image.name"

static const struct json_limits limits = {.bytes = OCI_DOCUMENT_MAX, .depth = 32};

static int decode(struct arena *a, str text, struct json *ret, struct err *err)
{
    struct err why;
    if (json_decode(a, text, &limits, NULL, ret, &why) < 0)
        return err_set(err, why.code == ERR_TOO_LARGE ? ERR_TOO_LARGE : ERR_INVALID, "%s", why.msg);
    return 0;
}

int oci_layout_check(str text, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct json doc;
    int code = decode(&scratch, text, &doc, err);
    if (code < 0)
        return err_wrap(err, OCI_LAYOUT_FILE);
    str version = json_get_text(&doc, S("imageLayoutVersion"));
    if (!str_eq(version, S("1.0.0")))
        return err_set(err, ERR_INVALID, OCI_LAYOUT_FILE ": imageLayoutVersion is %.*s, not \"1.0.0\"",
                       STR(oci_shown(&scratch, version)));
    return 0;
}

int oci_index_parse(struct arena *a, str text, struct oci_manifest *ret, struct err *err)
{
    int code = oci_manifest_parse(a, text, S(OCI_TYPE_INDEX), ret, err);
    return code < 0 ? err_wrap(err, OCI_INDEX_FILE) : 0;
}

str oci_layout_name_of(const struct oci_descriptor *d)
{
    str full = oci_pairs_get(&d->annotations, S(FULL_NAME_ANNOTATION));
    return full.n ? full : oci_pairs_get(&d->annotations, S(NAME_ANNOTATION));
}

static bool is_name_of(str name, const struct oci_reference *ref)
{
    struct oci_reference parsed;
    if (name.n == 0 || oci_reference_parse(name, &parsed, NULL) < 0)
        return false;
    return oci_reference_same(&parsed, ref);
}

const struct oci_descriptor *oci_index_find(const struct oci_manifest *index, const struct oci_reference *ref)
{
    for (size_t i = index->n_layers; i-- > 0;)
        if (is_name_of(oci_layout_name_of(&index->layers[i]), ref))
            return &index->layers[i];
    return NULL;
}

static str name_in(const struct json *item)
{
    const struct json *annotations = json_get(item, S("annotations"));
    str full = json_get_text(annotations, S(FULL_NAME_ANNOTATION));
    return full.n ? full : json_get_text(annotations, S(NAME_ANNOTATION));
}

static struct json describe(struct arena *a, const struct oci_reference *ref, const struct oci_descriptor *what)
{
    struct json item = json_obj(), annotations = json_obj();
    json_add(a, &annotations, S(NAME_ANNOTATION), json_str(oci_reference_normalize(a, ref).text));
    json_add(a, &item, S("mediaType"), json_str(what->media_type));
    json_add(a, &item, S("digest"), json_str(oci_digest_format(a, &what->digest)));
    json_add(a, &item, S("size"), json_uint(what->size));
    json_add(a, &item, S("annotations"), annotations);
    return item;
}

int oci_index_with(struct arena *a, str text, const struct oci_reference *ref, const struct oci_descriptor *what,
                   str *ret, struct err *err)
{
    struct oci_manifest checked;
    struct json doc, list = json_arr();
    struct buf out = {.arena = a};
    int code;
    if ((code = oci_index_parse(a, text, &checked, err)) < 0 || (code = decode(a, text, &doc, err)) < 0)
        return code;
    json_each_item(json_get(&doc, S("manifests")), item)
    {
        if (!is_name_of(name_in(item), ref))
            json_push(a, &list, *item);
    }
    json_push(a, &list, describe(a, ref, what));
    json_set(a, &doc, S("manifests"), list);
    json_encode(&out, &doc, 0);
    if (json_len(&list) > OCI_INDEX_MAX || out.n > OCI_DOCUMENT_MAX)
        return err_set(err, ERR_TOO_LARGE, OCI_INDEX_FILE ": there is no room for another name");
    *ret = buf_str(&out);
    return 0;
}
