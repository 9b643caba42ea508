/* SPDX-License-Identifier: Apache-2.0 */
#include "api/api_value.h"
#include "api/scale.h"
#include "api/schemas.h"
#include "api/write_internal.h"
#include "authz/escalation.h"
#include "authz/validate.h"
#include "kinds/builtin.h"
#include "kinds/strategy.h"
#include "kinds/strict.h"
#include "object/object.h"
#include "patch/apply.h"

#include <assert.h>

/* From what a client wants to what may be stored: the order in which everybody has a say about a new object or a change. */

/* ---- Small things. ---- */

struct meta_place write_place(const struct write *w)
{
    return (struct meta_place){.kind = w->kind, .namespace = w->namespace, .name = w->name};
}

str write_part(const struct write *w)
{
    return str_eq(w->subresource, S("scale")) ? (str){0} : w->subresource;
}

struct status_subject write_subject(const struct write *w, str name)
{
    return (struct status_subject){str_of(w->kind->group), str_of(w->kind->plural), name};
}

struct status_subject write_subject_kind(const struct write *w, str name)
{
    return (struct status_subject){str_of(w->kind->group), str_of(w->kind->kind), name};
}

enum write_step write_refused(struct write *w, struct json status)
{
    w->status = status;
    return WRITE_REFUSED;
}

enum write_step write_failed(struct write *w, const struct err *err)
{
    /* Kubernetes gives no reason for what it did not foresee. */
    return write_refused(w, err->code == ERR_INTERNAL
                                ? status_unknown(&w->work, decode_show(&w->work, str_of(err->msg)))
                                : status_of_err(&w->work, err));
}

void write_warn(struct write *w, str text)
{
    *vec_push(&w->work, &w->warnings) = text;
}

void write_warn_all(struct write *w, const struct strict_notes *notes)
{
    for (size_t i = 0; i < notes->list.n; i++)
        write_warn(w, notes->list.p[i]);
}

bool write_take_body(struct write *w)
{
    struct decoded body;
    struct err err = {0};
    struct meta_place place = write_place(w);
    if (decode_body(w->r, &w->work, w->kind, &body, &w->status) < 0)
        return false;
    write_warn_all(w, &body.notes);
    w->next = body.object;
    if (meta_place(&w->work, &place, &w->next, &err) == 0)
        return true;
    write_failed(w, &err);
    return false;
}

int write_load(struct write *w, str name, struct err *err)
{
    struct store_item item;
    str namespace = w->kind->namespaced ? w->namespace : (str){0};
    int rc = value_get(w->api, &w->work, w->kind, namespace, name, &w->current, &item, err);
    w->exists = rc == 0;
    w->revision = rc == 0 ? item.revision : 0;
    w->stored_bytes = rc == 0 ? item.value.n : 0;
    return rc;
}

bool write_may_create(struct write *w)
{
    const struct api_request *r = w->r;
    struct authz_attributes what = route_attributes(r);
    what.verb = S("create");
    struct authz_decision decision = authz_check(w->api->authz, &r->who, &what, &w->work);
    if (decision.allowed)
        return true;
    struct status_attempt attempt = {
        .user = r->who.user,
        .verb = what.verb,
        .group = what.group,
        .resource = what.resource,
        .subresource = what.subresource,
        .namespace = what.namespace,
        .name = what.name,
    };
    w->status = status_forbidden_attempt(&w->work, &attempt, decision.reason);
    return false;
}

/* ---- What everybody has to say. ---- */

void write_dedup_owners(struct write *w)
{
    struct meta_warnings warnings = {.arena = &w->work};
    meta_dedup_owners(&w->work, &w->next, &warnings);
    vec_each(&warnings.list, text) write_warn(w, *text);
}

static void warn_finalizers(struct write *w)
{
    struct meta_warnings warnings = {.arena = &w->work};
    meta_warn_finalizers(&warnings, w->kind, &w->next, w->is_create ? NULL : &w->current);
    vec_each(&warnings.list, text) write_warn(w, *text);
}

static struct admission_write admission_of(struct write *w)
{
    return (struct admission_write){
        .arena = &w->work,
        .operation = w->is_create ? ADMISSION_CREATE : ADMISSION_UPDATE,
        .kind = w->kind,
        .namespace = w->kind->namespaced ? w->namespace : (str){0},
        .name = w->name.n ? w->name : object_name(&w->next),
        .subresource = w->subresource,
        .who = &w->r->who,
        .object = &w->next,
        .current = w->is_create ? NULL : &w->current,
        .is_dry_run = w->options.is_dry_run,
    };
}

static bool mutate(struct write *w)
{
    struct admission_write admission = admission_of(w);
    if (admission_mutate(&w->api->facts, &admission, &w->admission) < 0) {
        w->status = w->admission.status;
        return false;
    }
    write_dedup_owners(w);
    return true;
}

/* A role that was stored together with its Namespace gets its rules a moment later. */
static struct rules pending_rules(struct write *w)
{
    const struct api_companions *companions = &w->api->options.companions;
    const struct json *ref = json_get(&w->next, S("roleRef"));
    struct rules rules = {0};
    if (!companions->rules_of || authz_kind_of(json_get_text(ref, S("kind"))) != AUTHZ_CLUSTER_ROLE)
        return rules;
    struct json list = companions->rules_of(&w->work, json_get_text(ref, S("name")));
    int code = rules_from_json(&w->work, &list, &rules, NULL);
    assert(code == 0 && "they are of this program");
    (void)code;
    return rules;
}

/* Nobody gives what they do not have. */
static bool may_grant(struct write *w)
{
    struct escalation_write grant = {
        .kind = w->kind,
        .namespace = w->kind->namespaced ? w->namespace : (str){0},
        .name = w->name,
        .object = &w->next,
        .current = w->is_create ? NULL : &w->current,
        .pending = pending_rules(w),
    };
    return escalation_check(&w->work, w->api->authz, &w->r->who, &grant, &w->status) == 0;
}

static bool admit(struct write *w)
{
    struct admission_write admission = admission_of(w);
    if (admission_validate(&w->api->facts, &admission, &w->admission) < 0) {
        w->status = w->admission.status;
        return false;
    }
    vec_each(&w->admission.warnings, text) write_warn(w, *text);
    return true;
}

/* ---- Validation. ---- */

/* A body may name another Kind than the path does: custom kinds find out here. */
static bool has_other_kind(struct write *w, struct field_errors *errs)
{
    str kind = object_kind(&w->next), version = object_api_version(&w->next);
    str expected = decode_api_version(errs->arena, w->kind);
    if (!(w->kind->flags & KIND_CUSTOM))
        return false;
    if (!str_eq(kind, str_of(w->kind->kind)))
        field_error_add(errs, FIELD_INVALID, S("kind"), field_quote(errs->arena, kind), "must be %s", w->kind->kind);
    if (!str_eq(version, expected))
        field_error_add(errs, FIELD_INVALID, S("apiVersion"), field_quote(errs->arena, version), "must be %.*s",
                        STR(expected));
    return errs->list.n > 0;
}

static void validate_custom(struct write *w, struct field_errors *errs)
{
    const struct schema *schema;
    struct err err = {0};
    if (schemas_get(w->api->schemas, w->kind, &schema, &err) < 0) {
        field_error_add(errs, FIELD_INTERNAL, (str){0}, (str){0}, "%s", err.msg);
        return;
    }
    if (schema && str_eq(w->subresource, S("status"))) {
        const struct json *status = json_get(&w->next, S("status"));
        if (status)
            schema_validate(schema_property(schema_root(schema), S("status")), S("status"), status, errs);
    } else if (schema) {
        schema_validate(schema_root(schema), (str){0}, &w->next, errs);
    }
    scale_validate(errs, w->kind, w->subresource, &w->next);
}

static void validate_create(struct write *w, struct field_errors *errs)
{
    const struct kind *kind = w->kind;
    if (has_other_kind(w, errs))
        return;
    meta_validate(errs, kind, &w->next);
    if (kind->flags & KIND_CUSTOM)
        validate_custom(w, errs);
    else if (rbac_kind_of(kind) != AUTHZ_UNKNOWN)
        rbac_validate(errs, kind, &w->next);
    else
        strategy_validate(errs, kind, &w->next);
}

static void validate_update(struct write *w, struct field_errors *errs)
{
    const struct kind *kind = w->kind;
    if (has_other_kind(w, errs))
        return;
    meta_validate_update(errs, kind, &w->next, &w->current);
    if (kind->flags & KIND_CUSTOM)
        validate_custom(w, errs);
    else if (rbac_kind_of(kind) != AUTHZ_UNKNOWN)
        rbac_validate_update(errs, kind, &w->next, &w->current);
    else
        strategy_validate_update(errs, kind, write_part(w), &w->next, &w->current);
}

/* Custom resources are called what they say they are. */
static struct status_subject subject_of_custom(const struct write *w)
{
    struct status_subject about = write_subject_kind(w, object_name(&w->next));
    str version;
    about.kind = object_kind(&w->next);
    if (!kind_split_api_version(object_api_version(&w->next), &about.group, &version))
        about.group = str_of(w->kind->group);
    return about;
}

static bool is_valid(struct write *w, void (*validate)(struct write *w, struct field_errors *errs))
{
    struct field_errors errs = {.arena = &w->work};
    validate(w, &errs);
    if (errs.list.n == 0)
        return true;
    struct status_subject about = write_subject_kind(w, object_name(&w->next));
    if (w->kind->flags & KIND_CUSTOM)
        about = subject_of_custom(w);
    w->status = status_invalid(&w->work, about, &errs);
    return false;
}

/* ---- A new object. ---- */

/* What the server gives every new object. A resourceVersion is refused only in the end, and only of a POST. */
static int fill_new(struct write *w, bool *ret_has_version, struct err *err)
{
    struct arena *a = &w->work;
    struct json *meta = meta_of(a, &w->next);
    const struct json *sent = json_get(meta, S("managedFields"));
    struct json managed = sent ? *sent : json_null();
    uint64_t version = 0;
    *ret_has_version = str_to_uint64(json_get_text(meta, S("resourceVersion")), &version) && version;
    json_remove(meta, S("resourceVersion"));
    struct meta_place place = write_place(w);
    struct meta_sources sources = {&w->api->options.clock, &w->api->options.random};
    int rc = meta_prepare_create(a, &place, &sources, &w->next, err);
    if (rc < 0)
        return rc;
    if (!json_is_null(&managed))
        json_set(a, meta_of(a, &w->next), S("managedFields"), managed);
    strategy_prepare_create(a, w->kind, &w->next);
    return 0;
}

/* A POST may meet an object of the same name; made-up names are tried again with others. */
static enum write_step refuse_existing(struct write *w, bool is_generated)
{
    struct status_subject about = write_subject(w, object_name(&w->next));
    struct json status =
        is_generated ? status_generate_name_conflict(&w->work, about) : status_already_exists(&w->work, about);
    if (object_is_deleting(&w->current)) {
        str text = json_get_text(&status, S("message"));
        json_set(&w->work, &status, S("message"),
                 json_str(str_fmt(&w->work, "object is being deleted: %.*s", STR(text))));
    }
    return write_refused(w, status);
}

static bool make_other_name(struct write *w)
{
    struct json *meta = meta_of(&w->work, &w->next);
    struct err err = {0};
    for (int i = 1; i < META_NAME_TRIES; i++) {
        str name = meta_generate_name(&w->work, &w->api->options.random, json_get_text(meta, S("generateName")));
        json_set(&w->work, meta, S("name"), json_str(name));
        if (write_load(w, name, &err) == ERR_NOT_FOUND)
            return true;
    }
    return false;
}

enum write_step write_next_create(struct write *w)
{
    struct err err = {0};
    bool has_version, is_generated = object_name(&w->next).n == 0;
    bool is_post = w->name.n == 0;
    w->is_create = true;
    w->code = 201;
    if (!write_crd_stays(w) || !mutate(w) || !may_grant(w))
        return WRITE_REFUSED;
    if (fill_new(w, &has_version, &err) < 0)
        return write_failed(w, &err);
    if (!is_valid(w, validate_create))
        return WRITE_REFUSED;
    warn_finalizers(w);
    if ((!is_post && !write_may_create(w)) || !admit(w))
        return WRITE_REFUSED;
    if (has_version && is_post)
        return write_refused(w,
                             status_unknown(&w->work, S("resourceVersion should not be set on objects to be created")));
    int rc = is_post ? write_load(w, object_name(&w->next), &err) : ERR_NOT_FOUND;
    if (rc < 0 && rc != ERR_NOT_FOUND)
        return write_failed(w, &err);
    if (rc == 0 && !(is_generated && make_other_name(w)))
        return refuse_existing(w, is_generated);
    if (write_is_crd(w->kind))
        write_crd_settle(w);
    return WRITE_STORE;
}

/* ---- A change. ---- */

static void prepare_update(struct write *w)
{
    struct arena *a = &w->work;
    strategy_prepare_update(a, w->kind, write_part(w), &w->next, &w->current);
    meta_prepare_update(a, w->kind, &w->next, &w->current);
}

enum write_step write_next_update(struct write *w)
{
    w->code = 200;
    if (!mutate(w) || !may_grant(w))
        return WRITE_REFUSED;
    if (meta_check_version(&w->work, w->kind, &w->next, &w->current, &w->status) < 0)
        return WRITE_REFUSED;
    prepare_update(w);
    if (!is_valid(w, validate_update))
        return WRITE_REFUSED;
    if (write_part(w).n == 0)
        warn_finalizers(w);
    if (!admit(w))
        return WRITE_REFUSED;
    if (write_is_crd(w->kind) && w->subresource.n == 0)
        write_crd_settle(w);
    if (meta_is_gone_after(w->kind, &w->next, &w->current))
        return WRITE_REMOVE;
    if (meta_is_unchanged(&w->next, &w->current))
        return WRITE_SAME;
    return WRITE_STORE;
}

/* ---- What the record of managers (metadata.managedFields) must know about a write. ---- */

/* Fields that a write through a subresource cannot change, and so does not own. Without a row: status for the object
 * itself if that has a subresource, spec for its status. */
static const struct {
    const char *plural, *subresource;
    const str fields[3];
} resets[] = {
    {"customresourcedefinitions", "status", {S_INIT("metadata"), S_INIT("spec")}},
    {"deployments", "status", {S_INIT("spec"), S_INIT("metadata.labels")}},
    {"namespaces", "finalize", {S_INIT("status")}},
    {"pods", "status", {S_INIT("spec"), S_INIT("metadata.deletionTimestamp"), S_INIT("metadata.ownerReferences")}},
};

static const str spec = S_INIT("spec");
static const str status = S_INIT("status");

static void set_reset(const struct write *w, struct managed_write *m)
{
    for (size_t i = 0; i < COUNT(resets); i++) {
        if (strcmp(w->kind->plural, resets[i].plural) != 0 || !str_eq(w->subresource, str_of(resets[i].subresource)) ||
            (w->kind->flags & KIND_CUSTOM))
            continue;
        m->reset = resets[i].fields;
        while (m->n_reset < 3 && resets[i].fields[m->n_reset].n)
            m->n_reset++;
        return;
    }
    if (str_eq(w->subresource, S("status"))) {
        m->reset = &spec;
        m->n_reset = 1;
    } else if (w->subresource.n == 0 && kind_subresource(w->kind, S("status"))) {
        m->reset = &status;
        m->n_reset = 1;
    }
}

/* Versions that the records of an object speak of and that are still served. */
static void add_versions(struct write *w, const struct json *object, struct managed_write *m)
{
    const struct json *entries = json_get(object_meta(object), S("managedFields"));
    VEC(str) known = {0};
    *vec_push(&w->work, &known) = m->api_version;
    json_each_item(entries, e)
    {
        str version = json_get_text(e, S("apiVersion")), group, v;
        if (kind_split_api_version(version, &group, &v) &&
            registry_by_path(w->api->registry, group, v, str_of(w->kind->plural)))
            *vec_push(&w->work, &known) = version;
    }
    m->versions = known.p;
    m->n_versions = known.n;
}

struct managed_write write_managed(struct write *w)
{
    const struct schema *schema = NULL;
    struct managed_write m = {
        .api_version = decode_api_version(&w->work, w->kind),
        .kind = str_of(w->kind->kind),
        .manager = w->options.manager,
        .subresource = w->subresource,
    };
    struct json now = meta_now(&w->work, &w->api->options.clock);
    m.time = json_text(&now);
    if (w->kind->shape)
        m.type = typed_of_shape(w->kind->shape);
    else
        m.type = typed_of_schema(schemas_get(w->api->schemas, w->kind, &schema, NULL) == 0 ? schema : NULL);
    set_reset(w, &m);
    if (w->kind->flags & KIND_CUSTOM)
        add_versions(w, w->exists ? &w->current : &w->next, &m);
    return m;
}

/* A new object takes the place of one with nothing in it, which has all fields that Go never leaves out. */
static struct json nothing_yet(struct write *w)
{
    struct json nothing = json_obj();
    if (w->kind->shape)
        canonical_form(&w->work, w->kind->shape, &nothing, 0);
    return nothing;
}

void write_track(struct write *w)
{
    struct json nothing = w->exists ? json_null() : nothing_yet(w);
    w->next = managed_update(
        &w->work,
        &(struct managed_args){.write = write_managed(w), .old = w->exists ? &w->current : &nothing, .next = &w->next});
}

/* ---- Roles that are stored together with a Namespace. ---- */

/* What a Namespace brings along. The server, not the user, decides on its content: no permission of the user on these kinds is asked
 * for, and nothing that exists is overwritten. */

static const struct kind *role_kind(void)
{
    return kind_builtin_by_body(S("rbac.authorization.k8s.io/v1"), S("ClusterRole"));
}

/* Whether the object was applied by this manager. */
static bool is_applied_by(const struct json *object, str manager)
{
    json_each_item(json_get(object_meta(object), S("managedFields")), entry)
    {
        if (str_eq(json_get_text(entry, S("manager")), manager) &&
            str_eq(json_get_text(entry, S("operation")), S("Apply")))
            return true;
    }
    return false;
}

/* As a server-side apply of an absent object by the manager, and all that the server fills in. */
static int make_companion(struct write *w, const struct json *config, struct json *ret, struct err *err)
{
    struct api *api = w->api;
    struct arena *a = &w->work;
    const struct kind *kind = role_kind();
    struct meta_place place = {.kind = kind, .name = object_name(config)};
    struct meta_sources sources = {&api->options.clock, &api->options.random};
    struct json now = meta_now(a, &api->options.clock);
    struct apply_args args = {
        .write = {.type = typed_of_shape(kind->shape),
                  .api_version = decode_api_version(a, kind),
                  .kind = str_of(kind->kind),
                  .manager = api->options.companions.manager,
                  .time = json_text(&now)},
        .config = config,
    };
    struct apply_result applied;
    int code = apply_patch(a, &args, &applied, err);
    if (code < 0)
        return code;
    struct json managed = json_dup(a, json_get(object_meta(&applied.object), S("managedFields")));
    *ret = json_dup(a, &applied.object);
    code = decode_object(api, a, kind, ret, NULL, NULL, err);
    if (code == 0)
        code = meta_prepare_create(a, &place, &sources, ret, err);
    if (code == 0) {
        json_set(a, meta_of(a, ret), S("managedFields"), managed);
        strategy_prepare_create(a, kind, ret);
    }
    return code;
}

/* False: it is there and foreign. */
static bool plan_companion(struct write *w, const struct json *config, struct store_change *ret)
{
    struct err err = {0};
    struct store_item item;
    struct json object;
    const struct kind *kind = role_kind();
    *ret = (struct store_change){.table = api_table(w->api, kind), .name = object_name(config)};
    int code = value_get(w->api, &w->work, kind, (str){0}, ret->name, &object, &item, &err);
    if (code == 0) {
        ret->expect = item.revision;
        if (!is_applied_by(&object, w->api->options.companions.manager) || object_is_deleting(&object))
            return false;
    } else if (code != ERR_NOT_FOUND || make_companion(w, config, &object, &err) < 0) {
        log_line(w->api->options.log, LOG_ERROR, "cannot create a role together with its namespace",
                 LOG_STR("role", ret->name), LOG_STR("error", str_of(err.msg)));
        return false;
    }
    struct value_parts parts = value_encode(w->api, &w->work, kind, &object);
    ret->value = parts.header;
    ret->value_rest = parts.body;
    return true;
}

size_t write_companions(struct write *w, struct store_change *list)
{
    const struct api_companions *from = &w->api->options.companions;
    struct json *wanted;
    size_t n = 0;
    if (!from->of_namespace || w->kind->group[0] || strcmp(w->kind->plural, "namespaces") != 0)
        return 0;
    size_t n_wanted = from->of_namespace(&w->work, w->is_create ? NULL : &w->current, &w->next, &wanted);
    assert(n_wanted <= WRITE_COMPANIONS);
    for (size_t i = 0; i < n_wanted; i++)
        n += plan_companion(w, &wanted[i], &list[n]);
    return n;
}
