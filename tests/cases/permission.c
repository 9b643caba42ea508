/* SPDX-License-Identifier: Apache-2.0 */
#include "cases/permission.h"

#include "object/meta.h"
#include "object/object.h"
#include "object/selector.h"

struct json permission_case_yaml(struct permission_case *w, const struct case_section *s)
{
    struct json v = json_null();
    struct err err;
    if (yaml_decode(w->a, s->text, NULL, NULL, &v, &err) < 0)
        case_fail(w->c, s, "%s", err.msg);
    return v;
}

bool permission_case_line(str *rest, str *line)
{
    while (rest->n) {
        str_cut(*rest, '\n', line, rest);
        *line = str_trim(*line);
        if (line->n)
            return true;
    }
    return false;
}

/* ---- What the hub knows. ---- */

static bool has_account(void *ctx, str name)
{
    const struct permission_case *w = ctx;
    str rest = w->accounts, one;
    while (rest.n) {
        str_cut(rest, ',', &one, &rest);
        if (str_eq(one, name))
            return true;
    }
    return false;
}

static const struct json *find_role(void *ctx, struct arena *a, str namespace, str name)
{
    (void)a;
    const struct permission_case *w = ctx;
    vec_each(&w->roles, role)
    {
        if (str_eq(object_name(role), name) && str_eq(object_namespace(role), namespace))
            return role;
    }
    return NULL;
}

static size_t select_namespaces(void *ctx, struct arena *a, const struct json *object, str **ret)
{
    struct permission_case *w = ctx;
    struct selector selector;
    struct err err;
    VEC(str) list = {0};
    w->questions++;
    if (selector_from_object(a, object, &selector, &err) < 0) {
        case_fail(w->c, NULL, "namespaces are asked for by a selector that is not valid: %s", err.msg);
        return 0;
    }
    vec_each(&w->namespaces, it)
    {
        if (selector_matches(&selector, object_labels(it)))
            *vec_push(a, &list) = object_name(it);
    }
    *ret = list.p;
    return list.n;
}

void permission_case_init(struct permission_case *w, struct case_file *c)
{
    *w = (struct permission_case){
        .c = c,
        .a = c->arena,
        .facts = {.has_cluster = true, .has_account = has_account, .role = find_role, .namespaces = select_namespaces},
    };
    w->facts.ctx = w;
}

/* ---- Sections. ---- */

static void read_permission(struct permission_case *w, const struct case_section *s)
{
    w->permission = permission_case_yaml(w, s);
    if (!json_is_obj(&w->permission)) {
        case_fail(w->c, s, "a ClusterPermission is an object");
        return;
    }
    struct json *meta = meta_of(w->a, &w->permission);
    if (!json_get(meta, S("uid")))
        json_set(w->a, meta, S("uid"), json_str(S("abcde-0000-1111")));
    if (!json_get(meta, S("namespace")))
        json_set(w->a, meta, S("namespace"), json_str(S("cluster1")));
}

static void read_hub(struct permission_case *w, const struct case_section *s)
{
    w->facts.has_cluster = !case_has_arg(s, S("no-cluster"));
    w->facts.has_agent = case_has_arg(s, S("agent"));
    w->facts.is_delivered = case_has_arg(s, S("delivered"));
    w->facts.account_namespace = case_arg(s, S("namespace"));
    w->accounts = case_arg(s, S("accounts"));
}

static void read_addon(struct permission_case *w, const struct case_section *s)
{
    struct json addon = permission_case_yaml(w, s);
    w->facts.account_namespace =
        permission_account_namespace(json_is_null(&addon) ? NULL : &addon, case_has_arg(s, S("agent")));
}

static void read_namespaces(struct permission_case *w, const struct case_section *s)
{
    str rest = s->text, line, name, words, word;
    w->namespaces.n = 0;
    while (permission_case_line(&rest, &line)) {
        struct json object = json_obj(), labels = json_obj();
        str_cut(line, ' ', &name, &words);
        while (words.n) {
            str key, value;
            str_cut(words, ' ', &word, &words);
            str_cut(word, '=', &key, &value);
            json_set(w->a, &labels, key, json_str(value));
        }
        json_set(w->a, meta_of(w->a, &object), S("name"), json_str(name));
        json_set(w->a, meta_of(w->a, &object), S("labels"), labels);
        *vec_push(w->a, &w->namespaces) = object;
    }
}

static void read_roles(struct permission_case *w, const struct case_section *s)
{
    struct err err;
    w->roles.n = 0;
    if (yaml_decode_all(w->a, s->text, NULL, &w->roles, &err) < 0)
        case_fail(w->c, s, "%s", err.msg);
}

str permission_case_number(struct arena *a, str text, uint64_t n)
{
    struct buf b = {.arena = a};
    ptrdiff_t at;
    while ((at = str_find(text, S("<n>"))) >= 0) {
        buf_add_str(&b, str_upto(text, (size_t)at));
        buf_add_uint(&b, n);
        text = str_from(text, (size_t)at + 3);
    }
    buf_add_str(&b, text);
    return buf_str(&b);
}

static void add_many(struct permission_case *w, const struct case_section *s)
{
    str field, rest;
    uint64_t from = 0, n = 0;
    str_cut(s->args, ' ', &field, &rest);
    if (!str_to_uint64(case_arg(s, S("from")), &from) || !str_to_uint64(case_arg(s, S("n")), &n) ||
        !json_is_obj(&w->permission)) {
        case_fail(w->c, s, "needs a permission before it, from= and n=");
        return;
    }
    struct json *spec = json_get_mut(&w->permission, S("spec"));
    if (!json_is_obj(spec))
        spec = json_set(w->a, &w->permission, S("spec"), json_obj());
    struct json *list = json_get_mut(spec, field);
    if (!list)
        list = json_set(w->a, spec, field, json_arr());
    for (uint64_t i = from; i < from + n; i++) {
        struct case_section one = {.text = permission_case_number(w->a, s->text, i), .line = s->line};
        json_push(w->a, list, permission_case_yaml(w, &one));
    }
}

bool permission_case_step(struct permission_case *w, const struct case_section *s)
{
    static const struct {
        const char *name;
        void (*fn)(struct permission_case *w, const struct case_section *s);
    } steps[] = {
        {"addon", read_addon},           {"hub", read_hub},     {"many", add_many}, {"namespaces", read_namespaces},
        {"permission", read_permission}, {"roles", read_roles},
    };
    for (size_t i = 0; i < COUNT(steps); i++) {
        if (str_eq(s->name, str_of(steps[i].name))) {
            steps[i].fn(w, s);
            return true;
        }
    }
    return false;
}
