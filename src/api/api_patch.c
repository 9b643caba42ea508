/* SPDX-License-Identifier: Apache-2.0 */
#include "api/api_patch.h"

#include "object/go_text.h"
#include "object/object.h"
#include "patch/json_patch.h"
#include "patch/strategic.h"

#include <stdlib.h>

/* ---- The type. ---- */

bool patch_type_parse(struct write *w, const struct kind *kind)
{
    str type = decode_media_type(w->r);
    bool is_common = str_eq(type, PATCH_JSON) || str_eq(type, PATCH_MERGE) || str_eq(type, PATCH_APPLY);
    w->patch_type = type;
    if (is_common || (str_eq(type, PATCH_STRATEGIC) && kind->shape))
        return true;
    /* The real server asks its router first, which knows all four for every kind. */
    w->status =
        str_eq(type, PATCH_STRATEGIC)
            ? status_unsupported_media_type(&w->work, S("application/json-patch+json, application/merge-patch+json, "
                                                        "application/apply-patch+yaml"))
            : status_unsupported_patch(&w->work);
    return false;
}

/* ---- Applying one. ---- */

/* Everything one patch works on. */
struct patching {
    struct write *w;
    const struct kind *kind;
    struct json patch;
    struct json_notes duplicates; /* in the patch itself */
    struct strict_notes notes;    /* about the patch, then about what came of it */
    struct json patched;
};

static int refuse(struct write *w, struct json status)
{
    w->status = status;
    return ERR_BAD_REQUEST;
}

const char *patch_go_type(const struct json *v)
{
    static const char *const names[] = {"null", "bool", "number", "number", "number", "string", "array", "object"};
    return names[json_type(v)];
}

/* With fieldValidation=Ignore the patch is decoded only once, and the error comes as it is. */
static int undecodable(struct patching *p, const char *why)
{
    struct write *w = p->w;
    bool is_wrapped = !str_eq(w->patch_type, PATCH_STRATEGIC) && w->options.strictness != STRICTNESS_IGNORE;
    str text = str_fmt(&w->work, "%s%s", is_wrapped ? "error decoding patch: " : "", why);
    return refuse(w, status_bad_request(&w->work, decode_show(&w->work, text)));
}

static const char *const operation_fields[] = {"op", "path", "from", "value"};

static bool is_operation_field(str key)
{
    for (size_t i = 0; i < COUNT(operation_fields); i++)
        if (str_eq(key, str_of(operation_fields[i])))
            return true;
    return false;
}

static int check_operation(struct patching *p, size_t at, const struct json *operation)
{
    struct arena *a = &p->w->work;
    struct err err = {0};
    bool is_quiet = p->w->options.strictness == STRICTNESS_IGNORE;
    if (!json_is_obj(operation) && !json_is_null(operation)) {
        err_set(&err, ERR_BAD_REQUEST, "json: cannot unmarshal %s into Go value of type %s", patch_go_type(operation),
                is_quiet ? "jsonpatch.Operation" : "handlers.jsonPatchOp");
        return undecodable(p, err.msg);
    }
    json_each_member(operation, m)
    {
        str key = json_key(m);
        if (is_quiet)
            break;
        if (!is_operation_field(key)) {
            strict_note_unknown(a, &p->notes, str_fmt(a, "[%zu].%.*s", at, STR(key)));
        } else if (!str_eq(key, S("value")) && !json_is_str(&m->val) && !json_is_null(&m->val)) {
            err_set(&err, ERR_BAD_REQUEST,
                    "json: cannot unmarshal %s into Go struct field jsonPatchOp.%.*s of type string",
                    patch_go_type(&m->val), STR(key));
            return undecodable(p, err.msg);
        }
    }
    return 0;
}

/* Before any of them counts, all must look like operations. */
static int check_operations(struct patching *p)
{
    for (size_t i = 0; i < p->patch.n; i++) {
        int rc = check_operation(p, i, &p->patch.items[i]);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int read_patch(struct patching *p)
{
    struct write *w = p->w;
    struct err err = {0};
    bool is_list = str_eq(w->patch_type, PATCH_JSON);
    if (json_decode(&w->work, w->r->x->body, NULL, &p->duplicates, &p->patch, &err) < 0)
        return err.code == ERR_TOO_LARGE ? refuse(w, status_of_err(&w->work, &err)) : undecodable(p, err.msg);
    if (is_list ? json_is_arr(&p->patch) : json_is_obj(&p->patch))
        return is_list ? check_operations(p) : 0;
    if (json_is_null(&p->patch) && str_eq(w->patch_type, PATCH_MERGE))
        return refuse(w, status_bad_request(&w->work, S("Invalid JSON Patch")));
    if (json_is_null(&p->patch)) { /* Go decodes null into an empty value */
        p->patch = is_list ? json_arr() : json_obj();
        return 0;
    }
    err_set(&err, ERR_BAD_REQUEST, "json: cannot unmarshal %s into Go value of type %s", patch_go_type(&p->patch),
            is_list ? "[]handlers.jsonPatchOp" : "map[string]interface {}");
    return undecodable(p, err.msg);
}

static int patch_by_list(struct patching *p, const struct json *doc)
{
    struct write *w = p->w;
    struct err err = {0};
    if (p->patch.n > PATCH_MAX_OPS) {
        err_set(&err, ERR_TOO_LARGE,
                "Request entity too large: The allowed maximum operations in a JSON patch is %d, got %u", PATCH_MAX_OPS,
                p->patch.n);
        return refuse(w, status_of_err(&w->work, &err));
    }
    if (json_patch(&w->work, doc, &p->patch, &p->patched, &err) == 0)
        return 0;
    return refuse(w, err.code == ERR_TOO_LARGE ? status_of_err(&w->work, &err) : status_bad_patch(&w->work));
}

static int patch_strategically(struct patching *p, const struct json *doc)
{
    struct write *w = p->w;
    struct err err = {0};
    if (strategic_patch(&w->work, p->kind->shape, doc, &p->patch, &p->patched, &err) == 0)
        return 0;
    return refuse(w, err.code == ERR_INTERNAL  ? status_unknown(&w->work, decode_show(&w->work, str_of(err.msg)))
                     : err.code == ERR_INVALID ? status_bad_patch(&w->work)
                                               : status_of_err(&w->work, &err));
}

/* ---- The result. ---- */

static int by_key(const void *l, const void *r)
{
    return str_cmp(json_key(l), json_key(r));
}

/* Go prints custom resources sorted, and of others what it has opened: at least the outermost object. */
static void show_result(struct patching *p, struct buf *b)
{
    struct json sorted = json_dup_top(&p->w->work, &p->patched);
    if (json_is_obj(&sorted) && sorted.n)
        qsort(sorted.members, sorted.n, sizeof *sorted.members, by_key);
    json_encode(b, &sorted, p->kind->flags & KIND_CUSTOM ? JSON_SORTED : 0);
}

/* ` "" is invalid: patch: Invalid value: "…": why`: the value is the result, or the patch itself if it was strategic. */
static int invalid(struct patching *p, str why)
{
    struct write *w = p->w;
    struct field_errors errs = {.arena = &w->work};
    struct buf shown = {.arena = &w->work};
    if (str_eq(w->patch_type, PATCH_STRATEGIC))
        go_text(&shown, &p->patch);
    else
        show_result(p, &shown);
    field_error_add(&errs, FIELD_INVALID, S("patch"), field_quote(&w->work, buf_str(&shown)), "%.*s", STR(why));
    return refuse(w, status_invalid(&w->work, (struct status_subject){0}, &errs));
}

/* A patch cannot make an object of another kind out of it. */
static bool is_same_kind(const struct patching *p)
{
    struct write *w = p->w;
    return json_is_obj(&p->patched) && str_eq(object_kind(&p->patched), str_of(p->kind->kind)) &&
           str_eq(object_api_version(&p->patched), decode_api_version(&w->work, p->kind));
}

/* Strategic patches change a value that has a type already: the names for it do not matter. */
static void restore_kind(struct patching *p)
{
    struct arena *a = &p->w->work;
    const struct json *kind = json_get(&p->patched, S("kind")), *version = json_get(&p->patched, S("apiVersion"));
    if (!kind || json_is_str(kind) || json_is_null(kind))
        json_set(a, &p->patched, S("kind"), json_str(str_of(p->kind->kind)));
    if (!version || json_is_str(version) || json_is_null(version))
        json_set(a, &p->patched, S("apiVersion"), json_str(decode_api_version(a, p->kind)));
}

/* What is odd about the patch itself. */
static void note_patch(struct patching *p)
{
    struct arena *a = &p->w->work;
    vec_each(&p->duplicates.duplicates, path) strict_note_duplicate(a, &p->notes, *path);
    if (str_eq(p->w->patch_type, PATCH_JSON))
        vec_each(&p->notes.list, note) *note = str_fmt(a, "json patch %.*s", STR(*note));
}

static int decode_result(struct patching *p)
{
    struct write *w = p->w;
    struct err err = {0};
    bool is_quiet = w->options.strictness == STRICTNESS_IGNORE;
    if (str_eq(w->patch_type, PATCH_STRATEGIC))
        restore_kind(p);
    if (!(p->kind->flags & KIND_CUSTOM) && !is_same_kind(p)) /* of custom resources validation finds it */
        return invalid(p, str_fmt(&w->work,
                                  "no kind \"%.*s\" is registered for version \"%.*s\" in scheme "
                                  "\"%s\"",
                                  STR(object_kind(&p->patched)), STR(object_api_version(&p->patched)),
                                  decode_scheme(p->kind)));
    if (!is_quiet)
        note_patch(p);
    struct json object = json_dup(&w->work, &p->patched);
    if (decode_object(w->api, &w->work, p->kind, &object, NULL, is_quiet ? NULL : &p->notes, &err) < 0)
        return invalid(p, decode_show(&w->work, str_of(err.msg)));
    if (p->notes.list.n && w->options.strictness == STRICTNESS_STRICT) {
        struct buf why = {.arena = &w->work};
        strict_notes_format(&why, &p->notes);
        return invalid(p, buf_str(&why));
    }
    write_warn_all(w, &p->notes);
    p->patched = object;
    return 0;
}

int patch_apply(struct write *w, const struct kind *kind, const struct json *doc, struct json *ret)
{
    struct patching p = {.w = w, .kind = kind};
    int rc = read_patch(&p);
    if (rc < 0)
        return rc;
    if (str_eq(w->patch_type, PATCH_JSON))
        rc = patch_by_list(&p, doc);
    else if (str_eq(w->patch_type, PATCH_STRATEGIC))
        rc = patch_strategically(&p, doc);
    else
        p.patched = json_merge_patch(&w->work, doc, &p.patch);
    if (rc < 0 || (rc = decode_result(&p)) < 0)
        return rc;
    *ret = p.patched;
    return 0;
}
