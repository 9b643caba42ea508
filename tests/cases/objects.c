/* SPDX-License-Identifier: Apache-2.0 */
#include "cases/objects.h"

#include "object/object.h"
#include "json/yaml.h"

enum { ROUNDS = 3 };                 /* of settling… */
#define ROUND_NS INT64_C(1000000000) /* …and letting this time pass, for what is tried again */

static str path_of(struct arena *a, const struct kind *kind, str namespace)
{
    struct buf b = {.arena = a};
    if (*kind->group)
        buf_fmt(&b, "/apis/%s/%s", kind->group, kind->version);
    else
        buf_fmt(&b, "/api/%s", kind->version);
    if (kind->namespaced)
        buf_fmt(&b, "/namespaces/%.*s", STR(namespace));
    buf_fmt(&b, "/%s", kind->plural);
    return buf_str(&b);
}

static int ask(const struct objects_door *d, const char *method, str target, const struct json *body, struct json *ret)
{
    struct buf text = {.arena = d->c->arena};
    if (body)
        json_encode(&text, body, 0);
    struct objects_request request = {.method = str_of(method), .target = target, .body = buf_str(&text)};
    if (str_eq(request.method, S("PATCH")))
        request.content_type = S("application/merge-patch+json");
    return d->ask(d->ctx, &request, ret);
}

static void expect_accepted(const struct objects_door *d, const struct case_section *s, int status,
                            const struct json *answer)
{
    if (status < 200 || status > 299)
        case_fail(d->c, s, "the server answered %d: %.*s", status, STR(json_get_text(answer, S("message"))));
}

/* ---- create ---- */

static void remember(struct objects *o, const struct objects_door *d, str collection, const struct json *object)
{
    struct arena *a = d->c->arena;
    struct json *uid = ARENA_NEW(a, struct json);
    *uid = json_str(str_dup(a, object_uid(object)));
    *vec_push(a, &o->made) =
        (struct object_made){.kind = str_dup(a, object_kind(object)),
                             .path = str_fmt(a, "%.*s/%.*s", STR(collection), STR(object_name(object))),
                             .namespace = str_dup(a, object_namespace(object)),
                             .name = str_dup(a, object_name(object)),
                             .uid = json_text(uid)};
    map_set(&d->match->bound, str_fmt(a, "<uid %.*s>", STR(object_name(object))), uid);
}

static void create_one(struct objects *o, const struct objects_door *d, const struct case_section *s,
                       struct json *object)
{
    struct arena *a = d->c->arena;
    if (object_api_version(object).n == 0)
        json_set(a, object, S("apiVersion"), json_str(S("v1")));
    const struct kind *kind = registry_by_body(d->registry, object_api_version(object), object_kind(object));
    if (kind == NULL) {
        case_fail(d->c, s, "what is a %.*s?", STR(object_kind(object)));
        return;
    }
    str namespace = object_namespace(object);
    struct json answer = {0};
    str path = path_of(a, kind, namespace.n ? namespace : S("default"));
    int status = ask(d, "POST", path, object, &answer);
    expect_accepted(d, s, status, &answer);
    if (status == 201)
        remember(o, d, path, &answer);
}

/* One after the other: a later one may name the uid of an earlier one. */
static void create(struct objects *o, const struct objects_door *d, const struct case_section *s)
{
    str rest = s->text;
    while (rest.n) {
        ptrdiff_t end = str_find(rest, S("\n---\n"));
        str text = end < 0 ? rest : str_upto(rest, (size_t)end);
        rest = end < 0 ? (str){0} : str_from(rest, (size_t)end + 5);
        struct json object;
        struct err err;
        if (yaml_decode(d->c->arena, match_fill(d->match, text), NULL, NULL, &object, &err) < 0)
            case_fail(d->c, s, "%s", err.msg);
        else
            create_one(o, d, s, &object);
    }
}

/* ---- delete, patch ---- */

/* "Kind [namespace/]name rest": the latest that was made so. */
static const struct object_made *find(const struct objects *o, const struct objects_door *d,
                                      const struct case_section *s, str *ret_rest)
{
    str kind, place, namespace, name;
    str_cut(s->args, ' ', &kind, &place);
    str_cut(place, ' ', &place, ret_rest);
    if (!str_cut(place, '/', &namespace, &name)) {
        name = place;
        namespace = (str){0};
    }
    for (size_t i = o->made.n; i-- > 0;) {
        const struct object_made *m = &o->made.p[i];
        if (str_eq(m->kind, kind) && str_eq(m->name, name) && (namespace.n == 0 || str_eq(m->namespace, namespace)))
            return m;
    }
    case_fail(d->c, s, "nobody has made %.*s", STR(s->args));
    return NULL;
}

static void delete_one(const struct objects *o, const struct objects_door *d, const struct case_section *s)
{
    str policy;
    const struct object_made *m = find(o, d, s, &policy);
    struct json options = json_obj(), answer = {0};
    if (m == NULL)
        return;
    if (str_trim(policy).n)
        json_add(d->c->arena, &options, S("propagationPolicy"), json_str(str_trim(policy)));
    int status = ask(d, "DELETE", m->path, &options, &answer);
    expect_accepted(d, s, status, &answer);
}

static void patch_one(const struct objects *o, const struct objects_door *d, const struct case_section *s)
{
    str rest;
    const struct object_made *m = find(o, d, s, &rest);
    struct json patch, answer = {0};
    struct err err;
    if (m == NULL)
        return;
    if (yaml_decode(d->c->arena, match_fill(d->match, s->text), NULL, NULL, &patch, &err) < 0) {
        case_fail(d->c, s, "%s", err.msg);
        return;
    }
    int status = ask(d, "PATCH", m->path, &patch, &answer);
    expect_accepted(d, s, status, &answer);
}

/* ---- left, events ---- */

static void settle(const struct objects_door *d)
{
    d->settle(d->ctx);
    for (int i = 0; i < ROUNDS; i++) {
        d->pass_time(d->ctx, ROUND_NS);
        d->settle(d->ctx);
    }
}

static void show(struct buf *b, const struct object_made *m, const struct json *object)
{
    const struct json *owners = object_owners(object), *finalizers = object_finalizers(object);
    bool is_elsewhere = m->namespace.n && !str_eq(m->namespace, S("default"));
    buf_fmt(b, "%.*s %.*s%s%.*s", STR(m->kind), STR(is_elsewhere ? m->namespace : (str){0}), is_elsewhere ? "/" : "",
            STR(m->name));
    if (object_is_deleting(object))
        buf_add_str(b, S(" deleting"));
    json_each_item(finalizers, f)
    {
        buf_fmt(b, "%s%.*s", f == finalizers->items ? " holds=" : ",", STR(json_text(f)));
    }
    json_each_item(owners, ref)
    {
        buf_fmt(b, "%s%.*s%s", ref == owners->items ? " owners=" : ",", STR(json_get_text(ref, S("name"))),
                json_true(json_get(ref, S("blockOwnerDeletion"))) ? "!" : "");
    }
    buf_add_char(b, '\n');
}

static void check_left(const struct objects *o, const struct objects_door *d, const struct case_section *s)
{
    struct buf b = {.arena = d->c->arena};
    settle(d);
    for (size_t i = 0; i < o->made.n; i++) {
        const struct object_made *m = &o->made.p[i];
        struct json object = {0};
        int status = ask(d, "GET", m->path, NULL, &object);
        if (status == 200 && str_eq(object_uid(&object), m->uid))
            show(&b, m, &object);
    }
    case_expect(d->c, s, buf_str(&b));
}

static void check_events(const struct objects *o, const struct objects_door *d, const struct case_section *s)
{
    str rest;
    const struct object_made *m = find(o, d, s, &rest);
    struct buf b = {.arena = d->c->arena};
    struct json list = {0};
    if (m == NULL)
        return;
    settle(d);
    ask(d, "GET", S("/api/v1/events"), NULL, &list);
    const struct json *items = json_get(&list, S("items"));
    json_each_item(items, e)
    {
        if (str_eq(json_text(json_dig(e, "involvedObject.uid")), m->uid))
            buf_fmt(&b, "%.*s %.*s %.*s\n", STR(json_get_text(e, S("type"))), STR(json_get_text(e, S("reason"))),
                    STR(json_get_text(e, S("message"))));
    }
    bool ok = match_text(d->match, str_trim(s->text), str_trim(buf_str(&b)));
    case_expect(d->c, s, ok ? s->text : buf_str(&b));
}

bool objects_step(struct objects *o, const struct objects_door *door, const struct case_section *s)
{
    if (str_eq(s->name, S("create")))
        create(o, door, s);
    else if (str_eq(s->name, S("delete")))
        delete_one(o, door, s);
    else if (str_eq(s->name, S("patch")))
        patch_one(o, door, s);
    else if (str_eq(s->name, S("left")))
        check_left(o, door, s);
    else if (str_eq(s->name, S("events")))
        check_events(o, door, s);
    else
        return false;
    return true;
}
