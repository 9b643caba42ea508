/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/why.h"

#include "cli/visible.h"

enum {
    MAX_SHOWN = 20,  /* of paths, and of the sources of each */
    MAX_UNBOUND = 3, /* of roles that nothing binds */
    MAX_VIA = 8, /* of roles between one that is bound and a source: how long such chains are is up to the cluster */
};

/* ---- Trees. ---- */

/* A line, and what hangs below it. */
struct branch {
    str text; /* may be sent to the terminal as it is */
    VEC(struct branch *) below;
};

struct drawing {
    struct arena arena;
    const struct term *term;
};

static str join(struct drawing *d, str first, str second)
{
    return str_fmt(&d->arena, "%.*s%.*s", STR(first), STR(second));
}

static void draw_paragraph(struct buf *b, const struct term *term, str text)
{
    struct term_wrap wrap = {.width = term_room(term), .hang = S("    ")};
    term_add_wrapped(b, term, &wrap, text);
}

/* The branch with this text below another; equal ones are one. There are never many. */
static struct branch *grow(struct drawing *d, struct branch *up, const struct buf *text)
{
    str line = buf_str(text);
    vec_each(&up->below, known)
    {
        if (str_eq((*known)->text, line))
            return *known;
    }
    struct branch *made = ARENA_NEW(&d->arena, struct branch);
    made->text = line;
    *vec_push(&d->arena, &up->below) = made;
    return made;
}

static struct branch *grow_text(struct drawing *d, struct branch *up, const char *text)
{
    struct buf line = {.arena = &d->arena};
    term_add(&line, d->term, STYLE_FAINT, str_of(text));
    return grow(d, up, &line);
}

static void grow_more(struct drawing *d, struct branch *up, size_t n)
{
    if (n)
        grow_text(d, up, str_cstr(&d->arena, str_fmt(&d->arena, "and %zu more", n)));
}

/* A line that is too long for the terminal goes on below, where the lines of what hangs there go by. */
static void draw_line(struct buf *b, struct drawing *d, const struct branch *branch, str lead, str deeper)
{
    const struct term_lines *lines = term_lines(d->term);
    struct term_wrap wrap = {.width = term_room(d->term),
                             .lead = lead,
                             .hang = join(d, deeper, branch->below.n ? lines->line : lines->none)};
    term_add_wrapped(b, d->term, &wrap, branch->text);
}

/* lead: the lines from further up. Never deep: what is drawn has a limit (MAX_VIA). */
static void draw_below(struct buf *b, struct drawing *d, const struct branch *branch, str lead)
{
    const struct term_lines *lines = term_lines(d->term);
    for (size_t i = 0; i < branch->below.n; i++) {
        bool is_last = i + 1 == branch->below.n;
        str deeper = join(d, lead, is_last ? lines->none : lines->line);
        draw_line(b, d, branch->below.p[i], join(d, lead, is_last ? lines->last : lines->branch), deeper);
        draw_below(b, d, branch->below.p[i], deeper);
    }
}

static void draw(struct buf *b, struct drawing *d, const struct branch *root, str lead)
{
    for (size_t i = 0; i < root->below.n; i++) {
        draw_line(b, d, root->below.p[i], lead, lead);
        draw_below(b, d, root->below.p[i], lead);
    }
}

/* ---- Lines. ---- */

static void add_named(struct drawing *d, struct buf *line, str kind, str name)
{
    cli_add_visibly(line, kind);
    buf_add_char(line, ' ');
    term_add(line, d->term, STYLE_NAME, name);
}

/* RoleBinding devs in team-a, to Group devs */
static struct branch *grow_binding(struct drawing *d, struct branch *up, const struct authz_grant *g)
{
    struct buf line = {.arena = &d->arena};
    add_named(d, &line, authz_kind_name(g->kind), g->name);
    if (g->kind == AUTHZ_CLUSTER_ROLE_BINDING) {
        buf_add_char(&line, ' ');
        term_add(&line, d->term, STYLE_WARN, S("(cluster-wide)"));
    } else {
        buf_add_str(&line, S(" in "));
        term_add(&line, d->term, STYLE_NAME, g->namespace);
    }
    buf_add_str(&line, S(", to "));
    add_named(d, &line, authz_subject_kind_name(g->subject.kind), authz_subject_name(&d->arena, &g->subject));
    return grow(d, up, &line);
}

static struct branch *grow_role(struct drawing *d, struct branch *up, enum authz_kind kind, str name, const char *note)
{
    struct buf line = {.arena = &d->arena};
    add_named(d, &line, kind == AUTHZ_UNKNOWN ? S("a role of the unknown kind") : authz_kind_name(kind), name);
    if (note)
        term_add(&line, d->term, STYLE_WARN, str_of(note));
    return grow(d, up, &line);
}

static void grow_package(struct drawing *d, struct branch *up, str package)
{
    struct buf line = {.arena = &d->arena};
    if (package.n == 0)
        return;
    add_named(d, &line, S("package"), package);
    grow(d, up, &line);
}

/* With -v: what exactly allows it, and what makes it part of another role. */
static void grow_detail(struct drawing *d, struct branch *up, const struct rule *rule, str selector)
{
    struct buf line = {.arena = &d->arena};
    if (d->term->verbosity == 0)
        return;
    if (selector.n)
        grow_text(d, up, str_cstr(&d->arena, str_fmt(&d->arena, "selected by %.*s", STR(selector))));
    buf_add_str(&line, S("by "));
    rule_format(&line, rule);
    grow_text(d, up, str_cstr(&d->arena, buf_str(&line)));
}

/* ---- Yes. ---- */

/* Of a long chain the beginning, and how much of it is missing before its end. */
static struct branch *grow_via(struct drawing *d, struct branch *role, struct strs via)
{
    struct branch *at = role;
    for (size_t i = 0; i < via.n && i < MAX_VIA; i++)
        at = grow_role(d, at, AUTHZ_CLUSTER_ROLE, via.p[i], NULL);
    if (via.n <= MAX_VIA)
        return at;
    str dots = term_lines(d->term)->dots;
    return grow_text(d, at,
                     str_cstr(&d->arena, str_fmt(&d->arena, "%.*s %zu more in between", STR(dots), via.n - MAX_VIA)));
}

static void grow_source(struct drawing *d, struct branch *role, const struct explain_source *s)
{
    struct branch *at = grow_via(d, role, s->via);
    at = grow_role(d, at, AUTHZ_CLUSTER_ROLE, s->role->name, NULL);
    grow_detail(d, at, s->rule, s->selector);
    grow_package(d, at, s->package);
}

static void grow_path(struct drawing *d, struct branch *root, const struct explain_path *path)
{
    const struct authz_grant *g = &path->grant;
    struct branch *role = grow_role(d, grow_binding(d, root, g), g->role_kind, g->role_name, NULL);
    if (!path->is_aggregated)
        grow_detail(d, role, path->rule, (str){0});
    for (size_t i = 0; i < path->n_sources && i < MAX_SHOWN; i++)
        grow_source(d, role, &path->sources[i]);
    grow_more(d, role, path->n_sources > MAX_SHOWN ? path->n_sources - MAX_SHOWN : 0);
    if (path->is_aggregated && path->n_sources == 0)
        grow_text(d, role, "no role that it selects has this rule now: it is about to be aggregated again");
    grow_package(d, role, path->package);
}

static void draw_yes(struct buf *b, struct drawing *d, const struct why *w)
{
    const struct explanation *e = &w->e;
    struct branch root = {0};
    for (size_t i = 0; i < e->n_paths && i < MAX_SHOWN; i++)
        grow_path(d, &root, &e->paths[i]);
    grow_more(d, &root, e->n_paths > MAX_SHOWN ? e->n_paths - MAX_SHOWN : 0);
    if (w->is_own) {
        str reason = e->decision.reason.n ? e->decision.reason : S("The server gives no reason.");
        draw_paragraph(b, d->term, cli_visible(&d->arena, reason));
        return;
    }
    if (e->is_master)
        buf_add_str(b, S("Members of Group system:masters can do everything.\n"));
    draw(b, d, &root, S(""));
}

/* ---- No. ---- */

/* Roles of the server's own parts are nobody else's: that they would allow it is no help. */
static bool is_hidden(const struct explain_miss *miss)
{
    return miss->kind == MISS_BINDING &&
           (str_has_prefix(miss->role->name, S("system:")) || str_has_prefix(miss->role->name, S("reeve:")));
}

static void grow_miss(struct drawing *d, struct branch *root, const struct why *w, const struct explain_miss *miss)
{
    struct buf text = {.arena = &d->arena}, line = {.arena = &d->arena};
    if (miss->kind == MISS_BINDING)
        buf_add_str(&text, S("allowed by a role that nothing binds to the asker here"));
    else
        explain_instead_format(&text, &w->e, miss);
    term_add(&line, d->term, STYLE_PLAIN, buf_str(&text));
    struct branch *instead = grow(d, root, &line);
    if (w->is_own)
        return;
    bool is_unbound = miss->kind == MISS_BINDING;
    if (is_unbound && instead->below.n >= MAX_UNBOUND)
        return;
    struct branch *up = is_unbound ? instead : grow_binding(d, instead, &miss->grant);
    struct branch *role = grow_role(d, up, miss->grant.role_kind, miss->grant.role_name,
                                    miss->kind == MISS_ROLE ? ", which does not exist" : NULL);
    grow_package(d, role, miss->package);
}

static void draw_no(struct buf *b, struct drawing *d, const struct why *w)
{
    const struct explanation *e = &w->e;
    struct branch root = {0};
    for (size_t i = 0; i < e->n_misses; i++)
        if (!is_hidden(&e->misses[i]))
            grow_miss(d, &root, w, &e->misses[i]);
    if (root.below.n) {
        buf_add_str(b, S("Near misses:\n"));
        draw(b, d, &root, S("  "));
    } else {
        buf_add_str(b, S("Nothing comes near it.\n"));
    }
    if (w->command.n == 0)
        return;
    buf_add_str(b, S("\nThis would make it a yes:\n  ")); /* on one line, however long: for people to copy */
    term_add(b, d->term, STYLE_HEAD, w->command);
    buf_add_char(b, '\n');
}

void why_draw(struct buf *b, const struct term *term, const struct why *w)
{
    bool yes = w->e.decision.allowed;
    struct drawing d = {.term = term};
    struct buf claim = {.arena = &d.arena}, line = {.arena = &d.arena};
    explain_claim_format(&claim, &w->e);
    term_add(&line, term, yes ? STYLE_GAIN : STYLE_LOSS, yes ? S("yes") : S("no"));
    buf_add_str(&line, S(": "));
    cli_add_visibly(&line, buf_str(&claim));
    draw_paragraph(b, term, buf_str(&line));
    buf_add_char(b, '\n');
    if (yes)
        draw_yes(b, &d, w);
    else
        draw_no(b, &d, w);
    arena_done(&d.arena);
}
