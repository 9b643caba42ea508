/* SPDX-License-Identifier: Apache-2.0 */
#include "controllers/works/works_content.h"

#include "authz/validate.h"
#include "control/applyset.h"
#include "kinds/builtin.h"
#include "object/fleet.h"
#include "object/object.h"

#include <openssl/evp.h>
#include <stdlib.h>

static const char *const meanings[] = {"rules", "aggregationRule", "subjects", "roleRef"};

enum { MEANINGS = COUNT(meanings), ROLE_REF = MEANINGS - 1, RULES = 0, AGGREGATION = 1 };

/* ---- From the manifest. ---- */

/* What the server alone writes, what binds it to objects of the hub, and what is for the agent. */
static bool is_kept(str field)
{
    static const char *const kept[] = {"labels", "annotations", "finalizers"};
    for (size_t i = 0; i < COUNT(kept); i++)
        if (str_eq(field, str_of(kept[i])))
            return true;
    return false;
}

/* Also with the "-" that asks for removal: consent to adoption is not the work's to give or to withdraw. */
static bool is_order(str key)
{
    static const char *const orders[] = {FLEET_ANNOTATION_SELECTOR, FLEET_ANNOTATION_ADOPT,
                                         FLEET_ANNOTATION_ADOPTED_BY};
    str plain = str_has_suffix(key, S("-")) ? str_upto(key, key.n - 1) : key;
    for (size_t i = 0; i < COUNT(orders); i++)
        if (str_eq(plain, str_of(orders[i])))
            return true;
    return false;
}

static struct json without_orders(struct arena *a, const struct json *annotations)
{
    struct json kept = json_obj();
    json_each_member(annotations, m)
    {
        if (!is_order(json_key(m)))
            json_add(a, &kept, json_key(m), m->val);
    }
    return kept;
}

static void set_note(struct arena *a, struct json *meta, str field, str key, str value)
{
    const struct json *there = json_get(meta, field);
    struct json values = json_is_obj(there) ? json_dup_top(a, there) : json_obj();
    json_set(a, &values, key, json_str(value));
    json_set(a, meta, field, values);
}

static struct json metadata_of(struct arena *a, const struct manifest *m, str namespace)
{
    struct json meta = json_obj();
    json_add(a, &meta, S("name"), json_str(m->name));
    if (namespace.n)
        json_add(a, &meta, S("namespace"), json_str(namespace));
    json_each_member(object_meta(m->object), field)
    {
        if (is_kept(json_key(field)) && json_len(&field->val))
            json_add(a, &meta, json_key(field), field->val);
    }
    set_note(a, &meta, S("labels"), S(FLEET_LABEL_DELIVERED), S("true"));
    struct json annotations = without_orders(a, json_get(&meta, S("annotations")));
    json_remove(&meta, S("annotations"));
    if (json_len(&annotations))
        json_add(a, &meta, S("annotations"), annotations);
    return meta;
}

struct json content_want(struct arena *a, const struct manifest *m, str namespace)
{
    struct json want = json_obj();
    json_add(a, &want, S("apiVersion"), json_str(object_api_version(m->object)));
    json_add(a, &want, S("kind"), json_str(m->kind));
    json_add(a, &want, S("metadata"), metadata_of(a, m, namespace));
    json_each_member(m->object, field)
    {
        str key = json_key(field);
        if (!str_eq(key, S("apiVersion")) && !str_eq(key, S("kind")) && !str_eq(key, S("metadata")) &&
            !str_eq(key, S("status")))
            json_add(a, &want, key, field->val);
    }
    return want;
}

struct json content_want_adopted(struct arena *a, const struct json *want, str adopter)
{
    struct json adopted = json_dup_top(a, want), meta = json_dup_top(a, object_meta(want));
    set_note(a, &meta, S("labels"), S(FLEET_LABEL_DELIVERED), S(FLEET_ADOPTED));
    if (adopter.n)
        set_note(a, &meta, S("annotations"), S(FLEET_ANNOTATION_ADOPTED_BY), adopter);
    json_set(a, &adopted, S("metadata"), meta);
    return adopted;
}

/* ---- What it means. ---- */

static const struct kind *rbac_of(const struct json *object)
{
    const struct kind *kind = kind_builtin_by_body(object_api_version(object), object_kind(object));
    return kind && rbac_kind_of(kind) != AUTHZ_UNKNOWN ? kind : NULL;
}

bool content_is_rbac(const struct json *want)
{
    return rbac_of(want) != NULL;
}

/* In the one form in which servers keep it. */
static struct json stored_form(struct arena *a, const struct json *object)
{
    struct json copy = json_dup(a, object);
    rbac_default(a, rbac_of(object), &copy);
    return copy;
}

/* The rules of an aggregated role are another's to fill in. */
static bool is_same(const struct json *want, const struct json *live, size_t i)
{
    str key = str_of(meanings[i]);
    if (i == RULES && !json_is_null(json_get(want, str_of(meanings[AGGREGATION]))))
        return true;
    const struct json *l = json_get(want, key), *r = json_get(live, key);
    return (json_is_null(l) && json_is_null(r)) || json_equal(l, r);
}

bool content_means_same(struct arena *a, const struct json *want, const struct json *live)
{
    if (!content_is_rbac(want)) {
        struct json object = content_object(a, want, (str){0});
        return applyset_is_equal(a, &object, live);
    }
    struct json l = stored_form(a, want), r = stored_form(a, live);
    bool is_equal = true;
    for (size_t i = 0; i < MEANINGS; i++)
        is_equal = is_equal && is_same(&l, &r, i);
    return is_equal;
}

bool content_needs_recreation(struct arena *a, const struct json *want, const struct json *live)
{
    if (!content_is_rbac(want))
        return false;
    struct json l = stored_form(a, want), r = stored_form(a, live);
    return !is_same(&l, &r, ROLE_REF);
}

/* ---- Labels and annotations. ---- */

/* "key-" asks for the removal of key. */
static bool asks_removal(str key, str *ret_key)
{
    *ret_key = str_upto(key, key.n ? key.n - 1 : 0);
    return key.n > 1 && key.p[key.n - 1] == '-';
}

static const char *const notes[] = {"labels", "annotations"};

/* What is to change of them: a value, or null where the key goes. */
static struct json changed_notes(struct arena *a, const struct json *want, const struct json *live, bool removals_only)
{
    struct json changed = json_obj();
    struct json_index there JSON_INDEX_SCOPE;
    json_index_init(&there, live);
    json_each_member(want, m)
    {
        str key;
        bool goes = asks_removal(json_key(m), &key);
        const struct json_member *now = json_index_find(&there, goes ? key : json_key(m));
        if (goes && now)
            json_add(a, &changed, key, json_null());
        else if (!goes && !removals_only && (!now || !json_equal(&now->val, &m->val)))
            json_add(a, &changed, json_key(m), m->val);
    }
    return changed;
}

static struct json changed_metadata(struct arena *a, const struct json *want, const struct json *live,
                                    bool removals_only)
{
    struct json meta = json_obj();
    for (size_t i = 0; i < COUNT(notes); i++) {
        str field = str_of(notes[i]);
        struct json changed =
            changed_notes(a, json_get(object_meta(want), field), json_get(object_meta(live), field), removals_only);
        if (json_len(&changed))
            json_add(a, &meta, field, changed);
    }
    return meta;
}

bool content_is_equal(struct arena *a, const struct json *want, str hash, const struct json *live)
{
    bool is_rbac = content_is_rbac(want);
    struct json meta = changed_metadata(a, want, live, !is_rbac);
    if (json_len(&meta))
        return false;
    if (is_rbac)
        return content_means_same(a, want, live);
    struct json object = content_object(a, want, hash);
    return applyset_is_equal(a, &object, live);
}

struct json content_patch(struct arena *a, const struct json *want, const struct json *live)
{
    struct json patch = json_obj(), meta = changed_metadata(a, want, live, false);
    struct json l = stored_form(a, want), r = stored_form(a, live);
    json_add(a, &patch, S("metadata"), meta);
    for (size_t i = 0; i < MEANINGS; i++) {
        const struct json *value = json_get(want, str_of(meanings[i]));
        if (!is_same(&l, &r, i))
            json_add(a, &patch, str_of(meanings[i]), value ? *value : json_null());
    }
    return patch;
}

bool content_removals(struct arena *a, const struct json *want, const struct json *live, struct json *ret)
{
    struct json meta = changed_metadata(a, want, live, true);
    if (!json_len(&meta))
        return false;
    *ret = json_obj();
    json_add(a, ret, S("metadata"), meta);
    return true;
}

/* ---- As it is sent. ---- */

str content_hash(struct arena *a, const struct json *want)
{
    enum { KEPT = 16 };
    unsigned char digest[EVP_MAX_MD_SIZE];
    struct buf text = {.arena = a}, hex = {.arena = a};
    json_encode(&text, want, JSON_SORTED);
    if (EVP_Digest(text.p, text.n, digest, NULL, EVP_sha256(), NULL) != 1)
        abort(); /* out of memory */
    for (size_t i = 0; i < KEPT; i++)
        buf_fmt(&hex, "%02x", digest[i]);
    return buf_str(&hex);
}

static struct json without_removals(struct arena *a, const struct json *values)
{
    struct json kept = json_obj();
    json_each_member(values, m)
    {
        str key;
        if (!asks_removal(json_key(m), &key))
            json_add(a, &kept, json_key(m), m->val);
    }
    return kept;
}

struct json content_object(struct arena *a, const struct json *want, str hash)
{
    struct json object = json_dup_top(a, want), meta = json_dup_top(a, object_meta(want));
    for (size_t i = 0; i < COUNT(notes); i++) {
        struct json kept = without_removals(a, json_get(&meta, str_of(notes[i])));
        json_remove(&meta, str_of(notes[i]));
        if (json_len(&kept))
            json_add(a, &meta, str_of(notes[i]), kept);
    }
    if (hash.n)
        set_note(a, &meta, S("annotations"), S(CONTENT_HASH), hash);
    json_set(a, &object, S("metadata"), meta);
    return object;
}
