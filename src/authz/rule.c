/* SPDX-License-Identifier: Apache-2.0 */
#include "authz/rule.h"

#include "base/budget.h"

/* The five lists of a rule: where they are, and what they are called. Kubernetes prints them in another order in JSON than
 * in errors. */
struct field {
    size_t offset;
    str json, text;
};

#define FIELD(member, name, shown)                                 \
    {                                                              \
        offsetof(struct rule, member), S_INIT(name), S_INIT(shown) \
    }

enum { FIELDS = 5 };

static const struct field json_order[FIELDS] = {
    FIELD(verbs, "verbs", "Verbs"),
    FIELD(api_groups, "apiGroups", "APIGroups"),
    FIELD(resources, "resources", "Resources"),
    FIELD(resource_names, "resourceNames", "ResourceNames"),
    FIELD(non_resource_urls, "nonResourceURLs", "NonResourceURLs"),
};

static const struct field text_order[FIELDS] = {
    FIELD(api_groups, "apiGroups", "APIGroups"),
    FIELD(resources, "resources", "Resources"),
    FIELD(non_resource_urls, "nonResourceURLs", "NonResourceURLs"),
    FIELD(resource_names, "resourceNames", "ResourceNames"),
    FIELD(verbs, "verbs", "Verbs"),
};

static const struct strs *list_of(const struct rule *rule, const struct field *f)
{
    return (const struct strs *)(const void *)((const char *)rule + f->offset);
}

static struct strs *list_of_mut(struct rule *rule, const struct field *f)
{
    return (struct strs *)(void *)((char *)rule + f->offset);
}

static int strs_from_json(struct arena *a, const struct json *list, struct strs *ret, struct err *err)
{
    budget_charge(1 + json_len(list));
    if (json_is_null(list))
        return 0;
    if (!json_is_arr(list))
        return err_set(err, ERR_BAD_REQUEST, "must be a list of strings");
    str *p = ARENA_ARRAY(a, str, list->n), *at = p;
    json_each_item(list, item)
    {
        if (!json_is_str(item))
            return err_set(err, ERR_BAD_REQUEST, "must be a list of strings");
        *at++ = json_text(item);
    }
    *ret = (struct strs){p, list->n};
    return 0;
}

static int rule_from_json(struct arena *a, const struct json *v, struct rule *ret, struct err *err)
{
    if (!json_is_obj(v))
        return err_set(err, ERR_BAD_REQUEST, "must be an object");
    for (const struct field *f = json_order; f < json_order + FIELDS; f++)
        if (strs_from_json(a, json_get(v, f->json), list_of_mut(ret, f), err) < 0)
            return err_wrap(err, "%.*s", STR(f->json));
    return 0;
}

int rules_from_json(struct arena *a, const struct json *list, struct rules *ret, struct err *err)
{
    if (json_is_null(list)) {
        *ret = (struct rules){0};
        return 0;
    }
    if (!json_is_arr(list))
        return err_set(err, ERR_BAD_REQUEST, "rules: must be a list");
    struct rule *p = ARENA_ARRAY(a, struct rule, list->n), *at = p;
    json_each_item(list, item)
    {
        if (rule_from_json(a, item, at++, err) < 0)
            return err_wrap(err, "rules[%zu]", (size_t)(item - list->items));
    }
    *ret = (struct rules){p, list->n};
    return 0;
}

static struct json strs_to_json(struct arena *a, struct strs list)
{
    struct json arr = json_arr_sized(a, list.n);
    strs_each(list, it)
    {
        json_push(a, &arr, json_str(*it));
    }
    return arr;
}

struct json rules_to_json(struct arena *a, struct rules rules)
{
    struct json arr = json_arr_sized(a, rules.n);
    rules_each(rules, rule)
    {
        struct json obj = json_obj_sized(a, FIELDS);
        for (const struct field *f = json_order; f < json_order + FIELDS; f++)
            if (f == json_order || list_of(rule, f)->n)
                json_add(a, &obj, f->json, strs_to_json(a, *list_of(rule, f)));
        json_push(a, &arr, obj);
    }
    return arr;
}

static struct strs strs_dup(struct arena *a, struct strs list)
{
    str *p = ARENA_ARRAY(a, str, list.n), *at = p;
    strs_each(list, it)
    {
        *at++ = str_dup(a, *it);
    }
    return (struct strs){p, list.n};
}

struct rules rules_dup(struct arena *a, struct rules rules)
{
    struct rule *p = ARENA_ARRAY(a, struct rule, rules.n), *at = p;
    rules_each(rules, rule)
    {
        for (const struct field *f = json_order; f < json_order + FIELDS; f++)
            *list_of_mut(at, f) = strs_dup(a, *list_of(rule, f));
        at++;
    }
    return (struct rules){p, rules.n};
}

void rule_format(struct buf *b, const struct rule *rule)
{
    const char *sep = "{";
    for (const struct field *f = text_order; f < text_order + FIELDS; f++) {
        struct strs list = *list_of(rule, f);
        if (list.n == 0)
            continue;
        buf_fmt(b, "%s%.*s:[", sep, STR(f->text));
        strs_each(list, it)
        {
            if (it != list.p)
                buf_add_char(b, ' ');
            buf_add_quoted(b, *it);
        }
        buf_add_char(b, ']');
        sep = ", ";
    }
    buf_add_str(b, *sep == '{' ? S("{}") : S("}"));
}
