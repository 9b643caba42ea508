/* SPDX-License-Identifier: Apache-2.0 */
#include "base/budget.h"
#include "base/map.h"
#include "object/meta.h"
#include "object/object.h"
#include "object/status.h"

/* ownerReferences: who must go before, or takes along, an object. */

/* A reference as Go prints the struct. Where Go shows the address of a set boolean we show its value. */
static void add_shown(struct buf *b, const struct json *ref)
{
    static const char *const texts[][2] = {
        {"APIVersion", "apiVersion"}, {"Kind", "kind"}, {"Name", "name"}, {"UID", "uid"}};
    static const char *const flags[][2] = {{"Controller", "controller"}, {"BlockOwnerDeletion", "blockOwnerDeletion"}};
    buf_add_str(b, S("v1.OwnerReference{"));
    for (size_t i = 0; i < COUNT(texts); i++) {
        buf_fmt(b, "%s:", texts[i][0]);
        buf_add_quoted(b, json_get_text(ref, str_of(texts[i][1])));
        buf_add_str(b, S(", "));
    }
    for (size_t i = 0; i < COUNT(flags); i++) {
        const struct json *v = json_get(ref, str_of(flags[i][1]));
        buf_fmt(b, "%s%s:(*bool)(%s)", i ? ", " : "", flags[i][0],
                json_is_null(v) ? "nil"
                : json_true(v)  ? "true"
                                : "false");
    }
    buf_add_char(b, '}');
}

static str shown_list(struct arena *a, const struct json *owners)
{
    struct buf b = {.arena = a};
    buf_add_str(&b, S("[]v1.OwnerReference{"));
    json_each_item(owners, ref)
    {
        if (ref != owners->items)
            buf_add_str(&b, S(", "));
        add_shown(&b, ref);
    }
    buf_add_char(&b, '}');
    return buf_str(&b);
}

/* The version of "apps/v1" or "v1"; empty when there are too many slashes. */
static str version_of(str api_version)
{
    str group, version;
    return kind_split_api_version(api_version, &group, &version) ? version : (str){0};
}

static void validate_one(struct field_errors *errs, str field, const struct json *ref)
{
    budget_charge(20);
    static const struct {
        const char *name, *text;
    } wanted[] = {
        {"kind", "kind must not be empty"},
        {"name", "name must not be empty"},
        {"uid", "uid must not be empty"},
    };
    struct arena *a = errs->arena;
    str api_version = json_get_text(ref, S("apiVersion"));
    if (version_of(api_version).n == 0)
        field_error_add(errs, FIELD_INVALID, field_child(a, field, S("apiVersion")), field_quote(a, api_version),
                        "version must not be empty");
    for (size_t i = 0; i < COUNT(wanted); i++) {
        if (json_get_text(ref, str_of(wanted[i].name)).n == 0)
            field_error_add(errs, FIELD_INVALID, field_child(a, field, str_of(wanted[i].name)), S("\"\""), "%s",
                            wanted[i].text);
    }
    if (str_eq(api_version, S("v1")) && str_eq(object_kind(ref), S("Event"))) {
        struct buf shown = {.arena = a};
        add_shown(&shown, ref);
        field_error_add(errs, FIELD_INVALID, field, buf_str(&shown),
                        "/v1, Kind=Event is disallowed from being an owner");
    }
}

void meta_validate_owners(struct field_errors *errs, str field, const struct json *owners)
{
    enum { SAID_ENOUGH = 8 }; /* each text shows the whole list */
    const struct json *first = NULL;
    str shown = {0};
    int said = 0;
    json_each_item(owners, ref)
    {
        validate_one(errs, field, ref);
        if (!json_true(json_get(ref, S("controller"))) || said == SAID_ENOUGH)
            continue;
        if (first == NULL) {
            first = ref;
            continue;
        }
        if (said++ == 0)
            shown = shown_list(errs->arena, owners);
        field_error_add(errs, FIELD_INVALID, field, shown,
                        "Only one reference can have Controller set to true. Found \"true\" in references for "
                        "%.*s/%.*s and %.*s/%.*s",
                        STR(object_kind(first)), STR(json_get_text(first, S("name"))), STR(object_kind(ref)),
                        STR(json_get_text(ref, S("name"))));
    }
}

/* ---- Duplicates. ---- */

void meta_dedup_owners(struct arena *a, struct json *object, struct meta_warnings *warnings)
{
    const struct json *owners = object_owners(object);
    struct arena scratch ARENA_SCOPE = {0};
    struct map seen = {0};
    struct json kept = json_arr_sized(a, json_len(owners));
    struct buf twice = {.arena = &scratch};
    if (!json_is_arr(owners))
        return;
    json_each_item(owners, ref)
    {
        struct buf text = {.arena = &scratch};
        json_encode(&text, ref, JSON_SORTED);
        if (!map_set(&seen, buf_str(&text), (void *)ref)) {
            json_push(a, &kept, *ref);
            continue;
        }
        if (twice.n)
            buf_add_str(&twice, S(", "));
        buf_add_str(&twice, json_get_text(ref, S("uid")));
    }
    map_done(&seen);
    if (kept.n == owners->n)
        return;
    json_set(a, meta_of(a, object), S("ownerReferences"), kept);
    *vec_push(warnings->arena, &warnings->list) =
        str_fmt(warnings->arena,
                ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, "
                "and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: "
                "%.*s",
                STR(buf_str(&twice)));
}

/* ---- Reading and making. ---- */

const struct json *meta_controller_of(const struct json *object)
{
    const struct json *owners = object_owners(object);
    json_each_item(owners, ref)
    {
        if (json_true(json_get(ref, S("controller"))))
            return ref;
    }
    return NULL;
}

bool meta_is_owned_by(const struct json *object, str uid)
{
    const struct json *owners = object_owners(object);
    json_each_item(owners, ref)
    {
        if (str_eq(json_get_text(ref, S("uid")), uid))
            return true;
    }
    return false;
}

struct json meta_owner_reference(struct arena *a, const struct json *owner, bool controller, bool block_deletion)
{
    str api_version = object_api_version(owner), kind = object_kind(owner);
    str name = object_name(owner), uid = object_uid(owner);
    return json_build(
        a, "{apiVersion: '%.*s', kind: '%.*s', name: '%.*s', uid: '%.*s', controller?: %c, blockOwnerDeletion?: %c}",
        STR(api_version), STR(kind), STR(name), STR(uid), (int)controller, (int)block_deletion);
}

/* ---- Deletion: finalizers and propagation policy. ---- */

static const str orphan = S_INIT("orphan");
static const str foreground = S_INIT("foregroundDeletion");

/* ---- Options. ---- */

static void validate_dry_run(struct field_errors *errs, const struct json *list)
{
    VEC(str) values = {0};
    bool bad = !json_is_arr(list) && !json_is_null(list);
    json_each_item(list, v)
    {
        *vec_push(errs->arena, &values) = json_text(v);
        bad = bad || !str_eq(json_text(v), S("All"));
    }
    if (bad)
        field_error_add(errs, FIELD_NOT_SUPPORTED, S("dryRun"), field_strings(errs->arena, values.p, values.n),
                        "supported values: \"All\"");
}

void meta_validate_delete_options(struct field_errors *errs, const struct json *options)
{
    const struct json *policy = json_get(options, S("propagationPolicy"));
    str text = json_text(policy);
    if (!json_is_null(policy) && !json_is_null(json_get(options, S("orphanDependents"))))
        field_error_add(errs, FIELD_INVALID, S("propagationPolicy"), field_quote(errs->arena, text),
                        "orphanDependents and deletionPropagation cannot be both set");
    if (!json_is_null(policy) && !str_eq(text, S("Foreground")) && !str_eq(text, S("Background")) &&
        !str_eq(text, S("Orphan")))
        field_error_add(errs, FIELD_NOT_SUPPORTED, S("propagationPolicy"), field_quote(errs->arena, text),
                        "supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\"");
    validate_dry_run(errs, json_get(options, S("dryRun")));
}

static bool is_namespace(const struct kind *kind)
{
    return kind->group[0] == 0 && strcmp(kind->plural, "namespaces") == 0;
}

int meta_check_preconditions(struct arena *a, const struct kind *kind, const struct json *object,
                             const struct json *options, struct json *ret_status)
{
    /* Namespaces have a text of their own; for all others the Kind is in the place of the plural. */
    struct status_subject about = {str_of(kind->group), str_of(kind->kind), object_name(object)};
    const struct json *wanted = json_get(options, S("preconditions"));
    const struct json *uid = json_get(wanted, S("uid")), *rv = json_get(wanted, S("resourceVersion"));
    bool is_other = !json_is_null(uid) && !str_eq(json_text(uid), object_uid(object));
    if (!is_other && (json_is_null(rv) || str_eq(json_text(rv), object_rv(object))))
        return 0;
    str sent = json_text(is_other ? uid : rv), stored = is_other ? object_uid(object) : object_rv(object), why;
    const char *what = is_other ? "UID" : "ResourceVersion";
    if (is_namespace(kind)) {
        about.kind = str_of(kind->plural);
        why = str_fmt(a, "Precondition failed: %s in precondition: %.*s, %s in object meta: %.*s", what, STR(sent),
                      what, STR(stored));
    } else {
        why = str_fmt(
            a, "the %s in the precondition (%.*s) does not match the %s in record (%.*s). The object might %s", what,
            STR(sent), what, STR(stored), is_other ? "have been deleted and then recreated" : "have been modified");
    }
    *ret_status = status_conflict(a, about, why);
    return ERR_CONFLICT;
}

/* ---- Finalizers. ---- */

bool meta_add_finalizer(struct arena *a, struct json *object, str name)
{
    if (object_has_finalizer(object, name))
        return false;
    struct json *meta = meta_of(a, object);
    struct json *list = json_get_mut(meta, S("finalizers"));
    if (!json_is_arr(list))
        list = json_set(a, meta, S("finalizers"), json_arr());
    json_push(a, list, json_str(str_dup(a, name)));
    return true;
}

bool meta_remove_finalizer(struct json *object, str name)
{
    struct json *meta = json_get_mut(object, S("metadata"));
    struct json *list = json_get_mut(meta, S("finalizers"));
    size_t kept = 0, n = json_is_arr(list) ? list->n : 0;
    for (size_t i = 0; i < n; i++) {
        if (!str_eq(json_text(&list->items[i]), name))
            list->items[kept++] = list->items[i];
    }
    if (kept == n)
        return false;
    list->n = (uint32_t)kept;
    if (kept == 0)
        json_remove(meta, S("finalizers"));
    return true;
}

/* Which of the two finalizers the policy requires: from the options, else from the object, else the default of the
 * kind. Events have no dependents. */
static str wanted_finalizer(const struct kind *kind, const struct json *object, const struct json *options)
{
    const struct json *old_flag = json_get(options, S("orphanDependents"));
    const struct json *policy = json_get(options, S("propagationPolicy"));
    const struct json *list = object_finalizers(object);
    if (strcmp(kind->plural, "events") == 0 && !(kind->flags & KIND_CUSTOM))
        return (str){0};
    if (!json_is_null(old_flag))
        return json_true(old_flag) ? orphan : (str){0};
    if (str_eq(json_text(policy), S("Orphan")))
        return orphan;
    if (str_eq(json_text(policy), S("Foreground")))
        return foreground;
    if (!json_is_null(policy))
        return (str){0};
    json_each_item(list, f)
    {
        if (str_eq(json_text(f), orphan) || str_eq(json_text(f), foreground))
            return json_text(f);
    }
    return kind->flags & KIND_ORPHANS ? orphan : (str){0};
}

void meta_warn_delete(struct meta_warnings *warnings, const struct kind *kind, const struct json *options)
{
    bool is_said = !json_is_null(json_get(options, S("propagationPolicy"))) ||
                   !json_is_null(json_get(options, S("orphanDependents")));
    if (!is_said && (kind->flags & KIND_ORPHANS) && strcmp(kind->plural, "jobs") == 0)
        *vec_push(warnings->arena, &warnings->list) = S(
            "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or "
            "set propagationPolicy=Orphan to suppress this warning");
}

static bool set_policy(struct arena *a, const struct kind *kind, struct json *object, const struct json *options)
{
    str wanted = wanted_finalizer(kind, object, options);
    bool changed = false;
    if (!str_eq(wanted, orphan))
        changed = meta_remove_finalizer(object, orphan);
    if (!str_eq(wanted, foreground))
        changed = meta_remove_finalizer(object, foreground) || changed;
    if (wanted.n)
        changed = meta_add_finalizer(a, object, wanted) || changed;
    return changed;
}

/* ---- Marking. ---- */

/* A namespace is also kept by its spec, until everything in it is deleted. */
static bool is_held(const struct kind *kind, const struct json *object)
{
    return json_len(object_finalizers(object)) > 0 ||
           (is_namespace(kind) && json_len(json_dig(object, "spec.finalizers")) > 0);
}

static void mark(struct arena *a, const struct kind *kind, struct json *object, const struct clock *clock)
{
    struct json *meta = meta_of(a, object);
    int64_t generation = object_generation(object);
    json_set(a, meta, S("deletionTimestamp"), meta_now(a, clock));
    if (generation > 0)
        json_set(a, meta, S("generation"), json_int(generation + 1));
    if (!is_namespace(kind)) {
        json_set(a, meta, S("deletionGracePeriodSeconds"), json_int(0));
        return;
    }
    struct json *status = json_get_mut(object, S("status"));
    if (!json_is_obj(status))
        status = json_set(a, object, S("status"), json_obj());
    json_set(a, status, S("phase"), json_str(S("Terminating")));
}

enum meta_deletion meta_prepare_delete(struct arena *a, const struct kind *kind, struct json *object,
                                       const struct json *options, const struct clock *clock)
{
    bool first = !object_is_deleting(object);
    /* A namespace that is already going keeps the policy of the first request. */
    bool changed = (first || !is_namespace(kind)) && set_policy(a, kind, object, options);
    /* The first request always marks a namespace: whatever is inside must see it. */
    if (!is_held(kind, object) && !(first && is_namespace(kind)))
        return META_DELETE_NOW;
    if (first)
        mark(a, kind, object, clock);
    return first || changed ? META_DELETE_MARKED : META_DELETE_PENDING;
}

bool meta_is_gone_after(const struct kind *kind, const struct json *object, const struct json *current)
{
    int64_t grace;
    const struct json *left = json_get(object_meta(current), S("deletionGracePeriodSeconds"));
    bool waits = json_to_int(left, &grace) && grace > 0;
    return object_is_deleting(current) && !is_held(kind, object) && !waits;
}
