/* SPDX-License-Identifier: Apache-2.0 */
/* A view as a document for programs. A list of roles with names in it, not a tree: what is shared is there once, and circles do
 * not matter. */
#include "cli/tree_draw.h"

#include "cli/document.h"

static struct json role_reference(struct arena *a, const struct tree_role *role)
{
    return document_ref(a, authz_kind_name(role->role->kind), role->role->namespace, role->role->name);
}

static struct json selects(struct arena *a, const struct tree_reach *reach, const struct tree_role *role)
{
    struct json list = json_arr();
    vec_each(&role->from, link)
    {
        struct json one = json_obj();
        if (!reach->reached[link->role->at])
            continue;
        json_add(a, &one, S("name"), json_str(link->role->role->name));
        json_add(a, &one, S("selector"), json_str(link->selector));
        json_push(a, &list, one);
    }
    return list;
}

static struct json feeds(struct arena *a, const struct tree_reach *reach, const struct tree_role *role)
{
    struct json list = json_arr();
    vec_each(&role->into, link)
    {
        if (reach->reached[link->role->at])
            json_push(a, &list, json_str(link->role->role->name));
    }
    return list;
}

static struct json bound_to(struct arena *a, const struct tree_role *role)
{
    struct json list = json_arr();
    vec_each(&role->bound, bound)
    {
        struct json one = document_subject(a, &bound->subject);
        json_add(a, &one, S("binding"), document_ref(a, authz_kind_name(bound->kind), bound->namespace, bound->name));
        json_push(a, &list, one);
    }
    return list;
}

static struct json describe(struct arena *a, const struct tree_reach *reach, const struct tree_role *role)
{
    struct json one = role_reference(a, role);
    document_add_text(a, &one, "package", role->package);
    json_add(a, &one, S("rules"), json_uint(role->role->rules.n));
    json_add(a, &one, S("aggregated"), json_bool(role->role->aggregation_rule != NULL));
    json_add(a, &one, S("selects"), selects(a, reach, role));
    json_add(a, &one, S("feeds"), feeds(a, reach, role));
    if (reach->bound[role->at])
        json_add(a, &one, S("boundTo"), bound_to(a, role));
    return one;
}

struct json tree_document(struct arena *a, const struct tree_view *view)
{
    struct tree_reach reach = tree_view_reach(a, view);
    struct json document = document_new(a, "RoleTree"), roots = json_arr(), roles = json_arr();
    if (view->about)
        json_add(a, &document, S("about"), document_ref(a, str_of(view->about), (str){0}, view->name));
    if (view->n_parts)
        vec_each(&view->parts[0].roots, root) json_push(a, &roots, role_reference(a, *root));
    vec_each(&reach.roles, role) json_push(a, &roles, describe(a, &reach, *role));
    json_add(a, &document, S("roots"), roots);
    json_add(a, &document, S("roles"), roles);
    return document;
}
