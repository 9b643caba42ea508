/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli_output.h"
#include "cli/tree_internal.h"

/* ---- Words. ---- */

/* Byte by byte: a format would end a name at a NUL, and so show another. */
static str join(struct arena *a, const str *parts, size_t n)
{
    struct buf b = {.arena = a};
    for (size_t i = 0; i < n; i++)
        buf_add_str(&b, parts[i]);
    return buf_str(&b);
}

#define JOIN(a, ...) join(a, (const str[]){__VA_ARGS__}, sizeof((const str[]){__VA_ARGS__}) / sizeof(str))

str tree_title(struct arena *a, const struct tree_view *view)
{
    return view->about ? JOIN(a, str_of(view->about), S(" "), view->name) : S("all aggregated roles");
}

str tree_role_title(struct arena *a, const struct tree_role *role)
{
    const struct authz_role *r = role->role;
    return r->kind == AUTHZ_ROLE ? JOIN(a, S("Role "), r->namespace, S("/"), r->name) : r->name;
}

static str binding_title(struct arena *a, const struct tree_bound *bound)
{
    bool is_wide = bound->kind == AUTHZ_CLUSTER_ROLE_BINDING;
    return JOIN(a, authz_kind_name(bound->kind), S(" "), bound->namespace, is_wide ? S("") : S("/"), bound->name);
}

/* ---- Lines. ---- */

enum { COLUMN_ROLE, COLUMN_RULES, COLUMN_PACKAGE, COLUMN_BY, COLUMNS };

enum state { UNSEEN, OPEN, DRAWN };

struct drawing {
    struct arena *arena;
    const struct term_lines *lines;
    const struct tree_part *part;
    bool is_wide, has_packages;
    struct table table;
    unsigned char *states; /* enum state of each role */
    struct buf lead;       /* of the rows below the one that is being drawn */
};

static bool has_row_for_package(const struct tree_role *role)
{
    /* The names that the installer gives begin with "package:", and say it themselves. */
    return role->package.n && str_find(role->role->name, role->package) < 0;
}

static void add_row(struct drawing *d, const struct table_cell cells[COLUMNS])
{
    struct table_cell shown[COLUMNS];
    size_t n = 0;
    shown[n++] = cells[COLUMN_ROLE];
    shown[n++] = cells[COLUMN_RULES];
    if (d->has_packages)
        shown[n++] = cells[COLUMN_PACKAGE];
    if (d->is_wide)
        shown[n++] = cells[COLUMN_BY];
    d->table.columns = n;
    cli_table_add_cells(&d->table, shown);
}

static str lead_of(struct drawing *d, size_t depth, bool is_last)
{
    if (depth == 0)
        return (str){0};
    return JOIN(d->arena, buf_str(&d->lead), is_last ? d->lines->last : d->lines->branch);
}

static void add_role(struct drawing *d, const struct tree_link *link, str lead, const char *note)
{
    const struct tree_role *role = link->role;
    str title = tree_role_title(d->arena, role);
    bool says_package = d->is_wide || has_row_for_package(role);
    if (note)
        title = JOIN(d->arena, title, S(" "), d->lines->dots, S(" "), str_of(note));
    add_row(d, (struct table_cell[]){
                   {lead, title, role->role->aggregation_rule ? STYLE_NAME : STYLE_PLAIN},
                   {.text = str_fmt(d->arena, "%zu", role->role->rules.n)},
                   {.text = says_package ? role->package : (str){0}},
                   {.text = link->selector, .style = STYLE_FAINT},
               });
}

static void add_bound(struct drawing *d, const struct tree_bound *bound, bool is_last)
{
    bool is_wide = bound->kind == AUTHZ_CLUSTER_ROLE_BINDING;
    str subject = authz_subject_title(d->arena, &bound->subject);
    add_row(d, (struct table_cell[]){
                   {lead_of(d, 1, is_last),
                    JOIN(d->arena, S("bound to "), subject, is_wide ? S("") : S(" in "), bound->namespace), STYLE_WARN},
                   {.style = STYLE_PLAIN},
                   {.style = STYLE_PLAIN},
                   {.text = binding_title(d->arena, bound), .style = STYLE_FAINT},
               });
}

static const char *note_for(const struct drawing *d, const struct tree_role *role, size_t n, size_t depth)
{
    if (n == 0)
        return NULL;
    if (d->states[role->at] == OPEN)
        return "in a circle";
    if (d->states[role->at] == DRAWN)
        return "as above";
    return depth == TREE_MAX_DEPTH ? "goes deeper" : NULL;
}

/* NOLINTNEXTLINE(misc-no-recursion): TREE_MAX_DEPTH */
static void draw_role(struct drawing *d, const struct tree_link *link, size_t depth, bool is_last)
{
    struct tree_role *role = link->role;
    const struct tree_link *links = d->part->is_upwards ? role->into.p : role->from.p;
    size_t n_links = d->part->is_upwards ? role->into.n : role->from.n;
    size_t n_bound = d->part->shows_bound ? role->bound.n : 0;
    const char *note = note_for(d, role, n_links + n_bound, depth);
    add_role(d, link, lead_of(d, depth, is_last), note);
    if (note)
        return;
    size_t before = d->lead.n;
    if (depth)
        buf_add_str(&d->lead, is_last ? d->lines->none : d->lines->line);
    d->states[role->at] = OPEN;
    for (size_t i = 0; i < n_bound; i++)
        add_bound(d, &role->bound.p[i], n_links == 0 && i == n_bound - 1);
    for (size_t i = 0; i < n_links; i++)
        draw_role(d, &links[i], depth + 1, i == n_links - 1);
    d->states[role->at] = DRAWN;
    d->lead.n = before;
}

static void add_head(struct drawing *d)
{
    static const char *const ways[] = {"ROLE", "GOES INTO"};
    bool is_second = d->part->is_upwards && !d->part->shows_bound;
    add_row(d, (struct table_cell[]){
                   {.text = str_of(ways[is_second]), .style = STYLE_HEAD},
                   {.text = S("RULES"), .style = STYLE_HEAD},
                   {.text = S("PACKAGE"), .style = STYLE_HEAD},
                   {.text = S("BY"), .style = STYLE_HEAD},
               });
}

static bool wants_packages(const struct tree_reach *reach)
{
    vec_each(&reach->roles, role)
    {
        if (has_row_for_package(*role))
            return true;
    }
    return false;
}

void tree_draw(struct buf *b, const struct term *term, const struct tree_view *view, bool is_wide)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct tree_reach reach = tree_view_reach(&scratch, view);
    for (size_t p = 0; p < view->n_parts; p++) {
        struct drawing d = {
            .arena = &scratch,
            .lines = term_lines(term),
            .part = &view->parts[p],
            .is_wide = is_wide,
            .has_packages = is_wide || wants_packages(&reach),
            .table = {.arena = &scratch, .term = term},
            .states = ARENA_ARRAY(&scratch, unsigned char, view->graph->n),
            .lead = {.arena = &scratch},
        };
        add_head(&d);
        vec_each(&d.part->roots, root) draw_role(&d, &(struct tree_link){.role = *root}, 0, true);
        if (p)
            buf_add_char(b, '\n');
        cli_table_print(b, &d.table);
    }
}

/* A view as a document for programs. A list of roles with names in it, not a tree: what is shared is there once, and circles do
 * not matter. */

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
