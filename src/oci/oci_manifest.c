/* SPDX-License-Identifier: Apache-2.0 */
#include "oci/oci_manifest.h"

#include "oci/shown.h"
#include "json/json.h"

#include <assert.h>

enum {
    MEDIA_TYPE_MAX = 255,
    PLATFORM_MAX = 64, /* bytes of an operating system, architecture or variant */
    DEPTH_MAX = 32,
    PLATFORMS_SHOWN = 200, /* bytes of a list in an error */
};

#define SCHEMA1_TYPE "application/vnd.docker.distribution.manifest.v1+json"
#define SCHEMA1_SIGNED_TYPE "application/vnd.docker.distribution.manifest.v1+prettyjws"

static const struct {
    str name;
    enum oci_manifest_type type;
} known_types[] = {
    {S_INIT(OCI_TYPE_MANIFEST), OCI_MANIFEST},
    {S_INIT(OCI_TYPE_INDEX), OCI_INDEX},
    {S_INIT(DOCKER_TYPE_MANIFEST), OCI_MANIFEST},
    {S_INIT(DOCKER_TYPE_LIST), OCI_INDEX},
};
enum { N_KNOWN_TYPES = COUNT(known_types) };

static int find_type(str media_type)
{
    for (int i = 0; i < N_KNOWN_TYPES; i++)
        if (str_eq(known_types[i].name, media_type))
            return i;
    return -1;
}

bool oci_manifest_is_known_type(str media_type)
{
    return find_type(media_type) >= 0;
}

bool oci_config_is_known_type(str media_type)
{
    return str_eq(media_type, S(OCI_TYPE_CONFIG)) || str_eq(media_type, S(DOCKER_TYPE_CONFIG));
}

str oci_pairs_get(const struct oci_pairs *pairs, str key)
{
    for (size_t i = 0; i < pairs->n; i++)
        if (str_eq(pairs->p[i].key, key))
            return pairs->p[i].value;
    return (str){0};
}

/* Is only said to be JSON, or to be anything at all. */
static bool is_vague_type(str media_type)
{
    return media_type.n == 0 || str_eq(media_type, S("application/json")) || str_eq(media_type, S("text/plain")) ||
           str_eq(media_type, S("application/octet-stream"));
}

/* "a/b; charset=utf-8" is a/b. */
static str without_parameters(str media_type)
{
    str type, parameters;
    str_cut(media_type, ';', &type, &parameters);
    return str_trim(type);
}

static int decode(struct arena *a, str bytes, struct json *ret, struct err *err)
{
    const struct json_limits limits = {.bytes = OCI_DOCUMENT_MAX, .depth = DEPTH_MAX};
    if (bytes.n > OCI_DOCUMENT_MAX)
        return err_set(err, ERR_TOO_LARGE, "it is larger than %d bytes", OCI_DOCUMENT_MAX);
    struct err why;
    if (json_decode(a, bytes, &limits, NULL, ret, &why) < 0) /* not a bad request: a bad image */
        return err_set(err, why.code == ERR_TOO_LARGE ? ERR_TOO_LARGE : ERR_INVALID, "%s", why.msg);
    return json_is_obj(ret) ? 0 : err_set(err, ERR_INVALID, "it is not a JSON object");
}

/* ---- Descriptors. ---- */

static int short_text(const struct json *obj, str key, size_t max, str *ret, struct err *err)
{
    const struct json *v = json_get(obj, key);
    *ret = json_text(v);
    if (!json_is_null(v) && !json_is_str(v))
        return err_set(err, ERR_INVALID, "%.*s is not a text", STR(key));
    if (ret->n > max)
        return err_set(err, ERR_TOO_LARGE, "%.*s is longer than %zu bytes", STR(key), max);
    return 0;
}

static int parse_pairs(struct arena *a, const struct json *obj, struct oci_pairs *ret, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    *ret = (struct oci_pairs){0};
    if (json_is_null(obj))
        return 0;
    if (!json_is_obj(obj))
        return err_set(err, ERR_INVALID, "annotations are not an object");
    if (json_len(obj) > OCI_ANNOTATIONS_MAX)
        return err_set(err, ERR_TOO_LARGE, "there are more than %d annotations", OCI_ANNOTATIONS_MAX);
    struct oci_pair *pairs = ARENA_ARRAY(a, struct oci_pair, json_len(obj));
    json_each_member(obj, m)
    {
        if (!json_is_str(&m->val))
            return err_set(err, ERR_INVALID, "the annotation %.*s is not a text",
                           STR(oci_shown(&scratch, json_key(m))));
        if (m->key_n + (size_t)m->val.n > OCI_ANNOTATION_BYTES)
            return err_set(err, ERR_TOO_LARGE, "the annotation %.*s is longer than %d bytes",
                           STR(oci_shown(&scratch, json_key(m))), OCI_ANNOTATION_BYTES);
        pairs[ret->n++] = (struct oci_pair){json_key(m), json_text(&m->val)};
    }
    ret->p = pairs;
    return 0;
}

static int parse_size(const struct json *v, uint64_t *ret, struct err *err)
{
    int64_t size;
    if (json_type(v) != JSON_INT || !json_to_int(v, &size) || size < 0)
        return err_set(err, ERR_INVALID, "size is not a number of bytes");
    if ((uint64_t)size > OCI_SIZE_MAX)
        return err_set(err, ERR_TOO_LARGE, "size is more than anybody has: %lld", (long long)size);
    *ret = (uint64_t)size;
    return 0;
}

static int parse_descriptor(struct arena *a, const struct json *v, struct oci_descriptor *ret, struct err *err)
{
    const struct json *platform = json_get(v, S("platform"));
    int code;
    *ret = (struct oci_descriptor){0};
    if (!json_is_obj(v))
        return err_set(err, ERR_INVALID, "it is not an object");
    if ((code = short_text(v, S("mediaType"), MEDIA_TYPE_MAX, &ret->media_type, err)) < 0)
        return code;
    if (ret->media_type.n == 0)
        return err_set(err, ERR_INVALID, "mediaType is missing");
    if (!oci_digest_parse(json_get_text(v, S("digest")), &ret->digest))
        return err_set(err, ERR_INVALID, "digest is not a sha256 or sha512 digest");
    if ((code = parse_size(json_get(v, S("size")), &ret->size, err)) < 0)
        return code;
    if ((code = short_text(platform, S("os"), PLATFORM_MAX, &ret->os, err)) < 0 ||
        (code = short_text(platform, S("architecture"), PLATFORM_MAX, &ret->architecture, err)) < 0 ||
        (code = short_text(platform, S("variant"), PLATFORM_MAX, &ret->variant, err)) < 0)
        return code;
    return parse_pairs(a, json_get(v, S("annotations")), &ret->annotations, err);
}

static int parse_list(struct arena *a, const struct json *doc, str key, size_t max, struct oci_manifest *m,
                      struct err *err)
{
    const struct json *list = json_get(doc, key);
    if (!json_is_arr(list))
        return err_set(err, ERR_INVALID, "%.*s is not a list", STR(key));
    if (json_len(list) > max)
        return err_set(err, ERR_TOO_LARGE, "it has %zu %.*s, more than %zu", json_len(list), STR(key), max);
    struct oci_descriptor *all = ARENA_ARRAY(a, struct oci_descriptor, json_len(list));
    json_each_item(list, item)
    {
        int code = parse_descriptor(a, item, &all[m->n_layers], err);
        if (code < 0)
            return err_wrap(err, "%.*s[%zu]", STR(key), m->n_layers);
        m->n_layers++;
    }
    m->layers = all;
    return 0;
}

/* ---- Manifests and indexes. ---- */

static int refuse_schema1(struct err *err)
{
    return err_set(err, ERR_UNSUPPORTED_MEDIA_TYPE,
                   "it is of docker's schema 1, which nobody makes any more: push the image again with a current tool");
}

/* Which of the known types it is: what it was announced as, what it says, and what it looks like must agree. */
static int find_out_type(const struct json *doc, str announced, struct oci_manifest *m, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    bool is_like_index = json_get(doc, S("manifests")) != NULL;
    bool is_like_manifest = json_get(doc, S("layers")) != NULL || json_get(doc, S("config")) != NULL;
    str said;
    int code = short_text(doc, S("mediaType"), MEDIA_TYPE_MAX, &said, err);
    if (code < 0)
        return code;
    if (is_like_index && is_like_manifest)
        return err_set(err, ERR_INVALID, "it could be read both as manifest and as index");
    if (!is_vague_type(announced) && said.n && !str_eq(said, announced))
        return err_set(err, ERR_INVALID, "it was announced as %.*s and says it is %.*s",
                       STR(oci_shown(&scratch, announced)), STR(oci_shown(&scratch, said)));
    m->media_type = said.n ? said : announced;
    if (is_vague_type(m->media_type))
        m->media_type = is_like_index ? S(OCI_TYPE_INDEX) : S(OCI_TYPE_MANIFEST);
    int i = find_type(m->media_type);
    if (i < 0)
        return err_set(err, ERR_UNSUPPORTED_MEDIA_TYPE, "it is no image: its type is %.*s",
                       STR(oci_shown(&scratch, m->media_type)));
    m->type = known_types[i].type;
    if (m->type == OCI_INDEX ? !is_like_index : !is_like_manifest)
        return err_set(err, ERR_INVALID, "it is no %s", m->type == OCI_INDEX ? "index" : "manifest");
    return 0;
}

static int parse_document(struct arena *a, const struct json *doc, str announced, struct oci_manifest *m,
                          struct err *err)
{
    int64_t schema = 0;
    bool has_schema = json_to_int(json_get(doc, S("schemaVersion")), &schema);
    int code;
    if ((has_schema && schema == 1) || str_eq(announced, S(SCHEMA1_TYPE)) || str_eq(announced, S(SCHEMA1_SIGNED_TYPE)))
        return refuse_schema1(err);
    if (!has_schema || schema != 2)
        return err_set(err, ERR_INVALID, "schemaVersion is not 2");
    if ((code = find_out_type(doc, announced, m, err)) < 0 ||
        (code = parse_pairs(a, json_get(doc, S("annotations")), &m->annotations, err)) < 0)
        return code;
    if (m->type == OCI_INDEX)
        return parse_list(a, doc, S("manifests"), OCI_INDEX_MAX, m, err);
    if (parse_descriptor(a, json_get(doc, S("config")), &m->config, err) < 0)
        return err_wrap(err, "config");
    return parse_list(a, doc, S("layers"), OCI_LAYERS_MAX, m, err);
}

int oci_manifest_parse(struct arena *a, str bytes, str media_type, struct oci_manifest *ret, struct err *err)
{
    struct oci_manifest m = {0};
    struct json doc;
    int code = decode(a, bytes, &doc, err);
    if (code == 0)
        code = parse_document(a, &doc, str_dup(a, without_parameters(media_type)), &m, err);
    if (code < 0)
        return err_wrap(err, "manifest");
    *ret = m;
    return 0;
}

/* ---- The image of an index. ---- */

/* Signatures and attestations are listed as images for an unknown machine. */
static bool is_image(const struct oci_descriptor *d)
{
    return oci_manifest_is_known_type(d->media_type) &&
           !(str_eq(d->os, S("unknown")) && str_eq(d->architecture, S("unknown")));
}

static int refuse_platforms(const struct oci_manifest *index, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct buf list = {.arena = &scratch};
    for (size_t i = 0; i < index->n_layers && list.n < PLATFORMS_SHOWN; i++) {
        const struct oci_descriptor *d = &index->layers[i];
        if (is_image(d))
            buf_fmt(&list, "%s%.*s/%.*s", list.n ? ", " : "", STR(d->os), STR(d->architecture));
    }
    return err_set(err, ERR_INVALID, "the image is not for linux/amd64, but for several others: %.*s",
                   STR(buf_str(&list)));
}

int oci_index_choose(const struct oci_manifest *index, const struct oci_descriptor **ret, struct err *err)
{
    const struct oci_descriptor *only = NULL;
    size_t n = 0;
    assert(index->type == OCI_INDEX);
    for (size_t i = 0; i < index->n_layers; i++) {
        const struct oci_descriptor *d = &index->layers[i];
        if (!is_image(d))
            continue;
        if (str_eq(d->os, S("linux")) && str_eq(d->architecture, S("amd64"))) {
            *ret = d;
            return 0;
        }
        only = d;
        n++;
    }
    if (n == 0)
        return err_set(err, ERR_INVALID, "the index names no image");
    if (n > 1)
        return refuse_platforms(index, err);
    *ret = only;
    return 0;
}

/* ---- Configs. ---- */

/* Only labels about packages: others may be of any length, and are nobody's business. */
static struct oci_pairs parse_labels(struct arena *a, const struct json *labels)
{
    VEC(struct oci_pair) found = {0};
    json_each_member(labels, m)
    {
        if (str_has_prefix(json_key(m), S(OCI_XPKG_ANNOTATION)) && json_is_str(&m->val) &&
            found.n < OCI_ANNOTATIONS_MAX)
            *vec_push(a, &found) = (struct oci_pair){json_key(m), json_text(&m->val)};
    }
    return (struct oci_pairs){found.p, found.n};
}

static int parse_diff_ids(struct arena *a, const struct json *list, struct oci_config *ret, struct err *err)
{
    if (json_is_null(list))
        return 0;
    if (!json_is_arr(list))
        return err_set(err, ERR_INVALID, "rootfs.diff_ids is not a list");
    if (json_len(list) > OCI_LAYERS_MAX)
        return err_set(err, ERR_TOO_LARGE, "it has more than %d diff_ids", OCI_LAYERS_MAX);
    struct oci_digest *ids = ARENA_ARRAY(a, struct oci_digest, json_len(list));
    json_each_item(list, item)
    {
        if (!oci_digest_parse(json_text(item), &ids[ret->n_diff_ids]))
            return err_set(err, ERR_INVALID, "rootfs.diff_ids[%zu] is not a digest", ret->n_diff_ids);
        ret->n_diff_ids++;
    }
    ret->diff_ids = ids;
    return 0;
}

int oci_config_parse(struct arena *a, str bytes, struct oci_config *ret, struct err *err)
{
    struct oci_config config = {0};
    struct json doc;
    int code = decode(a, bytes, &doc, err);
    if (code == 0) {
        config.labels = parse_labels(a, json_dig(&doc, "config.Labels"));
        code = parse_diff_ids(a, json_dig(&doc, "rootfs.diff_ids"), &config, err);
    }
    if (code < 0)
        return err_wrap(err, "config of the image");
    *ret = config;
    return 0;
}

int oci_manifest_find_base(struct arena *a, const struct oci_manifest *m, const struct oci_config *config,
                           ptrdiff_t *ret_layer, struct err *err)
{
    ptrdiff_t found = -1;
    for (size_t i = 0; i < m->n_layers; i++) {
        const struct oci_descriptor *layer = &m->layers[i];
        str label = str_fmt(a, OCI_XPKG_ANNOTATION ":%.*s", STR(oci_digest_format(a, &layer->digest)));
        if (!str_eq(oci_pairs_get(&layer->annotations, S(OCI_XPKG_ANNOTATION)), S("base")) &&
            !str_eq(oci_pairs_get(&config->labels, label), S("base")))
            continue;
        if (found >= 0)
            return err_set(err, ERR_INVALID, "layers %td and %zu are both marked as base of the package", found, i);
        found = (ptrdiff_t)i;
    }
    *ret_layer = found;
    return 0;
}
