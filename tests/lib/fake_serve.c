/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/strategy.h"
#include "lib/fake_internal.h"
#include "object/meta.h"
#include "object/object.h"
#include "object/status.h"
#include "patch/json_patch.h"
#include "patch/strategic.h"

/* ---- What is asked. ---- */

static int hex(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                  : -1;
}

static str decode(struct arena *a, str s, bool is_query)
{
    struct buf b = {.arena = a};
    for (size_t i = 0; i < s.n; i++) {
        bool is_escape = s.p[i] == '%' && i + 2 < s.n && hex(s.p[i + 1]) >= 0 && hex(s.p[i + 2]) >= 0;
        if (is_escape) {
            buf_add_char(&b, (char)(hex(s.p[i + 1]) << 4 | hex(s.p[i + 2])));
            i += 2;
        } else {
            buf_add_char(&b, is_query && s.p[i] == '+' ? ' ' : s.p[i]);
        }
    }
    return buf_str(&b);
}

str fake_param(struct arena *a, str target, str name)
{
    str path, query, pair, key, value;
    str_cut(target, '?', &path, &query);
    while (query.n) {
        str_cut(query, '&', &pair, &query);
        str_cut(pair, '=', &key, &value);
        if (str_eq(key, name))
            return decode(a, value, true);
    }
    return (str){0};
}

enum { SEGMENTS = 9 };

bool fake_route(struct fake *f, struct arena *a, str path, struct fake_place *ret)
{
    str p[SEGMENTS], rest = str_from(path, 1), segment;
    size_t n = 0, i;
    while (rest.n && n < SEGMENTS) {
        str_cut(rest, '/', &segment, &rest);
        p[n++] = decode(a, segment, false);
    }
    *ret = (struct fake_place){0};
    bool is_core = n > 2 && str_eq(p[0], S("api")), is_group = n > 3 && str_eq(p[0], S("apis"));
    if (!is_core && !is_group)
        return false;
    str group = is_group ? p[1] : (str){0}, version = p[is_group ? 2 : 1];
    i = is_group ? 3 : 2;
    bool is_inside = str_eq(p[i], S("namespaces")) && n > i + 2 && !str_eq(p[i + 2], S("status")) &&
                     !str_eq(p[i + 2], S("finalize"));
    if (is_inside) {
        ret->namespace = p[i + 1];
        i += 2;
    }
    ret->kind = registry_by_path(f->registry, group, version, p[i]);
    if (ret->kind == NULL || n > i + 3 || (is_inside && !ret->kind->namespaced))
        return false;
    ret->name = n > i + 1 ? p[i + 1] : (str){0};
    ret->subresource = n > i + 2 ? p[i + 2] : (str){0};
    if (ret->subresource.n && !kind_subresource(ret->kind, ret->subresource))
        return false;
    ret->table = fake_table(a, ret->kind);
    return !(ret->kind->namespaced && ret->name.n && ret->namespace.n == 0);
}

/* ---- Answers. ---- */

void fake_answer_tree(struct transport_call *call, int status, const struct json *tree)
{
    struct buf text = {.arena = &call->arena};
    json_encode(&text, tree, 0);
    fake_answer(call, status, 0, buf_str(&text));
}

void fake_refuse(struct transport_call *call, const struct json *status)
{
    struct buf text = {.arena = &call->arena};
    json_encode(&text, status, 0);
    fake_answer(call, status_get_http(status), status_get_retry_after(status), buf_str(&text));
}

static void refuse_err(struct transport_call *call, const struct err *err)
{
    struct json status = status_of_err(&call->arena, err);
    fake_refuse(call, &status);
}

static struct status_subject subject(const struct fake_place *p)
{
    return (struct status_subject){str_of(p->kind->group), str_of(p->kind->plural), p->name};
}

bool fake_wants_metadata(const struct client_request *request)
{
    return str_find(request->accept, S("as=PartialObjectMetadata")) >= 0;
}

struct json fake_view(struct arena *a, const struct json *object, bool metadata_only)
{
    if (!metadata_only)
        return *object;
    struct json partial = json_obj();
    json_add(a, &partial, S("kind"), json_str(S("PartialObjectMetadata")));
    json_add(a, &partial, S("apiVersion"), json_str(S("meta.k8s.io/v1")));
    json_add(a, &partial, S("metadata"), *object_meta(object));
    return partial;
}

static void answer_object(struct transport_call *call, int status, const struct json *object)
{
    struct json view = fake_view(&call->arena, object, fake_wants_metadata(&call->request));
    fake_answer_tree(call, status, &view);
}

/* The object that is spoken of, as of the version in the path; answers 404 if there is none. */
static bool read_current(struct transport_call *call, const struct fake_place *p, struct json *ret)
{
    struct arena *a = &call->arena;
    const struct fake_object *o = fake_find(call->fake, fake_key(a, p->table, p->namespace, p->name));
    if (o == NULL) {
        struct json status = status_not_found(a, subject(p));
        fake_refuse(call, &status);
        return false;
    }
    *ret = fake_tree(a, o->text);
    return true;
}

static bool read_body(struct transport_call *call, struct json *ret)
{
    struct err err;
    if (json_decode(&call->arena, call->request.body, NULL, NULL, ret, &err) == 0)
        return true;
    refuse_err(call, &err);
    return false;
}

static bool is_dry_run(struct transport_call *call)
{
    return fake_param(&call->arena, call->request.target, S("dryRun")).n > 0;
}

/* ---- Creating. ---- */

static void create(struct transport_call *call, const struct fake_place *p, struct json object)
{
    struct arena *a = &call->arena;
    struct fake *f = call->fake;
    struct random random = random_of_seed(&f->random);
    struct meta_place place = {p->kind, p->namespace, p->name};
    struct err err;
    json_set(a, &object, S("kind"), json_str(str_of(p->kind->kind)));
    json_set(
        a, &object, S("apiVersion"),
        json_str(p->kind->group[0] ? str_fmt(a, "%s/%s", p->kind->group, p->kind->version) : str_of(p->kind->version)));
    if (meta_prepare_create(a, &place, &(struct meta_sources){&f->options.clock, &random}, &object, &err) < 0) {
        refuse_err(call, &err);
        return;
    }
    strategy_prepare_create(a, p->kind, &object);
    str key = fake_key(a, p->table, p->namespace, object_name(&object));
    if (fake_find(f, key)) {
        struct status_subject about = subject(p);
        about.name = object_name(&object);
        struct json status = status_already_exists(a, about);
        fake_refuse(call, &status);
        return;
    }
    if (!is_dry_run(call))
        fake_store(f, a, key, &object);
    answer_object(call, 201, &object);
}

/* ---- Changing. ---- */

static void update(struct transport_call *call, const struct fake_place *p, struct json next,
                   const struct json *current)
{
    struct arena *a = &call->arena;
    struct fake *f = call->fake;
    struct meta_place place = {p->kind, p->namespace, p->name};
    struct json status;
    struct err err;
    str key = fake_key(a, p->table, p->namespace, p->name);
    if (meta_place(a, &place, &next, &err) < 0) {
        refuse_err(call, &err);
        return;
    }
    if (meta_check_version(a, p->kind, &next, current, &status) < 0 ||
        meta_check_uid(a, p->kind, &next, current, &status) < 0) {
        fake_refuse(call, &status);
        return;
    }
    strategy_prepare_update(a, p->kind, p->subresource, &next, current);
    meta_prepare_update(a, p->kind, &next, current);
    if (is_dry_run(call)) {
        answer_object(call, 200, &next);
    } else if (meta_is_gone_after(p->kind, &next, current)) {
        fake_store(f, a, key, &next);
        fake_drop(f, a, key);
        answer_object(call, 200, &next);
    } else {
        if (!meta_is_unchanged(&next, current))
            fake_store(f, a, key, &next);
        answer_object(call, 200, &next);
    }
}

static void put(struct transport_call *call, const struct fake_place *p)
{
    struct json next, current;
    if (read_body(call, &next) && read_current(call, p, &current))
        update(call, p, next, &current);
}

static int patched(struct transport_call *call, const struct fake_place *p, const struct json *current,
                   const struct json *patch, struct json *ret, struct err *err)
{
    struct arena *a = &call->arena;
    str type = call->request.content_type;
    if (str_eq(type, S("application/json-patch+json")))
        return json_patch(a, current, patch, ret, err);
    bool is_strategic = str_eq(type, S("application/strategic-merge-patch+json"));
    if (is_strategic && !p->kind->shape)
        return err_set(err, ERR_UNSUPPORTED_MEDIA_TYPE,
                       "the body of the request was in an unknown format - accepted media types include: "
                       "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml");
    if (is_strategic)
        return strategic_patch(a, p->kind->shape, current, patch, ret, err);
    *ret = json_merge_patch(a, current, patch);
    return 0;
}

/* A uid says that an object is meant that exists. */
static void apply_new(struct transport_call *call, const struct fake_place *p, struct json body)
{
    struct arena *a = &call->arena;
    str uid = object_uid(&body);
    if (uid.n) {
        struct json status = status_conflict(
            a, subject(p),
            str_fmt(a, "uid mismatch: the provided object specified uid %.*s, and no existing object was found",
                    STR(uid)));
        fake_refuse(call, &status);
        return;
    }
    json_remove(meta_of(a, &body), S("resourceVersion")); /* servers ask for none of what is not there */
    json_set(a, meta_of(a, &body), S("name"), json_str(p->name));
    create(call, p, body);
}

static void patch(struct transport_call *call, const struct fake_place *p)
{
    struct json body, next;
    struct err err;
    struct arena *a = &call->arena;
    if (!read_body(call, &body))
        return;
    bool is_apply = str_eq(call->request.content_type, S("application/apply-patch+yaml"));
    if (is_apply && fake_param(a, call->request.target, S("fieldManager")).n == 0) {
        err_set(&err, ERR_INVALID, "fieldManager: Required value: is required for apply patch");
        refuse_err(call, &err);
        return;
    }
    if (is_apply && p->subresource.n == 0 && !fake_find(call->fake, fake_key(a, p->table, p->namespace, p->name))) {
        apply_new(call, p, body);
        return;
    }
    struct json current;
    if (!read_current(call, p, &current))
        return;
    if (patched(call, p, &current, &body, &next, &err) < 0) {
        refuse_err(call, &err);
        return;
    }
    next = json_dup(a, &next); /* it may share parts with what it is compared with */
    update(call, p, next, &current);
}

/* ---- Deleting. ---- */

/* Returns what is left of it; null: nothing. */
static struct json delete_object(struct transport_call *call, const struct fake_place *p, struct json current,
                                 const struct json *options)
{
    struct fake *f = call->fake;
    struct arena *a = &call->arena;
    str key = fake_key(a, p->table, object_namespace(&current), object_name(&current));
    if (is_dry_run(call))
        return current;
    switch (meta_prepare_delete(a, p->kind, &current, options, &f->options.clock)) {
    case META_DELETE_NOW:
        fake_drop(f, a, key);
        return json_null();
    case META_DELETE_MARKED:
        fake_store(f, a, key, &current);
        return current;
    default:
        return current;
    }
}

static void delete_one(struct transport_call *call, const struct fake_place *p)
{
    struct json options = json_null(), current, status;
    if ((call->request.body.n && !read_body(call, &options)) || !read_current(call, p, &current))
        return;
    if (meta_check_preconditions(&call->arena, p->kind, &current, &options, &status) < 0) {
        fake_refuse(call, &status);
        return;
    }
    str uid = str_dup(&call->arena, object_uid(&current));
    struct json left = delete_object(call, p, current, &options);
    if (json_is_null(&left)) {
        left = status_deleted(&call->arena, subject(p), uid);
        fake_answer_tree(call, 200, &left);
        return;
    }
    answer_object(call, 200, &left);
}

bool fake_selects(const struct selector *labels, const struct field_selector *fields, const struct json *object)
{
    return selector_matches(labels, object_labels(object)) && field_selector_matches_object(fields, object);
}

static void delete_all(struct transport_call *call, const struct fake_place *p)
{
    struct fake *f = call->fake;
    struct arena *a = &call->arena;
    struct json options = json_null(), list = json_obj(), items = json_arr();
    struct selector labels;
    struct field_selector none = {0};
    struct err err;
    if (call->request.body.n && !read_body(call, &options))
        return;
    if (selector_parse(a, fake_param(a, call->request.target, S("labelSelector")), &labels, &err) < 0) {
        refuse_err(call, &err);
        return;
    }
    str prefix = fake_key(a, p->table, p->namespace, (str){0});
    for (size_t i = fake_lower_bound(f, prefix); i < f->objects.n && str_has_prefix(f->objects.p[i].key, prefix);) {
        struct json object = fake_tree(a, f->objects.p[i].text);
        bool is_chosen = fake_selects(&labels, &none, &object);
        if (is_chosen)
            json_push(a, &items, json_dup(a, &object)); /* as it was */
        struct json left = is_chosen ? delete_object(call, p, object, &options) : object;
        if (!json_is_null(&left))
            i++;
    }
    json_add(a, &list, S("kind"), json_str(str_of(p->kind->list_kind)));
    json_add(a, &list, S("items"), items);
    fake_answer_tree(call, 200, &list);
}

/* ---- The verbs. ---- */

static void serve_place(struct transport_call *call, const struct fake_place *p)
{
    str method = call->request.method;
    struct json object;
    if (str_eq(method, S("GET")) && p->name.n == 0) {
        if (str_eq(fake_param(&call->arena, call->request.target, S("watch")), S("true")))
            fake_watch_start(call, p);
        else
            fake_serve_list(call, p);
    } else if (str_eq(method, S("GET"))) {
        if (read_current(call, p, &object))
            answer_object(call, 200, &object);
    } else if (str_eq(method, S("POST")) && p->name.n == 0) {
        if (read_body(call, &object))
            create(call, p, object);
    } else if (str_eq(method, S("PUT")) && p->name.n) {
        put(call, p);
    } else if (str_eq(method, S("PATCH")) && p->name.n) {
        patch(call, p);
    } else if (str_eq(method, S("DELETE")) && p->subresource.n == 0) {
        p->name.n ? delete_one(call, p) : delete_all(call, p);
    } else {
        struct json status = status_method_not_allowed(&call->arena);
        fake_refuse(call, &status);
    }
}

void fake_serve(struct transport_call *call)
{
    struct fake_place place;
    str path, query;
    str_cut(call->request.target, '?', &path, &query);
    if (fake_route(call->fake, &call->arena, path, &place)) {
        serve_place(call, &place);
    } else if (!fake_serve_discovery(call, path)) {
        struct json status = status_no_such_resource(&call->arena);
        fake_refuse(call, &status);
    }
}
