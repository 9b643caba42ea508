/* SPDX-License-Identifier: Apache-2.0 */
#include "control/applyset.h"

#include "authz/validate.h"
#include "kinds/builtin.h"
#include "kinds/strategy.h"
#include "kinds/strict.h"
#include "object/meta.h"
#include "object/object.h"
#include "patch/apply.h"

/* ---- Kinds that we know: what the server would do, done here. ---- */

/* A copy in the one form that servers keep, without what only they write down. What a newer server has besides is left out. */
static int to_stored_form(struct arena *a, const struct kind *kind, const struct json *object, struct json *ret)
{
    *ret = json_dup(a, object);
    json_remove(json_get_mut(ret, S("metadata")), S("managedFields"));
    if (strict_decode(a, kind->shape, ret, NULL, NULL, NULL) < 0)
        return -1;
    strategy_default(a, kind, ret);
    rbac_default(a, kind, ret);
    return 0;
}

/* 1: nothing would change, 0: something would, negative: these objects cannot be understood. */
static int compare_applied(struct arena *a, const struct kind *kind, const struct json *want, const struct json *have)
{
    struct json live, merged;
    struct apply_result result;
    if (to_stored_form(a, kind, have, &live) < 0)
        return -1;
    /* Manager and time are of no consequence: nobody's fields are known here, and all may be taken. */
    struct apply_args args = {
        .write = {.type = typed_of_shape(kind->shape),
                  .api_version = object_api_version(want),
                  .kind = object_kind(want),
                  .manager = S("applyset"),
                  .time = S("2000-01-01T00:00:00Z")},
        .live = &live,
        .config = want,
        .force = true,
    };
    if (apply_patch(a, &args, &result, NULL) < 0 || to_stored_form(a, kind, &result.object, &merged) < 0)
        return -1;
    return json_equal(&live, &merged);
}

/* ---- Kinds that we do not know. ---- */

/* All of want is in have. Servers add defaults to objects, in lists too, but no items. */
static bool is_within(const struct json *want, const struct json *have)
{
    if (json_is_obj(want) && json_is_obj(have)) {
        struct json_index members JSON_INDEX_SCOPE;
        json_index_init(&members, have);
        json_each_member(want, m)
        {
            const struct json_member *there = json_index_find(&members, json_key(m));
            if (!json_is_null(&m->val) && (!there || !is_within(&m->val, &there->val)))
                return false;
        }
        return true;
    }
    if (json_is_arr(want) && json_is_arr(have)) {
        bool is_same = want->n == have->n;
        for (uint32_t i = 0; is_same && i < want->n; i++)
            is_same = is_within(&want->items[i], &have->items[i]);
        return is_same;
    }
    return json_equal(want, have);
}

bool applyset_is_equal(struct arena *a, const struct json *want, const struct json *have)
{
    const struct kind *kind = kind_builtin_by_body(object_api_version(want), object_kind(want));
    int same = kind && kind->shape ? compare_applied(a, kind, want, have) : -1;
    return same < 0 ? is_within(want, have) : same > 0;
}

/* ---- What an apply leaves: fields that other clients added. ---- */

#define RESTARTED_AT "kubectl.kubernetes.io/restartedAt"

/* The path of the first member or item that x has otherwise than y, below path. */
static str first_difference(struct arena *a, str path, const struct json *x, const struct json *y)
{
    if (json_is_obj(x) && json_is_obj(y)) {
        json_each_member(x, m)
        {
            const struct json *other = json_get(y, json_key(m));
            if (!json_equal(&m->val, other))
                return first_difference(a, str_fmt(a, "%.*s.%.*s", STR(path), STR(json_key(m))), &m->val, other);
        }
        json_each_member(y, m)
        {
            if (!json_get(x, json_key(m)))
                return str_fmt(a, "%.*s.%.*s", STR(path), STR(json_key(m)));
        }
    }
    for (uint32_t i = 0; json_is_arr(x) && json_is_arr(y) && x->n == y->n && i < x->n; i++) {
        if (!json_equal(&x->items[i], &y->items[i]))
            return first_difference(a, str_fmt(a, "%.*s[%u]", STR(path), i), &x->items[i], &y->items[i]);
    }
    return path;
}

/* want with what others may set. */
static struct json with_allowed(struct arena *a, const struct json *want, const struct json *have)
{
    struct json next = json_dup(a, want);
    struct json *spec = json_get_mut(&next, S("spec"));
    const struct json *replicas = json_dig(have, "spec.replicas");
    const struct json *notes = json_dig(have, "spec.template.metadata.annotations");
    const struct json *restarted = json_get(notes, S(RESTARTED_AT));
    if (!json_is_null(replicas) && json_is_null(json_get(spec, S("replicas"))))
        json_set(a, spec, S("replicas"), *replicas);
    struct json *template = json_get_mut(spec, S("template"));
    if (json_is_str(restarted) && template) {
        struct json *meta = meta_of(a, template), *annotations = json_get_mut(meta, S("annotations"));
        if (!json_is_obj(annotations))
            annotations = json_set(a, meta, S("annotations"), json_obj());
        json_set(a, annotations, S(RESTARTED_AT), *restarted);
    }
    return next;
}

static void add_operation(struct arena *a, struct json *patch, str op, str path, struct json value)
{
    struct json operation = json_obj();
    json_add(a, &operation, S("op"), json_str(op));
    json_add(a, &operation, S("path"), json_str(path));
    json_add(a, &operation, S("value"), value);
    json_push(a, patch, operation);
}

static bool excess_of_deployment(struct arena *a, const struct kind *kind, const struct json *want,
                                 const struct json *have, struct json *ret_patch, str *ret_text)
{
    struct json live, next = with_allowed(a, want, have), expected;
    if (to_stored_form(a, kind, have, &live) < 0 || to_stored_form(a, kind, &next, &expected) < 0)
        return false; /* as applyset_is_equal: nothing is known of it */
    const struct json *spec = json_get(&live, S("spec")), *wanted = json_get(&expected, S("spec"));
    bool has_spec = !json_equal(spec, wanted), has_labels = !json_equal(object_labels(&live), object_labels(&expected));
    if (!has_spec && !has_labels)
        return false;
    *ret_text = has_spec ? first_difference(a, S("spec"), wanted, spec)
                         : first_difference(a, S("metadata.labels"), object_labels(&expected), object_labels(&live));
    *ret_patch = json_arr();
    add_operation(a, ret_patch, S("test"), S("/metadata/uid"), json_str(object_uid(have)));
    if (has_spec)
        add_operation(a, ret_patch, S("replace"), S("/spec"), *json_get(&next, S("spec")));
    if (has_labels)
        add_operation(a, ret_patch, S("replace"), S("/metadata/labels"), *object_labels(&next));
    return true;
}

static bool is_aggregation_key(str key)
{
    str prefix, name;
    if (!str_cut(key, '/', &prefix, &name))
        return false;
    return str_eq(prefix, S("crossplane.io")) || str_has_suffix(prefix, S(".crossplane.io")) ||
           str_has_suffix(prefix, S(".k8s.io"));
}

static bool excess_of_role(struct arena *a, const struct json *want, const struct json *have, struct json *ret_patch,
                           str *ret_text)
{
    struct json labels = json_obj(), meta = json_obj();
    struct json_index wanted JSON_INDEX_SCOPE = {0};
    const struct json *live = object_labels(have);
    *ret_text = (str){0};
    *ret_patch = json_obj();
    json_index_init(&wanted, object_labels(want));
    json_each_member(live, m)
    {
        if (is_aggregation_key(json_key(m)) && !json_index_find(&wanted, json_key(m))) {
            json_add(a, &labels, json_key(m), json_null());
            *ret_text = ret_text->n ? *ret_text : str_fmt(a, "metadata.labels.%.*s", STR(json_key(m)));
        }
    }
    json_add(a, &meta, S("uid"), json_str(object_uid(have)));
    if (json_len(&labels))
        json_add(a, &meta, S("labels"), labels);
    json_add(a, ret_patch, S("metadata"), meta);
    if (!json_is_null(json_get(have, S("aggregationRule"))) && json_is_null(json_get(want, S("aggregationRule")))) {
        json_add(a, ret_patch, S("aggregationRule"), json_null());
        *ret_text = S("aggregationRule");
    }
    return ret_text->n > 0;
}

bool applyset_excess(struct arena *a, const struct json *want, const struct json *have, struct json *ret_patch,
                     str *ret_text)
{
    const struct kind *kind = kind_builtin_by_body(object_api_version(want), object_kind(want));
    if (!kind || !kind->shape)
        return false;
    if (str_eq(object_kind(want), S("Deployment")))
        return excess_of_deployment(a, kind, want, have, ret_patch, ret_text);
    if (str_eq(object_kind(want), S("ClusterRole")) || str_eq(object_kind(want), S("Role")))
        return excess_of_role(a, want, have, ret_patch, ret_text);
    return false;
}
