/* SPDX-License-Identifier: Apache-2.0 */
/* PATCH: a change of what is there, whatever that is by now; and apply, which also creates. */
#include "api/patch.h"

#include "object/object.h"
#include "patch/apply.h"
#include "json/yaml.h"

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
