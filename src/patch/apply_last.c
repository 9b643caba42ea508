/* SPDX-License-Identifier: Apache-2.0 */
/* The annotation in which client-side apply remembers what it applied. kubectl moves from that to server-side apply
 * without conflicts: fields the annotation set, and nobody changed since, are its own. */
#include "patch/apply_parts.h"

static const str annotation_name = S_INIT("kubectl.kubernetes.io/last-applied-configuration");

enum { ANNOTATIONS_MAX = 256 * 1024 };

static const struct json *annotations_of(const struct json *object)
{
    return json_get(json_get(object, S("metadata")), S("annotations"));
}

str last_applied_text(const struct json *object)
{
    return json_get_text(annotations_of(object), annotation_name);
}

bool last_applied_fields(struct arena *a, const struct managed_write *w, const struct json *live, struct fieldset *ret)
{
    str text = last_applied_text(live);
    struct json config;
    struct fieldset change;
    struct err err;
    if (text.n == 0 || json_decode(a, text, NULL, NULL, &config, &err) < 0 || !json_is_obj(&config))
        return false;
    if (!str_eq(json_get_text(&config, S("apiVersion")), w->api_version))
        return false;
    if (value_check(&w->type, &config, a, &err) < 0 || value_diff(a, &w->type, &config, live, &change, &err) < 0)
        return false;
    *ret = fieldset_minus(a, value_fields(a, &w->type, &config), change, FIELDSET_IN | FIELDSET_REMOVED);
    return true;
}

/* Object with metadata.annotations set, or removed when it is null. */
static struct json with_annotations(struct arena *a, const struct json *object, struct json annotations)
{
    struct json out = json_dup_top(a, object), meta = json_dup_top(a, json_get(object, S("metadata")));
    json_set(a, &meta, S("annotations"), annotations);
    json_set(a, &out, S("metadata"), meta);
    return out;
}

static str annotation_text(struct arena *a, const struct json *config)
{
    struct json plain = *config;
    const struct json *annotations = annotations_of(config);
    if (json_get(annotations, annotation_name)) {
        struct json rest = json_dup_top(a, annotations);
        json_remove(&rest, annotation_name);
        plain = with_annotations(a, config, rest);
    }
    struct buf b = {.arena = a};
    json_encode(&b, &plain, JSON_SORTED);
    buf_add_char(&b, '\n');
    return buf_str(&b);
}

struct json last_applied_refresh(struct arena *a, const struct json *object, const struct json *config)
{
    const struct json *annotations = annotations_of(object);
    size_t total = 0;
    if (last_applied_text(object).n == 0)
        return *object;
    str text = annotation_text(a, config);
    if (str_eq(text, last_applied_text(object)))
        return *object;
    struct json next = json_dup_top(a, annotations);
    json_set(a, &next, annotation_name, json_str(text));
    json_each_member(&next, m) total += m->key_n + json_text(&m->val).n;
    if (total > ANNOTATIONS_MAX)
        json_remove(&next, annotation_name);
    return with_annotations(a, object, next);
}
