/* SPDX-License-Identifier: Apache-2.0 */
#include "api/api_patch.h"
#include "api/write_internal.h"
#include "base/rune.h"
#include "object/name.h"
#include "object/object.h"
#include "patch/apply.h"
#include "json/yaml.h"

/* The writing verbs: their options, and what each makes of a request. */

static int invalid(struct write *w, const char *kind, const struct field_errors *errs)
{
    w->status = status_invalid(&w->work, (struct status_subject){S("meta.k8s.io"), str_of(kind), {0}}, errs);
    return ERR_INVALID;
}

/* What comes before the slash of the User-Agent, as far as it can be shown: at most 128 bytes. */
static str manager_of_agent(struct write *w)
{
    str agent = http_header(w->r->x, S("User-Agent")), name, rest;
    struct buf b = {.arena = w->r->arena};
    str_cut(agent, '/', &name, &rest);
    while (name.n) {
        str before = name;
        uint32_t rune = rune_next(&name);
        size_t n = before.n - name.n;
        if (!rune_is_print(rune))
            continue;
        if (b.n + (rune == RUNE_BAD ? 3 : n) > NAME_FIELD_MANAGER_MAX)
            break;
        if (rune == RUNE_BAD)
            buf_add_str(&b, S("\xef\xbf\xbd"));
        else
            buf_add(&b, before.p, n);
    }
    return buf_str(&b);
}

/* ---- Options of create, update and patch: dryRun, fieldManager, fieldValidation, force. ---- */

static void check_dry_run(struct field_errors *errs, const struct query *q, bool *ret)
{
    VEC(str) given = {0};
    bool bad = false;
    for (size_t i = 0; i < q->n; i++) {
        if (!str_eq(q->p[i].name, S("dryRun")))
            continue;
        *vec_push(errs->arena, &given) = decode_show(errs->arena, q->p[i].value);
        bad = bad || !str_eq(q->p[i].value, S("All"));
    }
    *ret = given.n > 0;
    if (bad)
        field_error_add(errs, FIELD_NOT_SUPPORTED, S("dryRun"), field_strings(errs->arena, given.p, given.n),
                        "supported values: \"All\"");
}

static void check_field_validation(struct field_errors *errs, str value)
{
    if (value.n && !str_eq(value, S("Ignore")) && !str_eq(value, S("Warn")) && !str_eq(value, S("Strict")))
        field_error_add(errs, FIELD_NOT_SUPPORTED, S("fieldValidation"),
                        field_quote(errs->arena, decode_show(errs->arena, value)),
                        "supported values: \"\", \"Ignore\", \"Strict\", \"Warn\"");
}

int write_options_parse(struct write *w, enum write_verb verb)
{
    static const char *const kinds[] = {"CreateOptions", "UpdateOptions", "PatchOptions", "PatchOptions"};
    const struct query *q = &w->r->query;
    struct write_options *o = &w->options;
    struct field_errors errs = {.arena = &w->work};
    str manager = decode_show(w->r->arena, query_get(q, S("fieldManager")));
    if (verb == WRITE_PATCH && query_has(q, S("force")))
        field_error_add(&errs, FIELD_FORBIDDEN, S("force"), (str){0}, "may not be specified for non-apply patch");
    if (verb == WRITE_APPLY && manager.n == 0)
        field_error_add(&errs, FIELD_REQUIRED, S("fieldManager"), (str){0}, "is required for apply patch");
    name_validate_field_manager(&errs, S("fieldManager"), manager);
    check_dry_run(&errs, q, &o->is_dry_run);
    check_field_validation(&errs, query_get(q, S("fieldValidation")));
    if (errs.list.n)
        return invalid(w, kinds[verb], &errs);
    o->manager = manager.n ? manager : manager_of_agent(w);
    o->strictness = strictness_of(q);
    o->force = query_flag(q, S("force"));
    return 0;
}

/* ---- Options of delete. ---- */

static int bad_number(struct write *w, str text)
{
    w->status = status_bad_request(&w->work, str_fmt(&w->work, "strconv.ParseInt: parsing %.*s: invalid syntax",
                                                     STR(field_quote(&w->work, text))));
    return ERR_BAD_REQUEST;
}

static int options_of_query(struct write *w, struct json *ret)
{
    struct arena *a = w->r->arena;
    const struct query *q = &w->r->query;
    str seconds = query_get(q, S("gracePeriodSeconds")), policy = query_get(q, S("propagationPolicy"));
    int64_t n = 0;
    *ret = json_obj();
    if (query_has(q, S("gracePeriodSeconds")) && !str_to_int64(seconds, &n))
        return bad_number(w, seconds);
    if (query_has(q, S("gracePeriodSeconds")))
        json_add(a, ret, S("gracePeriodSeconds"), json_int(n));
    if (query_has(q, S("propagationPolicy")))
        json_add(a, ret, S("propagationPolicy"), json_str(decode_show(a, policy)));
    if (query_has(q, S("orphanDependents")))
        json_add(a, ret, S("orphanDependents"), json_bool(query_flag(q, S("orphanDependents"))));
    struct json dry_run = json_arr();
    for (size_t i = 0; i < q->n; i++) {
        if (str_eq(q->p[i].name, S("dryRun")))
            json_push(a, &dry_run, json_str(decode_show(a, q->p[i].value)));
    }
    if (dry_run.n)
        json_add(a, ret, S("dryRun"), dry_run);
    return 0;
}

static int options_of_body(struct write *w, struct json *ret)
{
    struct err err = {0};
    if (decode_delete_options(w->r, w->r->arena, ret, &err) == 0)
        return 0;
    w->status = err.code == ERR_UNSUPPORTED_MEDIA_TYPE
                    ? status_unsupported_media_type(
                          &w->work, S("application/json, application/yaml, application/vnd.kubernetes.protobuf"))
                    : status_unknown(&w->work, decode_show(&w->work, str_of(err.msg)));
    return err.code;
}

int write_delete_options_parse(struct write *w)
{
    struct json *options = ARENA_NEW(w->r->arena, struct json);
    struct field_errors errs = {.arena = &w->work};
    int rc = w->r->x->body.n ? options_of_body(w, options) : options_of_query(w, options);
    if (rc < 0)
        return rc;
    meta_validate_delete_options(&errs, options);
    if (errs.list.n)
        return invalid(w, "DeleteOptions", &errs);
    struct meta_warnings warnings = {.arena = w->r->arena};
    meta_warn_delete(&warnings, w->kind, options);
    vec_each(&warnings.list, text) api_warn(w->r, *text);
    w->delete_options = options;
    w->options.is_dry_run = json_len(json_get(options, S("dryRun"))) > 0;
    return 0;
}

/* ---- POST: a new object. ---- */

/* In place: what only the server can know of an object is not the client's, not even for the record of managers. */
static void wipe_server_fields(struct write *w)
{
    static const char *const fields[] = {"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp",
                                         "selfLink", "uid"};
    struct json *meta = meta_of(&w->work, &w->next);
    for (size_t i = 0; i < COUNT(fields); i++)
        json_remove(meta, str_of(fields[i]));
}

static enum write_step build_create(struct write *w)
{
    if (!write_take_body(w))
        return WRITE_REFUSED;
    wipe_server_fields(w);
    write_dedup_owners(w);
    write_track(w);
    return write_next_create(w);
}

void write_create(struct api_request *r)
{
    struct write *w;
    if (!write_begin(r, build_create, &w))
        return;
    if (write_options_parse(w, WRITE_CREATE) < 0)
        write_refuse(w, w->status);
    else
        write_run(w);
}

/* ---- PUT: the whole object, or what a subresource shows of it. ---- */

/* A uid in the body says which object is meant: not another one of the same name. */
static bool has_expected_uid(struct write *w)
{
    static const struct json nobody;
    const struct json *current = w->exists ? &w->current : &nobody;
    return meta_check_uid(&w->work, w->kind, &w->next, current, &w->status) == 0;
}

static enum write_step build_update(struct write *w)
{
    struct err err = {0};
    if (!write_take_body(w))
        return WRITE_REFUSED;
    write_dedup_owners(w);
    int rc = write_load(w, w->name, &err);
    if (rc < 0 && rc != ERR_NOT_FOUND)
        return write_failed(w, &err);
    bool creates = !w->exists && w->subresource.n == 0 && (w->kind->flags & KIND_CREATE_ON_PUT);
    if (!has_expected_uid(w))
        return WRITE_REFUSED;
    if (!w->exists && !creates)
        return write_refused(w, status_not_found(&w->work, write_subject(w, w->name)));
    write_track(w);
    return creates ? write_next_create(w) : write_next_update(w);
}

void write_update(struct api_request *r)
{
    struct write *w;
    if (!write_begin(r, build_update, &w))
        return;
    if (write_options_parse(w, WRITE_UPDATE) < 0)
        write_refuse(w, w->status);
    else
        write_run(w);
}

/* ---- PATCH: a change of the current object; and apply, which also creates. ---- */

/* The object that the patch came to must still be the one that the path names. */
static enum write_step next_update(struct write *w)
{
    struct err err = {0};
    struct meta_place place = write_place(w);
    if (meta_place(&w->work, &place, &w->next, &err) < 0)
        return write_failed(w, &err);
    return write_next_update(w);
}

static enum write_step build_patch(struct write *w)
{
    struct err err = {0};
    int rc = write_load(w, w->name, &err);
    if (rc == ERR_NOT_FOUND)
        return write_refused(w, status_not_found(&w->work, write_subject(w, w->name)));
    if (rc < 0)
        return write_failed(w, &err);
    if (patch_apply(w, w->kind, &w->current, &w->next) < 0)
        return WRITE_REFUSED;
    write_track(w);
    return next_update(w);
}

/* ---- Apply. ---- */

static enum write_step refuse_conflict(struct write *w, const struct apply_result *result)
{
    struct arena *a = &w->work;
    struct status_cause *causes = ARENA_ARRAY(a, struct status_cause, result->conflicts.n);
    for (size_t i = 0; i < result->conflicts.n; i++)
        causes[i] = (struct status_cause){S("FieldManagerConflict"), result->conflicts.p[i].message,
                                          result->conflicts.p[i].field};
    return write_refused(w, status_apply_conflict(a, result->message, causes, result->conflicts.n));
}

static enum write_step refuse_yaml(struct write *w, const char *what, const char *why)
{
    str text = str_fmt(&w->work, "%s: %s", what, why);
    return write_refused(w, status_bad_request(&w->work, decode_show(&w->work, text)));
}

/* Keys that stand there twice: the last one was taken, and the client hears of it. */
static bool tell_duplicates(struct write *w, const struct json_notes *notes)
{
    if (notes->duplicates.n == 0 || w->options.strictness == STRICTNESS_IGNORE)
        return true;
    str text = str_fmt(&w->work, "duplicate field \"%.*s\"", STR(notes->duplicates.p[0]));
    if (w->options.strictness == STRICTNESS_STRICT) {
        refuse_yaml(w, "error strict decoding YAML", str_cstr(&w->work, text));
        return false;
    }
    write_warn(w, text);
    return true;
}

/* A uid says that an object is meant that exists: nothing is created under it. */
static enum write_step next_create(struct write *w)
{
    struct err err = {0};
    struct meta_place place = write_place(w);
    str uid = object_uid(&w->next);
    if (uid.n)
        return write_refused(
            w, status_conflict(&w->work, write_subject(w, w->name),
                               str_fmt(&w->work,
                                       "uid mismatch: the provided object specified uid %.*s, and no existing object "
                                       "was found",
                                       STR(uid))));
    if (meta_place(&w->work, &place, &w->next, &err) < 0)
        return write_failed(w, &err);
    return write_next_create(w);
}

/* What fits the lists and maps of a kind may still be no time, or no quantity. */
static enum write_step refuse_result(struct write *w, const struct json *config, const struct err *err)
{
    const struct kind *kind = w->kind;
    if (err->code != ERR_BAD_REQUEST)
        return write_failed(w, err);
    str type = str_fmt(&w->work, "%s/%s, Kind=%s", kind->group, kind->version, kind->kind);
    str text = str_fmt(&w->work,
                       "failed to convert new object (%.*s/%.*s; %.*s) to proper version: unable to convert "
                       "unstructured object to %.*s: %s",
                       STR(object_namespace(config)), STR(object_name(config)), STR(type), STR(type), err->msg);
    return write_refused(w, status_unknown(&w->work, decode_show(&w->work, text)));
}

static enum write_step merge(struct write *w, const struct json *config, const struct json_notes *duplicates)
{
    struct err err = {0};
    struct apply_result result;
    struct apply_args args = {
        .write = write_managed(w),
        .live = w->exists ? &w->current : NULL,
        .config = config,
        .force = w->options.force,
    };
    int rc = apply_patch(&w->work, &args, &result, &err);
    if (rc == ERR_CONFLICT)
        return refuse_conflict(w, &result);
    if (rc < 0)
        return write_failed(w, &err);
    if (!tell_duplicates(w, duplicates))
        return WRITE_REFUSED;
    if (w->exists && !result.changed)
        return WRITE_SAME;
    w->next = json_dup(&w->work, &result.object);
    if (decode_object(w->api, &w->work, w->kind, &w->next, NULL, NULL, &err) < 0)
        return refuse_result(w, config, &err);
    return w->exists ? next_update(w) : next_create(w);
}

static enum write_step build_apply(struct write *w)
{
    struct err err = {0};
    struct json_notes duplicates = {0};
    struct json config;
    int rc = write_load(w, w->name, &err);
    if (rc < 0 && rc != ERR_NOT_FOUND)
        return write_failed(w, &err);
    if (!w->exists && w->subresource.n)
        return write_refused(w, status_not_found(&w->work, write_subject(w, w->name)));
    if (yaml_decode(&w->work, w->r->x->body, NULL, &duplicates, &config, &err) < 0)
        return refuse_yaml(w, "error decoding YAML: error converting YAML to JSON", err.msg);
    if (!json_is_obj(&config) && !json_is_null(&config)) {
        err_set(&err, ERR_BAD_REQUEST, "json: cannot unmarshal %s into Go value of type map[string]interface {}",
                patch_go_type(&config));
        return refuse_yaml(w, "error decoding YAML: error unmarshaling JSON: while decoding JSON", err.msg);
    }
    return merge(w, &config, &duplicates);
}

void write_patch(struct api_request *r)
{
    struct write *w;
    bool is_apply = str_eq(decode_media_type(r), PATCH_APPLY);
    if (!write_begin(r, is_apply ? build_apply : build_patch, &w))
        return;
    if (!patch_type_parse(w, w->kind) || write_options_parse(w, is_apply ? WRITE_APPLY : WRITE_PATCH) < 0)
        write_refuse(w, w->status);
    else
        write_run(w);
}

/* ---- DELETE of one object: removed at once, or marked until its finalizers are removed. ---- */

static bool admit_delete(struct write *w)
{
    struct admission_write admission = {
        .arena = &w->work,
        .operation = ADMISSION_DELETE,
        .kind = w->kind,
        .namespace = w->kind->namespaced ? w->namespace : (str){0},
        .name = w->name,
        .subresource = w->subresource,
        .who = &w->r->who,
        .current = &w->current,
        .is_dry_run = w->options.is_dry_run,
    };
    if (admission_mutate(&w->api->facts, &admission, &w->admission) < 0 ||
        admission_validate(&w->api->facts, &admission, &w->admission) < 0) {
        w->status = w->admission.status;
        return false;
    }
    return true;
}

/* The object is gone at once: most kinds answer with a Status then. */
static enum write_step remove_now(struct write *w)
{
    w->has_answer = true;
    if (w->kind->flags & KIND_DELETE_OBJECT)
        w->answer = w->next;
    else
        w->answer = status_deleted(&w->work, write_subject(w, w->name), object_uid(&w->next));
    return WRITE_REMOVE;
}

/* Who asked in the old way not to orphan gets 202 while finalizers hold the object. */
static int answer_code(const struct write *w)
{
    const struct json *orphan = json_get(w->delete_options, S("orphanDependents"));
    return !json_is_null(orphan) && !json_true(orphan) ? 202 : 200;
}

enum write_step write_next_delete(struct write *w)
{
    const struct clock *clock = &w->api->options.clock;
    if (meta_check_preconditions(&w->work, w->kind, &w->current, w->delete_options, &w->status) < 0 || !admit_delete(w))
        return WRITE_REFUSED;
    w->next = json_dup(&w->work, &w->current);
    w->code = 200;
    w->is_cleanup = true;
    if (write_is_crd(w->kind) && write_crd_mark(w))
        return WRITE_STORE;
    enum meta_deletion deletion = meta_prepare_delete(&w->work, w->kind, &w->next, w->delete_options, clock);
    if (deletion == META_DELETE_NOW)
        return remove_now(w);
    w->code = answer_code(w);
    return deletion == META_DELETE_MARKED ? WRITE_STORE : WRITE_SAME;
}

static enum write_step build_delete(struct write *w)
{
    struct err err = {0};
    int rc = write_load(w, w->name, &err);
    if (rc == ERR_NOT_FOUND)
        return write_refused(w, status_not_found(&w->work, write_subject(w, w->name)));
    return rc < 0 ? write_failed(w, &err) : write_next_delete(w);
}

void write_delete(struct api_request *r)
{
    struct write *w;
    if (!write_begin(r, build_delete, &w))
        return;
    if (write_delete_options_parse(w) < 0)
        write_refuse(w, w->status);
    else
        write_run(w);
}
