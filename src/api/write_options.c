/* SPDX-License-Identifier: Apache-2.0 */
/* The options of a write: dryRun, fieldManager, fieldValidation, force; and those of a deletion. */
#include "api/write_parts.h"

#include "base/rune.h"
#include "object/name.h"

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

/* ---- Create, update, patch. ---- */

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

/* ---- Delete. ---- */

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
