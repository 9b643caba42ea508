/* SPDX-License-Identifier: Apache-2.0 */
#include "oci/archive_inside.h"

#include "oci/shown.h"
#include "oci/tar_parts.h"
#include "json/json.h"

#include <assert.h>

enum {
    IMAGES_MAX = 256,
    TAGS_MAX = 1024,
    MAGIC = 2,
};

/*   manifest.json   [{"Config":"sha256:…" or "….json","RepoTags":["acme/wp:1.1"],"Layers":["….tar.gz",…]},…]
 *
 * The files are named as their writers liked; digests are computed. */

/* Hashes a member, and keeps its first bytes. */
struct look {
    struct oci_hash *hash;
    size_t seen;
    char magic[MAGIC];
};

static int take_look(void *ctx, str piece, struct err *err)
{
    struct look *k = ctx;
    (void)err;
    for (size_t i = 0; i < piece.n && k->seen < MAGIC; i++)
        k->magic[k->seen++] = piece.p[i];
    oci_hash_add(k->hash, piece);
    return 0;
}

static int find_member(struct archive *ar, const struct json *name, struct archive_member **ret, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct buf path = {.arena = &scratch};
    int code;
    if (!json_is_str(name) || json_text(name).n == 0)
        return err_set(err, ERR_INVALID, "manifest.json: the name of a file is missing");
    if ((code = tar_path_clean(json_text(name), &path, err)) < 0)
        return code;
    *ret = map_get(&ar->members, buf_str(&path));
    if (*ret == NULL)
        return err_set(err, ERR_INVALID, "manifest.json: %.*s is not in the archive, or is a link",
                       STR(oci_shown(&scratch, buf_str(&path))));
    return 0;
}

/* Once for each file, however many images name it. */
static int compute_digest(struct archive *ar, struct archive_member *m, struct err *err)
{
    if (m->digest.n)
        return 0;
    struct look look = {.hash = oci_hash_new(OCI_SHA256)};
    int code = archive_give(ar, m, (struct oci_sink){take_look, &look}, err);
    struct oci_digest digest = oci_hash_finish(look.hash);
    oci_hash_free(look.hash);
    if (code < 0)
        return code;
    m->digest = oci_digest_format(&ar->arena, &digest);
    m->is_gzip = str_eq((str){look.magic, look.seen}, S("\x1f\x8b"));
    map_set(&ar->by_digest, m->digest, m);
    return 0;
}

static int describe(struct archive *ar, const struct json *name, bool is_config, struct json *ret, struct err *err)
{
    struct archive_member *m = NULL;
    int code;
    if ((code = find_member(ar, name, &m, err)) < 0)
        return code;
    assert(m);
    if ((code = compute_digest(ar, m, err)) < 0)
        return code;
    str layer = m->is_gzip ? S(DOCKER_TYPE_LAYER_GZIP) : S(DOCKER_TYPE_LAYER);
    *ret = json_obj();
    json_add(&ar->arena, ret, S("mediaType"), json_str(is_config ? S(DOCKER_TYPE_CONFIG) : layer));
    json_add(&ar->arena, ret, S("digest"), json_str(m->digest));
    json_add(&ar->arena, ret, S("size"), json_uint(m->size));
    return 0;
}

static int read_tags(struct archive *ar, const struct json *tags, struct archive_saved *saved, struct err *err)
{
    if (json_len(tags) > TAGS_MAX)
        return err_set(err, ERR_TOO_LARGE, "manifest.json: an image has more than %d tags", TAGS_MAX);
    str *list = ARENA_ARRAY(&ar->arena, str, json_len(tags));
    json_each_item(tags, tag) list[saved->n_tags++] = json_text(tag);
    saved->tags = list;
    return 0;
}

/* The manifest a registry would have. */
static int make_up(struct archive *ar, const struct json *image, struct archive_saved *saved, struct err *err)
{
    struct arena *a = &ar->arena;
    const struct json *names = json_get(image, S("Layers"));
    struct json doc = json_obj(), config = json_null(), layers = json_arr(), layer = json_null();
    struct buf text = {.arena = a};
    int code = read_tags(ar, json_get(image, S("RepoTags")), saved, err);
    if (code == 0 && json_len(names) > OCI_LAYERS_MAX)
        code = err_set(err, ERR_TOO_LARGE, "it has %zu layers, more than %d", json_len(names), OCI_LAYERS_MAX);
    if (code == 0)
        code = describe(ar, json_get(image, S("Config")), true, &config, err);
    json_each_item(names, name)
    {
        if (code == 0 && (code = describe(ar, name, false, &layer, err)) == 0)
            json_push(a, &layers, layer);
    }
    if (code < 0)
        return code;
    json_add(a, &doc, S("schemaVersion"), json_int(2));
    json_add(a, &doc, S("mediaType"), json_str(S(DOCKER_TYPE_MANIFEST)));
    json_add(a, &doc, S("config"), config);
    json_add(a, &doc, S("layers"), layers);
    json_encode(&text, &doc, 0);
    saved->manifest = buf_str(&text);
    saved->digest = oci_digest_of(OCI_SHA256, saved->manifest);
    return 0;
}

int archive_read_docker(struct archive *ar, const struct archive_member *m, struct err *err)
{
    const struct json_limits limits = {.bytes = OCI_DOCUMENT_MAX, .depth = 32};
    struct json list;
    struct err why;
    str text = {0};
    int code = archive_bytes(ar, &ar->arena, m, &text, err);
    if (code < 0)
        return code;
    if (json_decode(&ar->arena, text, &limits, NULL, &list, &why) < 0)
        return err_set(err, ERR_INVALID, "manifest.json: %s", why.msg);
    if (!json_is_arr(&list) || json_len(&list) == 0 || json_len(&list) > IMAGES_MAX)
        return err_set(err, ERR_INVALID, "manifest.json: it is not a list of 1 to %d images", IMAGES_MAX);
    json_each_item(&list, image)
    {
        struct archive_saved saved = {0};
        if ((code = make_up(ar, image, &saved, err)) < 0)
            return code;
        *vec_push(&ar->arena, &ar->saved) = saved;
    }
    return 0;
}
