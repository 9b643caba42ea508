/* SPDX-License-Identifier: Apache-2.0 */
#include "controllers/access.h"

enum { AT_ONCE = 64 };

/* ---- Demands. ---- */

void access_need(struct access_demands *d, struct access_demand one)
{
    str text = str_fmt(d->a, "%.*s\n%.*s\n%.*s\n%.*s\n%.*s\n%.*s", STR(one.verb), STR(one.group), STR(one.resource),
                       STR(one.subresource), STR(one.name), STR(one.path));
    if (d->is_too_much || map_set(&d->known, text, d))
        return;
    d->is_too_much = d->list.n == ACCESS_DEMANDS;
    if (!d->is_too_much)
        *vec_push(d->a, &d->list) = one;
}

static void need_names(struct access_demands *d, const struct json *names, struct access_demand one)
{
    if (json_len(names) == 0)
        access_need(d, one);
    json_each_item(names, name)
    {
        one.name = json_text(name);
        access_need(d, one);
    }
}

void access_need_rule(struct access_demands *d, const struct json *rule)
{
    const struct json *verbs = json_get(rule, S("verbs")), *groups = json_get(rule, S("apiGroups")),
                      *resources = json_get(rule, S("resources")), *urls = json_get(rule, S("nonResourceURLs")),
                      *names = json_get(rule, S("resourceNames"));
    json_each_item(verbs, verb)
    {
        json_each_item(urls, url)
            access_need(d, (struct access_demand){.verb = json_text(verb), .path = json_text(url)});
        json_each_item(groups, group)
        {
            json_each_item(resources, resource)
            {
                struct access_demand one = {
                    .verb = json_text(verb), .group = json_text(group), .resource = json_text(resource)};
                str_cut(json_text(resource), '/', &one.resource, &one.subresource);
                if (d->is_too_much)
                    return;
                need_names(d, names, one);
            }
        }
    }
}

void access_demands_done(struct access_demands *d)
{
    map_done(&d->known);
}

/* ---- As JSON. ---- */

static void add_text(struct arena *a, struct json *obj, str key, str text)
{
    if (text.n)
        json_add(a, obj, key, json_str(text));
}

static struct json demand_to_json(struct arena *a, const struct access_demand *d)
{
    struct json what = json_obj();
    add_text(a, &what, S("verb"), d->verb);
    add_text(a, &what, S("path"), d->path);
    add_text(a, &what, S("group"), d->group);
    add_text(a, &what, S("resource"), d->resource);
    add_text(a, &what, S("subresource"), d->subresource);
    add_text(a, &what, S("name"), d->name);
    return what;
}

struct json access_to_json(struct arena *a, const struct access_demands *d)
{
    struct json list = json_arr();
    vec_each(&d->list, one)
    {
        json_push(a, &list, demand_to_json(a, one));
    }
    return list;
}

void access_need_json(struct access_demands *d, const struct json *list)
{
    json_each_item(list, item)
    {
        access_need(d, (struct access_demand){.verb = json_get_text(item, S("verb")),
                                              .group = json_get_text(item, S("group")),
                                              .resource = json_get_text(item, S("resource")),
                                              .subresource = json_get_text(item, S("subresource")),
                                              .name = json_get_text(item, S("name")),
                                              .path = json_get_text(item, S("path"))});
    }
}

/* ---- Asking. ---- */

static str review_of(struct arena *a, const struct access_subject *who, const struct access_demand *d)
{
    struct json review = json_obj(), spec = json_obj(), what = demand_to_json(a, d);
    struct buf text = {.arena = a};
    json_add(a, &spec, S("user"), json_str(who->name));
    json_add(a, &spec, S("groups"), who->groups);
    add_text(a, &spec, S("uid"), who->uid);
    json_add(a, &spec, d->path.n ? S("nonResourceAttributes") : S("resourceAttributes"), what);
    json_add(a, &review, S("apiVersion"), json_str(S("authorization.k8s.io/v1")));
    json_add(a, &review, S("kind"), json_str(S("SubjectAccessReview")));
    json_add(a, &review, S("spec"), spec);
    json_encode(&text, &review, 0);
    return buf_str(&text);
}

int access_find_missing(struct client *c, struct arena *a, const struct access_subject *who,
                        const struct access_demand *list, size_t n, const struct access_demand **ret, struct err *err)
{
    struct client_question questions[AT_ONCE];
    *ret = NULL;
    for (size_t from = 0; from < n && !*ret; from += AT_ONCE) {
        size_t k = n - from < AT_ONCE ? n - from : AT_ONCE;
        for (size_t i = 0; i < k; i++)
            questions[i] =
                (struct client_question){.request = {.method = S("POST"),
                                                     .target = S("/apis/authorization.k8s.io/v1/subjectaccessreviews"),
                                                     .body = review_of(a, who, &list[from + i])}};
        client_raw_all(c, a, questions, k);
        for (size_t i = 0; i < k; i++) {
            if (questions[i].code < 0) {
                *err = questions[i].err;
                return err_wrap(err, "ask what %.*s may do", STR(who->name));
            }
            if (!*ret && !json_true(json_dig(&questions[i].ret, "status.allowed")))
                *ret = &list[from + i];
        }
    }
    return 0;
}

bool access_subject_read(struct arena *a, str note, struct access_subject *ret)
{
    struct json tree;
    if (json_decode(a, note, NULL, NULL, &tree, NULL) < 0)
        return false;
    const struct json *groups = json_get(&tree, S("groups"));
    *ret = (struct access_subject){.name = json_get_text(&tree, S("user")),
                                   .groups = json_is_arr(groups) ? *groups : json_arr(),
                                   .uid = json_get_text(&tree, S("uid"))};
    return ret->name.n > 0;
}

str access_describe(struct arena *a, const struct access_demand *d)
{
    if (d->path.n)
        return str_fmt(a, "%.*s %.*s", STR(d->verb), STR(d->path));
    return str_fmt(a, "%.*s %.*s%s%.*s%s%.*s%s%.*s", STR(d->verb), STR(d->resource), d->subresource.n ? "/" : "",
                   STR(d->subresource), d->group.n ? "." : "", STR(d->group), d->name.n ? " " : "", STR(d->name));
}
