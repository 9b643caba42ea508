/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli_access.h"
#include "cli/question.h"
#include "cli/term.h"

/* An answer of reeve why, and how it is drawn. */

struct why {
    struct explanation e;
    str command;     /* that would make it a yes; empty: there is none */
    bool is_own;     /* of the asker's own rules alone: which bindings and roles they come from is not known */
    bool is_partial; /* what is bound in other namespaces is not known */
};

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

/* A yes: the way from each binding to the package, as a tree. A no: near misses, as trees, and the command. */
static void why_draw(struct buf *b, const struct term *term, const struct why *w)
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

/* reeve why: may somebody do something, and why or why not. */

enum {
    WHY_YES = 0,
    WHY_NO = 1,
    WHY_FAILED = 3, /* no answer */
};

enum why_output { WHY_TREE, WHY_JSON, WHY_YAML };

struct options {
    int output; /* enum why_output */
    str subresource;
    flag_texts groups;
};

/* ---- For programs. ---- */

static struct json miss_document(struct arena *a, const struct why *w, const struct explain_miss *miss)
{
    static const char *const kinds[] = {
        [MISS_NAMESPACE] = "OtherNamespace", [MISS_VERB] = "OtherVerb",   [MISS_NAME] = "OtherName",
        [MISS_SUBRESOURCE] = "OtherPart",    [MISS_GROUP] = "OtherGroup", [MISS_PATH] = "OtherPath",
        [MISS_ROLE] = "RoleMissing",         [MISS_BINDING] = "NotBound",
    };
    const struct authz_grant *g = &miss->grant;
    struct json object = json_obj();
    json_add(a, &object, S("kind"), json_str(str_of(kinds[miss->kind])));
    if (miss->instead.n)
        json_add(a, &object, S("allowed"), document_texts(a, miss->instead));
    if (w->is_own)
        return object;
    struct json role =
        document_ref(a, authz_kind_name(g->role_kind), miss->role ? miss->role->namespace : (str){0}, g->role_name);
    document_add_text(a, &role, "package", miss->package);
    if (miss->kind != MISS_BINDING) {
        json_add(a, &object, S("subject"), document_subject(a, &g->subject));
        json_add(a, &object, S("binding"), document_ref(a, authz_kind_name(g->kind), g->namespace, g->name));
    }
    json_add(a, &object, S("role"), role);
    return object;
}

static struct json remedy_document(struct arena *a, const struct why *w)
{
    const struct explain_remedy *r = &w->e.remedy;
    struct json object = json_obj();
    if (r->role)
        json_add(a, &object, S("role"),
                 document_ref(a, authz_kind_name(r->role->kind), r->role->namespace, r->role->name));
    json_add(a, &object, S("rule"), rules_to_json(a, (struct rules){&r->rule, 1}).items[0]);
    document_add_text(a, &object, "command", w->command);
    return object;
}

static void print_document(struct command *c, const struct question *q, const struct why *w, bool as_yaml)
{
    struct arena *a = &c->arena;
    const struct explanation *e = &w->e;
    struct json doc = question_document(a, "Why", q), paths = json_arr(), misses = json_arr();
    json_add(a, &doc, S("allowed"), json_bool(e->decision.allowed));
    document_add_text(a, &doc, "reason", e->decision.reason);
    if (e->is_master)
        json_add(a, &doc, S("canDoEverything"), json_bool(true));
    for (size_t i = 0; !w->is_own && i < e->n_paths; i++)
        json_push(a, &paths, question_path(a, &e->paths[i]));
    for (size_t i = 0; i < e->n_misses; i++)
        json_push(a, &misses, miss_document(a, w, &e->misses[i]));
    if (e->decision.allowed) {
        json_add(a, &doc, S("paths"), paths);
    } else {
        json_add(a, &doc, S("nearMisses"), misses);
        if (e->remedy.rule.verbs.n)
            json_add(a, &doc, S("remedy"), remedy_document(a, w));
    }
    output_tree(&doc, as_yaml);
}

/* ---- The answer. ---- */

static void print(struct command *c, const struct options *o, const struct question *q, struct why *w)
{
    struct buf command = {.arena = &c->arena}, out = {0};
    if (!w->e.decision.allowed)
        explain_command(&command, &w->e.remedy, q->is_known);
    w->command = buf_str(&command);
    if (w->is_partial)
        term_say(&c->term, "Note: you may not read the bindings of other namespaces; near misses there are not told.");
    if (w->is_own)
        term_say(&c->term, "Note: you may not read roles and bindings; this is what the server says of yourself.");
    if (c->term.is_quiet)
        return;
    if (o->output == WHY_TREE) {
        why_draw(&out, &c->term, w);
        output_text(buf_str(&out));
        buf_done(&out);
    } else {
        print_document(c, q, w, o->output == WHY_YAML);
    }
}

/* By roles and bindings. Those of other namespaces are read for a no only: they can only come near. */
static int explain(struct command *c, const struct question *q, struct rights *rights, struct why *ret, struct err *err)
{
    struct err ignored;
    unsigned wide = 1U << AUTHZ_CLUSTER_ROLE | 1U << AUTHZ_CLUSTER_ROLE_BINDING;
    unsigned narrow = 1U << AUTHZ_ROLE | 1U << AUTHZ_ROLE_BINDING;
    str namespace = q->what.namespace;
    int code = rights_load_kinds(c, namespace.n ? wide | narrow : wide, namespace, rights, err);
    if (code < 0)
        return code;
    ret->e = explain_request(&c->arena, rights->index, &q->who, &q->what);
    if (ret->e.decision.allowed)
        return 0;
    ret->is_partial = rights_load_kinds(c, narrow, (str){0}, rights, &ignored) < 0;
    ret->e = explain_request(&c->arena, rights->index, &q->who, &q->what);
    return 0;
}

/* By what everybody may ask about himself. ERR_FORBIDDEN: this is about somebody else. */
static int explain_own(struct command *c, const struct question *q, struct rights *rights, struct why *ret,
                       struct err *err)
{
    struct authz_decision decision;
    if (!str_eq(q->who.user, self_name(c)))
        return ERR_FORBIDDEN;
    int code = self_check(c, &q->what, &decision, err);
    if (code < 0)
        return code;
    rights_done(rights);
    rights->index = self_rules(c, q->who.user, q->what.namespace);
    ret->e = explain_request(&c->arena, rights->index, &q->who, &q->what);
    if (ret->e.decision.allowed != decision.allowed) { /* somebody else than RBAC decides here, too */
        ret->e.n_misses = 0;
        ret->e.remedy = (struct explain_remedy){0};
    }
    ret->e.decision = decision;
    ret->is_own = true;
    return 0;
}

static int answer(struct command *c, const struct options *o, char **words)
{
    struct question q = {0};
    struct explain_keep keep = {.what = &q.what, .who = &q.who};
    struct rights rights = {.keep = &keep};
    struct why why = {0};
    struct err err = {0}, own = {0};
    if (command_connect(c, &err) < 0)
        return command_fail(c, &err);
    if (question_who(c, words[0], &o->groups, &q, &err) < 0 ||
        question_what(c, words[1], words[2], o->subresource, &q, &err) < 0)
        return question_fail(c, &err);
    int code = explain(c, &q, &rights, &why, &err);
    if (code == ERR_FORBIDDEN && o->groups.n == 0 && explain_own(c, &q, &rights, &why, &own) == 0)
        code = 0;
    if (code == 0)
        print(c, o, &q, &why);
    else
        code = command_fail(c, &err);
    rights_done(&rights);
    explain_keep_done(&keep);
    return code ? code : why.e.decision.allowed ? WHY_YES : WHY_NO;
}

int cli_why(int argc, char **argv)
{
    static const char *const outputs[] = {[WHY_TREE] = "tree", [WHY_JSON] = "json", [WHY_YAML] = "yaml", NULL};
    struct options o = {0};
    const struct flag own[] = {
        {.letter = 'o', .name = "output", .kind = FLAG_WORD, .into = &o.output, .words = outputs},
        {.name = "subresource", .kind = FLAG_TEXT, .into = &o.subresource},
        {.name = "group", .kind = FLAG_TEXTS, .into = &o.groups},
    };
    struct command c = {.name = "why", .takes = TAKES_SERVER | TAKES_NAMESPACE | TAKES_ALL, .failed = WHY_FAILED};
    struct flag_words words;
    int code = command_start(&c, own, COUNT(own), argc, argv, &words);
    if (c.is_over)
        return command_end(&c, code);
    if (words.n != 3)
        return command_end(&c, command_misused(&c, "name a user, a verb and a resource: jane get pods"));
    return command_end(&c, answer(&c, &o, words.p));
}
