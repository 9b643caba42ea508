/* SPDX-License-Identifier: Apache-2.0 */
#include "control/applyset.h"

#include "base/map.h"
#include "base/vec.h"
#include "control/control.h"
#include "control/recorder.h"
#include "object/meta.h"
#include "object/object.h"

#include <openssl/evp.h>
#include <stdlib.h>

/* ---- What is applied. ---- */

/* Half of SHA-256 in hexadecimal, of the object with its members sorted: the same on every machine. */
static str hash_of(struct arena *a, const struct json *object)
{
    enum { KEPT = 16 };
    unsigned char digest[EVP_MAX_MD_SIZE];
    struct buf text = {.arena = a}, hex = {.arena = a};
    json_encode(&text, object, JSON_SORTED);
    if (EVP_Digest(text.p, text.n, digest, NULL, EVP_sha256(), NULL) != 1)
        abort(); /* out of memory */
    for (size_t i = 0; i < KEPT; i++)
        buf_fmt(&hex, "%02x", digest[i]);
    return buf_str(&hex);
}

static struct json *child(struct arena *a, struct json *metadata, str key, enum json_type type)
{
    struct json *found = json_get_mut(metadata, key);
    if (found && json_type(found) == type)
        return found;
    return json_set(a, metadata, key, type == JSON_ARR ? json_arr() : json_obj());
}

struct json applyset_render(struct arena *a, const struct applyset *set, const struct json *want)
{
    struct json object = json_dup(a, want);
    struct json *metadata = meta_of(a, &object);
    json_set(a, child(a, metadata, S("labels"), JSON_OBJ), set->label_key, json_str(set->label_value));
    if (set->owner)
        json_push(a, child(a, metadata, S("ownerReferences"), JSON_ARR),
                  meta_owner_reference(a, set->owner, true, true));
    str hash = hash_of(a, &object);
    json_set(a, child(a, metadata, S("annotations"), JSON_OBJ), set->hash_key, json_str(hash));
    return object;
}

/* ---- Whose an object is. ---- */

static const struct json *label_of(const struct applyset *set, const struct json *object)
{
    return json_get(object_labels(object), set->label_key);
}

static bool has_owner(const struct applyset *set, const struct json *object)
{
    return !set->owner || meta_is_owned_by(object, object_uid(set->owner));
}

/* Sure enough to delete it. */
static bool is_ours(const struct applyset *set, const struct json *object)
{
    const struct json *label = label_of(set, object);
    return json_is_str(label) && str_eq(json_text(label), set->label_value) && has_owner(set, object);
}

/* Why a wanted object may not be written; empty: it may. */
static str objection(struct arena *a, const struct applyset *set, const struct json *object)
{
    const struct json *label = label_of(set, object), *controller = meta_controller_of(object);
    str kind = object_kind(object), name = object_name(object);
    if (controller && !(set->owner && str_eq(json_get_text(controller, S("uid")), object_uid(set->owner))))
        return str_fmt(a, "%.*s \"%.*s\" belongs to %.*s \"%.*s\"", STR(kind), STR(name),
                       STR(json_get_text(controller, S("kind"))), STR(json_get_text(controller, S("name"))));
    if (label && !str_eq(json_text(label), set->label_value))
        return str_fmt(a, "%.*s \"%.*s\" belongs to %.*s=%.*s", STR(kind), STR(name), STR(set->label_key),
                       STR(json_text(label)));
    if (!label && !set->adopts && !(set->owner && has_owner(set, object)))
        return str_fmt(a, "%.*s \"%.*s\" exists already and belongs to nobody", STR(kind), STR(name));
    return (str){0};
}

/* ---- The plan. ---- */

struct planning {
    struct arena *a;
    const struct applyset *set;
    struct map have;  /* key → const struct applyset_object * */
    struct map wants; /* key → the same */
    struct map kinds; /* "group kind" → size_t *: how many kinds of the wants came before */
    VEC(struct applyset_step) steps;
    size_t changes, conflicts;
};

static str kind_key(struct arena *a, const struct client_resource *resource)
{
    return str_fmt(a, "%.*s/%.*s", STR(resource->group), STR(resource->kind));
}

/* Neither groups nor kinds nor names have a slash in them. */
static str key_of(struct arena *a, const struct applyset_object *o)
{
    str namespace = o->resource.namespaced ? object_namespace(o->object) : (str){0};
    return str_fmt(a, "%.*s/%.*s/%.*s", STR(kind_key(a, &o->resource)), STR(namespace), STR(object_name(o->object)));
}

static struct applyset_step *add(struct planning *p, enum applyset_action action, const struct applyset_object *o)
{
    struct applyset_step *step = vec_push(p->a, &p->steps);
    *step = (struct applyset_step){
        .action = action,
        .resource = o->resource,
        .namespace = o->resource.namespaced ? object_namespace(o->object) : (str){0},
        .name = object_name(o->object),
    };
    p->changes += action != APPLYSET_KEEP && action != APPLYSET_CONFLICT;
    p->conflicts += action == APPLYSET_CONFLICT;
    return step;
}

static void plan_existing(struct planning *p, const struct applyset_object *want, const struct json *have)
{
    struct json object = applyset_render(p->a, p->set, want->object), patch;
    str text = objection(p->a, p->set, have);
    struct applyset_step *step;
    bool is_going = object_is_deleting(have); /* it is made anew when it is gone */
    /* Its rules are written by the aggregation controller as long as the aggregationRule is there: that goes first. */
    bool is_aggregated = json_get(have, S("aggregationRule")) && json_is_null(json_get(&object, S("aggregationRule")));
    if (text.n) {
        step = add(p, APPLYSET_CONFLICT, want);
    } else if (!is_going && !is_aggregated && !applyset_is_equal(p->a, &object, have)) {
        step = add(p, APPLYSET_APPLY, want);
        step->object = object;
        step->is_repair =
            str_eq(object_annotation(have, p->set->hash_key), object_annotation(&object, p->set->hash_key));
    } else if (!is_going && applyset_excess(p->a, &object, have, &patch, &text)) {
        step = add(p, APPLYSET_TRIM, want);
        step->object = patch;
        step->is_repair = true;
    } else {
        step = add(p, APPLYSET_KEEP, want);
    }
    step->text = text;
    step->uid = object_uid(have);
    step->version = object_rv(have);
}

static void plan_want(struct planning *p, const struct applyset_object *want)
{
    str key = key_of(p->a, want), kind = kind_key(p->a, &want->resource);
    const struct applyset_object *there = map_get(&p->have, key);
    if (!map_get(&p->kinds, kind)) {
        size_t *rank = ARENA_NEW(p->a, size_t);
        *rank = p->kinds.n;
        map_set(&p->kinds, kind, rank);
    }
    if (map_set(&p->wants, key, (void *)want))
        add(p, APPLYSET_CONFLICT, want)->text =
            str_fmt(p->a, "%.*s \"%.*s\" is wanted twice", STR(want->resource.kind), STR(object_name(want->object)));
    else if (there)
        plan_existing(p, want, there->object);
    else
        add(p, APPLYSET_CREATE, want)->object = applyset_render(p->a, p->set, want->object);
}

/* ---- Deletions. ---- */

struct leftover {
    const struct applyset_object *object;
    size_t rank; /* kinds that are not wanted at all go first */
};

static int by_rank(const void *x, const void *y)
{
    const struct leftover *l = x, *r = y;
    if (l->rank != r->rank)
        return l->rank > r->rank ? -1 : 1;
    int order = str_cmp(l->object->resource.group, r->object->resource.group);
    order = order ? order : str_cmp(l->object->resource.kind, r->object->resource.kind);
    order = order ? order : str_cmp(object_namespace(l->object->object), object_namespace(r->object->object));
    return order ? order : str_cmp(object_name(l->object->object), object_name(r->object->object));
}

static void plan_deletions(struct planning *p, const struct applyset_object *have, size_t n)
{
    struct leftover *list = ARENA_ARRAY(p->a, struct leftover, n);
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        const struct json *object = have[i].object;
        if (map_get(&p->wants, key_of(p->a, &have[i])) || !is_ours(p->set, object) || object_is_deleting(object))
            continue;
        const size_t *rank = map_get(&p->kinds, kind_key(p->a, &have[i].resource));
        list[found++] = (struct leftover){&have[i], rank ? *rank : SIZE_MAX};
    }
    if (found)
        qsort(list, found, sizeof *list, by_rank);
    for (size_t i = 0; i < found; i++) {
        struct applyset_step *step = add(p, APPLYSET_DELETE, list[i].object);
        step->uid = object_uid(list[i].object->object);
        step->version = object_rv(list[i].object->object);
    }
}

struct applyset_plan applyset_plan(struct arena *a, const struct applyset *set, const struct applyset_object *wants,
                                   size_t n_wants, const struct applyset_object *have, size_t n_have)
{
    struct planning p = {.a = a, .set = set};
    for (size_t i = 0; i < n_have; i++)
        map_set(&p.have, key_of(a, &have[i]), (void *)&have[i]);
    for (size_t i = 0; i < n_wants; i++)
        plan_want(&p, &wants[i]);
    plan_deletions(&p, have, n_have);
    map_done(&p.have);
    map_done(&p.wants);
    map_done(&p.kinds);
    return (struct applyset_plan){p.steps.p, p.steps.n, p.changes, p.conflicts};
}

/* ---- The effects. ---- */

static int write_step(struct client *c, struct arena *a, const struct applyset *set, const struct applyset_step *step,
                      struct err *err)
{
    struct client_ref ref = {.resource = &step->resource, .namespace = step->namespace, .name = step->name};
    struct client_write_options options = {.field_manager = set->field_manager, .force = step->uid.n > 0};
    struct json object = json_dup(a, &step->object);
    if (step->uid.n)
        json_set(a, meta_of(a, &object), S("uid"), json_str(step->uid));
    int code = client_apply(c, a, &ref, &object, &options, NULL, err);
    if (code < 0)
        return err_wrap(err, "apply %.*s \"%.*s\"", STR(step->resource.kind), STR(step->name));
    return 0;
}

static int trim_step(struct client *c, struct arena *a, const struct applyset *set, const struct applyset_step *step,
                     struct err *err)
{
    struct client_ref ref = {.resource = &step->resource, .namespace = step->namespace, .name = step->name};
    struct client_patch_args args = {json_is_arr(&step->object) ? CLIENT_PATCH_JSON : CLIENT_PATCH_MERGE,
                                     &step->object,
                                     {.field_manager = set->field_manager}};
    int code = client_patch(c, a, &ref, &args, NULL, err);
    if (code < 0 && !client_is_gone(err))
        return err_wrap(err, "remove foreign fields of %.*s \"%.*s\"", STR(step->resource.kind), STR(step->name));
    return 0;
}

static int delete_step(struct client *c, struct arena *a, const struct applyset_step *step, struct err *err)
{
    struct client_ref ref = {.resource = &step->resource, .namespace = step->namespace, .name = step->name};
    struct client_delete_options options = {.propagation = S("Background"), .uid = step->uid, .version = step->version};
    int code = client_delete(c, a, &ref, &options, NULL, err);
    if (code < 0 && !client_is_gone(err))
        return err_wrap(err, "delete %.*s \"%.*s\"", STR(step->resource.kind), STR(step->name));
    return 0;
}

int applyset_run(struct client *c, struct arena *a, const struct applyset *set, const struct applyset_plan *plan,
                 size_t *ret_done, struct err *err)
{
    int code = 0;
    size_t done = 0;
    for (size_t i = 0; code == 0 && i < plan->n; i++) {
        const struct applyset_step *step = &plan->p[i];
        if (step->action == APPLYSET_CREATE || step->action == APPLYSET_APPLY)
            code = write_step(c, a, set, step, err);
        else if (step->action == APPLYSET_TRIM)
            code = trim_step(c, a, set, step, err);
        else if (step->action == APPLYSET_DELETE)
            code = delete_step(c, a, step, err);
        done += code == 0;
    }
    if (ret_done)
        *ret_done = done;
    return code;
}

/* ---- Repairs. ---- */

static struct json subject_of(struct arena *a, const struct applyset_step *step)
{
    struct json object = json_obj(), meta = json_obj();
    const struct client_resource *r = &step->resource;
    str version = r->group.n ? str_fmt(a, "%.*s/%.*s", STR(r->group), STR(r->version)) : r->version;
    json_add(a, &meta, S("name"), json_str(step->name));
    if (step->namespace.n)
        json_add(a, &meta, S("namespace"), json_str(step->namespace));
    json_add(a, &meta, S("uid"), json_str(step->uid));
    json_add(a, &object, S("apiVersion"), json_str(version));
    json_add(a, &object, S("kind"), json_str(r->kind));
    json_add(a, &object, S("metadata"), meta);
    return object;
}

void applyset_report_repair(struct control *c, struct recorder *r, struct arena *a, const struct json *about,
                            const struct applyset_step *step)
{
    if (!step->is_repair || step->action == APPLYSET_KEEP || step->action == APPLYSET_CONFLICT)
        return;
    struct json subject = about ? *about : subject_of(a, step);
    const char *what = step->action == APPLYSET_CREATE ? "was deleted" : "was changed";
    bool has_field = step->text.n > 0;
    control_repaired(c, step->resource.kind);
    recorder_event(r, &subject, RECORDER_WARNING, S("DriftRepaired"),
                   str_fmt(a, "%.*s %.*s %s by another client%s%.*s%s. It was restored.", STR(step->resource.kind),
                           STR(step->name), what, has_field ? " (" : "", STR(step->text), has_field ? ")" : ""));
}
