/* SPDX-License-Identifier: Apache-2.0 */
#include "api/read.h"
#include "api/api_value.h"
#include "api/api_view.h"
#include "api/task.h"
#include "api/watch.h"
#include "object/field_error.h"
#include "object/name.h"
#include "object/object.h"
#include "object/status.h"

#include <ctype.h>

/* ---- Values as Kubernetes reads them from a query. ---- */

/* What Go's ParseInt says of a text that is no number. */
static int number(struct api_request *r, str name, bool *ret_has, int64_t *ret, struct err *err)
{
    str text = query_get(&r->query, name);
    *ret_has = query_has(&r->query, name);
    if (!*ret_has)
        return 0;
    str digits = text.n > 1 && text.p[0] == '+' ? str_from(text, 1) : text;
    if (str_to_int64(digits, ret))
        return 0;
    str bare = digits.n > 1 && digits.p[0] == '-' ? str_from(digits, 1) : digits;
    bool is_number = bare.n > 0;
    for (size_t i = 0; i < bare.n; i++)
        is_number = is_number && isdigit((unsigned char)bare.p[i]);
    return err_set(err, ERR_BAD_REQUEST, "strconv.ParseInt: parsing %.*s: %s", STR(field_quote(r->arena, text)),
                   is_number ? "value out of range" : "invalid syntax");
}

static int decode(struct api_request *r, struct read_options *o, struct err *err)
{
    const struct query *q = &r->query;
    o->allow_bookmarks = query_flag(q, S("allowWatchBookmarks"));
    o->resource_version = query_get(q, S("resourceVersion"));
    o->resource_version_match = query_get(q, S("resourceVersionMatch"));
    o->continue_token = query_get(q, S("continue"));
    o->has_send_initial_events = query_has(q, S("sendInitialEvents"));
    o->send_initial_events = query_flag(q, S("sendInitialEvents"));
    bool has_limit;
    int code = number(r, S("timeoutSeconds"), &o->has_timeout, &o->timeout_seconds, err);
    if (code == 0)
        code = number(r, S("limit"), &has_limit, &o->limit, err);
    if (code == 0)
        code = selector_parse(r->arena, query_get(q, S("labelSelector")), &o->labels, err);
    if (code == 0)
        code = field_selector_parse(r->arena, query_get(q, S("fieldSelector")), &o->fields, err);
    if (o->limit < 0)
        o->limit = 0;
    return code;
}

/* ---- Which of them go together. ---- */

static const str match_field = S_INIT("resourceVersionMatch");

static void forbid(struct field_errors *errs, str field, const char *why)
{
    field_error_add(errs, FIELD_FORBIDDEN, field, (str){0}, "%s", why);
}

static void check_list(struct field_errors *errs, const struct read_options *o)
{
    str match = o->resource_version_match;
    bool is_exact = str_eq(match, S("Exact"));
    if (match.n && o->resource_version.n == 0)
        forbid(errs, match_field, "resourceVersionMatch is forbidden unless resourceVersion is provided");
    if (match.n && o->continue_token.n)
        forbid(errs, match_field, "resourceVersionMatch is forbidden when continue is provided");
    if (match.n && !is_exact && !str_eq(match, S("NotOlderThan")))
        field_error_add(errs, FIELD_NOT_SUPPORTED, match_field, field_quote(errs->arena, match),
                        "supported values: \"Exact\", \"NotOlderThan\", \"\"");
    if (is_exact && str_eq(o->resource_version, S("0")))
        forbid(errs, match_field, "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
    if (o->has_send_initial_events)
        forbid(errs, S("sendInitialEvents"), "sendInitialEvents is forbidden for list");
}

static void check_watch(struct field_errors *errs, const struct read_options *o)
{
    str match = o->resource_version_match;
    bool is_not_older = str_eq(match, S("NotOlderThan"));
    if (o->has_send_initial_events && !is_not_older)
        forbid(errs, match_field, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
    if (match.n && !o->has_send_initial_events)
        forbid(errs, match_field, "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided");
    if (match.n && !is_not_older)
        field_error_add(errs, FIELD_NOT_SUPPORTED, match_field, field_quote(errs->arena, match),
                        "supported values: \"NotOlderThan\"");
    if (match.n && o->continue_token.n)
        forbid(errs, match_field, "resourceVersionMatch is forbidden when continue is provided");
}

static bool check(struct api_request *r, struct read_options *o)
{
    struct field_errors errs = {.arena = r->arena};
    bool is_watch = r->route.verb == VERB_WATCH;
    bool is_old = o->resource_version.n == 0 || str_eq(o->resource_version, S("0"));
    /* A watch from no revision in particular begins with what there is. */
    if (is_watch && is_old && !o->has_send_initial_events && o->resource_version_match.n == 0) {
        o->has_send_initial_events = o->send_initial_events = true;
        o->resource_version_match = S("NotOlderThan");
    }
    if (is_watch)
        check_watch(&errs, o);
    else
        check_list(&errs, o);
    if (errs.list.n == 0)
        return true;
    struct status_subject about = {.group = S("meta.k8s.io"), .kind = S("ListOptions")};
    struct json status = status_invalid(r->arena, about, &errs);
    api_refuse(r, &status);
    return false;
}

/* ---- What they select. ---- */

static bool is_of_key(str field)
{
    return str_eq(field, S("metadata.name")) || str_eq(field, S("metadata.namespace"));
}

static int scope(struct api_request *r, struct read_options *o, struct err *err)
{
    const struct kind *kind = r->route.kind;
    int code = field_selector_check(&o->fields, kind, err);
    if (code < 0)
        return code;
    field_selector_requires(&o->fields, S("metadata.name"), &o->name);
    if (r->route.name.n && o->fields.n && !str_eq(o->name, r->route.name))
        return err_set(err, ERR_BAD_REQUEST, "fieldSelector metadata.name doesn't match requested name");
    if (r->route.name.n)
        o->name = r->route.name;
    if (kind->namespaced)
        o->namespace = r->route.namespace;
    if (kind->namespaced && o->namespace.n == 0)
        o->all_namespaces =
            !field_selector_requires(&o->fields, S("metadata.namespace"), &o->namespace) || o->namespace.n == 0;
    o->need = selector_is_everything(&o->labels) ? READ_NEEDS_KEY : READ_NEEDS_METADATA;
    for (size_t i = 0; i < o->fields.n; i++)
        if (!is_of_key(o->fields.terms[i].field))
            o->need = READ_NEEDS_OBJECT;
    return 0;
}

bool read_options_parse(struct api_request *r, struct read_options *ret)
{
    struct err err;
    *ret = (struct read_options){0};
    if (decode(r, ret, &err) < 0) {
        api_refuse_err(r, &err);
        return false;
    }
    if (!check(r, ret))
        return false;
    if (scope(r, ret, &err) < 0) {
        api_refuse_err(r, &err);
        return false;
    }
    return true;
}

bool read_options_match(const struct read_options *o, const struct json *object)
{
    return (o->name.n == 0 || str_eq(o->name, object_name(object))) &&
           selector_matches(&o->labels, object_labels(object)) && field_selector_matches_object(&o->fields, object);
}

static str key_field(void *ctx, str field)
{
    const struct store_item *item = ctx;
    return str_eq(field, S("metadata.name")) ? item->name : item->namespace;
}

static bool match_key(const struct read_options *o, const struct store_item *item)
{
    struct store_item key = *item;
    return (o->name.n == 0 || str_eq(o->name, item->name)) && field_selector_matches(&o->fields, key_field, &key);
}

int read_options_match_item(const struct read_options *o, struct api *api, struct arena *scratch,
                            const struct kind *kind, const struct store_item *item, struct err *err)
{
    struct json seen;
    int code;
    if (o->name.n && !str_eq(o->name, item->name))
        return 0;
    str labels;
    bool has_labels = !selector_is_everything(&o->labels) && value_labels(item, &labels);
    if (has_labels && !selector_matches_text(&o->labels, labels))
        return 0;
    if (o->need == READ_NEEDS_OBJECT) {
        code = value_decode(api, scratch, kind, item, &seen, err);
        return code < 0 ? code : read_options_match(o, &seen);
    }
    if (!match_key(o, item))
        return 0;
    if (o->need == READ_NEEDS_KEY || has_labels)
        return 1;
    code = value_metadata(scratch, item, &seen, err);
    return code < 0 ? code : selector_matches(&o->labels, json_get(&seen, S("labels")));
}

bool read_revision_parse(struct arena *a, str text, rev *ret, str *ret_why)
{
    *ret = 0;
    if (text.n == 0 || str_to_uint64(text, ret))
        return true;
    bool is_number = true;
    for (size_t i = 0; i < text.n; i++)
        is_number = is_number && isdigit((unsigned char)text.p[i]);
    str quoted = field_quote(a, text);
    *ret_why = str_fmt(a, "resourceVersion: Invalid value: %.*s: strconv.ParseUint: parsing %.*s: %s", STR(quoted),
                       STR(quoted), is_number ? "value out of range" : "invalid syntax");
    return false;
}

void read_revision_refuse(struct api_request *r, str why, bool is_exact)
{
    bool is_cached = strcmp(r->route.kind->plural, "events") != 0 || (r->route.kind->flags & KIND_CUSTOM);
    struct json status =
        is_cached && !is_exact
            ? status_unknown(r->arena, why)
            : status_bad_request(r->arena, str_fmt(r->arena, "invalid resource version: %.*s", STR(why)));
    api_refuse(r, &status);
}

/* ---- Waiting. ---- */

struct await {
    struct watch_await hub;
    struct api_request *r;
    rev wanted;
    void (*then)(struct api_request *r, void *ctx);
    void *ctx;
};

static void settle(void *ctx, bool is_there)
{
    struct await *w = ctx;
    struct api_request *r = w->r;
    if (is_there) {
        w->then(r, w->ctx);
        return;
    }
    struct json status = status_version_too_large(r->arena, w->wanted, store_revision(r->api->store));
    api_refuse(r, &status);
}

void read_revision_await(struct api_request *r, rev wanted, void (*then)(struct api_request *r, void *ctx), void *ctx)
{
    if (wanted <= store_revision(r->api->store)) {
        then(r, ctx);
        return;
    }
    /* The exchange stays until it is answered, and with it what lies in its arena. */
    struct await *w = ARENA_NEW(r->arena, struct await);
    *w = (struct await){.r = r, .wanted = wanted, .then = then, .ctx = ctx};
    watch_await(r->api->watches, &w->hub, wanted, settle, w);
}

/* ---- Gets. ---- */

/* What most of them ask for, one object as JSON, is three pieces of bytes in a row: nothing is parsed. */

enum { MAX_AT_ONCE = 16 * 1024 }; /* bytes of an object that is parsed without a task */

struct get {
    struct accept accept;
    struct view view;
    struct api_request *r;
    struct task_step step;
    bool is_in_task;
};

static bool is_plain(const struct get *g)
{
    return g->accept.media == MEDIA_JSON && !g->accept.is_pretty && g->view.as == AS_OBJECT;
}

/* Whether the answer has to be made from a tree, and the object is large or stored under another schema. */
static bool is_costly(const struct get *g, const struct store_item *item)
{
    bool is_text = value_is_text(g->view.api, g->view.kind, item);
    return !is_text || (!is_plain(g) && item->value.n > MAX_AT_ONCE);
}

static void answer(struct api_request *r, const struct get *g, const struct store_item *item)
{
    struct err err;
    if (is_plain(g)) {
        struct buf text = {.arena = r->arena};
        if (value_print(r->api, &text, g->view.kind, item, false, &err) < 0)
            api_refuse_err(r, &err);
        else
            api_answer_json(r, 200, buf_str(&text));
        return;
    }
    struct json whole;
    if (view_whole(&g->view, r->arena, item, true, &whole, &err) < 0)
        api_refuse_err(r, &err);
    else
        api_answer(r, 200, &whole);
}

bool read_refuse_list_form(struct api_request *r, const struct accept *accept)
{
    if (accept->as != AS_METADATA || !str_eq(accept->kind, S("PartialObjectMetadataList")))
        return false;
    bool is_custom = r->route.kind->flags & KIND_CUSTOM;
    struct status_args args = {
        .code = ERR_NOT_ACCEPTABLE,
        .message =
            str_fmt(r->arena, "you requested PartialObjectMetadataList, but the requested object is not a list (%.*s)",
                    STR(view_go_type(r->arena, r->route.kind, false))),
    };
    struct json status =
        is_custom ? status_unknown(r->arena, S("content is not a list")) : status_build(r->arena, &args);
    api_refuse(r, &status);
    return true;
}

static void look_up(struct api_request *r, void *ctx);

static void look_up_in_task(struct task_step *step)
{
    struct get *g = (struct get *)((char *)step - offsetof(struct get, step));
    g->is_in_task = true;
    look_up(g->r, g);
}

static void look_up(struct api_request *r, void *ctx)
{
    const struct kind *kind = r->route.kind;
    str namespace = kind->namespaced ? r->route.namespace : (str){0};
    struct store_item item;
    struct err err;
    int code = store_get(r->api->store, api_table(r->api, kind), namespace, r->route.name, &item, &err);
    if (code == 0) {
        struct get *g = ctx;
        if (read_refuse_list_form(r, &g->accept))
            return;
        if (g->is_in_task || !is_costly(g, &item))
            answer(r, g, &item);
        else
            task_run(r, &g->step);
    } else if (code == ERR_NOT_FOUND) {
        struct status_subject about = {
            .group = str_of(kind->group), .kind = str_of(kind->plural), .name = r->route.name};
        struct json status = status_not_found(r->arena, about);
        api_refuse(r, &status);
    } else {
        api_refuse_err(r, &err);
    }
}

/* export was dropped in 1.21; ignoring it would give more than was asked for. */
static bool refuse_export(struct api_request *r)
{
    if (r->route.subresource.n || !query_flag(&r->query, S("export")))
        return false;
    struct json status =
        status_bad_request(r->arena, S("the export parameter, deprecated since v1.14, is no longer supported"));
    api_refuse(r, &status);
    return true;
}

void read_get(struct api_request *r)
{
    struct get *g = ARENA_NEW(r->arena, struct get);
    g->r = r;
    g->step.fn = look_up_in_task;
    rev wanted;
    str why;
    if (!negotiate(r, ACCEPT_TABLE | ACCEPT_METADATA | ACCEPT_YAML, &g->accept) ||
        !view_of_request(r, &g->accept, &g->view) || refuse_export(r))
        return;
    if (!read_revision_parse(r->arena, query_get(&r->query, S("resourceVersion")), &wanted, &why)) {
        read_revision_refuse(r, why, false);
        return;
    }
    read_revision_await(r, wanted, look_up, g);
}
