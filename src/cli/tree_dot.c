/* SPDX-License-Identifier: Apache-2.0 */
/* A view as a picture. Roles and subjects are nodes with numbers; their names stand in labels only. */
#include "cli/tree_draw.h"

#include "base/map.h"
#include "cli/visible.h"

/* ---- dot. ---- */

/* Inside of double quotes a backslash begins an escape, and "&" an entity as in HTML. */
static void add_label(struct buf *b, str text)
{
    struct buf shown = {0};
    cli_add_visibly(&shown, text);
    for (size_t i = 0; i < shown.n; i++) {
        char c = shown.p[i];
        if (c == '&') {
            buf_add_str(b, S("&amp;"));
            continue;
        }
        if (c == '"' || c == '\\')
            buf_add_char(b, '\\');
        buf_add_char(b, c);
    }
    buf_done(&shown);
}

struct picture {
    struct buf *out;
    struct arena *arena;
    const struct tree_reach *reach;
    size_t *numbers;     /* of roles, by their place in the graph: those of the picture count from 0 */
    struct map subjects; /* text → number + 1 */
    size_t n_subjects;
};

static void add_role(struct picture *p, const struct tree_role *role)
{
    const struct authz_role *r = role->role;
    buf_fmt(p->out, "  r%zu [label=\"", p->numbers[role->at]);
    add_label(p->out, tree_role_title(p->arena, role));
    buf_fmt(p->out, "\\n%zu rule%s", r->rules.n, r->rules.n == 1 ? "" : "s");
    if (role->package.n) {
        buf_add_str(p->out, S("\\nof "));
        add_label(p->out, role->package);
    }
    buf_fmt(p->out, "\"%s];\n", r->aggregation_rule ? ", style=\"rounded,filled\", fillcolor=\"#dbeafe\"" : "");
}

static size_t subject_number(struct picture *p, str text)
{
    uintptr_t number = (uintptr_t)map_get(&p->subjects, text);
    if (number)
        return number - 1;
    buf_fmt(p->out, "  s%zu [shape=ellipse, style=filled, fillcolor=\"#fef3c7\", label=\"", p->n_subjects);
    add_label(p->out, text);
    buf_add_str(p->out, S("\"];\n"));
    map_set(&p->subjects, text, (void *)(p->n_subjects + 1)); /* NOLINT(performance-no-int-to-ptr): a number is kept */
    return p->n_subjects++;
}

static void add_edges(struct picture *p, const struct tree_role *role)
{
    vec_each(&role->into, link)
    {
        if (p->reach->reached[link->role->at])
            buf_fmt(p->out, "  r%zu -> r%zu;\n", p->numbers[role->at], p->numbers[link->role->at]);
    }
    for (size_t i = 0; p->reach->bound[role->at] && i < role->bound.n; i++) {
        const struct tree_bound *bound = &role->bound.p[i];
        size_t subject = subject_number(p, authz_subject_title(p->arena, &bound->subject));
        buf_fmt(p->out, "  r%zu -> s%zu [style=dashed", p->numbers[role->at], subject);
        if (bound->kind == AUTHZ_ROLE_BINDING) {
            buf_add_str(p->out, S(", label=\"in "));
            add_label(p->out, bound->namespace);
            buf_add_char(p->out, '"');
        }
        buf_add_str(p->out, S("];\n"));
    }
}

void tree_dot(struct buf *b, const struct tree_view *view)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct tree_reach reach = tree_view_reach(&scratch, view);
    struct picture p = {
        .out = b, .arena = &scratch, .reach = &reach, .numbers = ARENA_ARRAY(&scratch, size_t, view->graph->n)};
    for (size_t i = 0; i < reach.roles.n; i++)
        p.numbers[reach.roles.p[i]->at] = i;
    buf_add_str(b, S("digraph reeve {\n"
                     "  graph [rankdir=LR, charset=\"UTF-8\", fontname=\"sans-serif\", label=\""));
    add_label(b, tree_title(&scratch, view));
    buf_add_str(b, S("\"];\n"
                     "  node [shape=box, style=rounded, fontname=\"sans-serif\", fontsize=11];\n"
                     "  edge [color=\"#64748b\", fontname=\"sans-serif\", fontsize=9];\n"));
    vec_each(&reach.roles, role) add_role(&p, *role);
    vec_each(&reach.roles, role) add_edges(&p, *role);
    buf_add_str(b, S("}\n"));
    map_done(&p.subjects);
}

/* ---- HTML. ---- */

static void add_html(struct buf *b, str text)
{
    for (size_t i = 0; i < text.n; i++) {
        switch (text.p[i]) {
        case '&':
            buf_add_str(b, S("&amp;"));
            break;
        case '<':
            buf_add_str(b, S("&lt;"));
            break;
        case '>':
            buf_add_str(b, S("&gt;"));
            break;
        case '"':
            buf_add_str(b, S("&quot;"));
            break;
        default:
            buf_add_char(b, text.p[i]);
        }
    }
}

/* Its own text only: without what stands in front of it in a file of its own. */
static str picture_of(str svg)
{
    ptrdiff_t start = str_find(svg, S("<svg"));
    return start < 0 ? (str){0} : str_from(svg, (size_t)start);
}

/* The policy keeps the page from running or fetching anything, should an escape ever be missed. */
void tree_page(struct buf *b, const struct tree_view *view, str svg)
{
    static const struct term plain = {.has_utf8 = true};
    struct arena scratch ARENA_SCOPE = {0};
    struct buf title = {.arena = &scratch}, drawing = {.arena = &scratch};
    cli_add_visibly(&title, tree_title(&scratch, view));
    tree_draw(&drawing, &plain, view, true);
    buf_add_str(b, S("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                     "<meta http-equiv=\"Content-Security-Policy\""
                     " content=\"default-src 'none'; style-src 'unsafe-inline'\">\n<title>"));
    add_html(b, buf_str(&title));
    buf_add_str(b, S("</title>\n<style>body{font-family:sans-serif;margin:2rem}pre{overflow:auto;line-height:1.2}"
                     "svg{max-width:100%;height:auto}</style>\n</head>\n<body>\n<h1>"));
    add_html(b, buf_str(&title));
    buf_add_str(b, S("</h1>\n"));
    buf_add_str(b, picture_of(svg));
    buf_add_str(b, S("<pre>"));
    add_html(b, buf_str(&drawing));
    buf_add_str(b, S("</pre>\n</body>\n</html>\n"));
}
