/* SPDX-License-Identifier: Apache-2.0 */
/* reeve matrix: what somebody may do: resources and verbs. */
#include "cli/command.h"
#include "cli/matrix_view.h"
#include "cli/question.h"
#include "cli/resource.h"
#include "cli/rights.h"
#include "cli/self.h"

#include <stdlib.h>

struct options {
    int output; /* enum output */
    bool is_all, has_subresources;
    flag_texts groups;
};

/* What somebody may do in one place: told by rules, or by roles and bindings. */
struct source {
    struct rules rules;
    const struct authz_index *index; /* NULL: the rules are all there is */
    str namespace;
};

/* One matrix under way. Objects of a namespace are judged by what holds there, those of the cluster by what holds everywhere:
 * a RoleBinding to a role with a rule about nodes gives no right to nodes. */
struct work {
    struct command *c;
    struct arena *a;
    const struct options *options;
    struct authz_identity who;
    struct source there, everywhere;
    struct matrix m;
};

/* ---- Oneself: by reviews, which everybody may ask for. ---- */

/* No namespace can have this name, so that no RoleBinding is in it: what holds there holds everywhere. */
#define NOWHERE S("-")

static int ask_rules(struct work *w, str namespace, struct rules *ret, struct err *err)
{
    struct json answer;
    command_needs(w->c, (struct command_need){.verb = "create",
                                              .group = S("authorization.k8s.io"),
                                              .resource = S("selfsubjectrulesreviews")});
    int code = self_review(w->c, namespace, &answer, err);
    if (code < 0)
        return err_wrap(err, "ask for one's own rules");
    str incomplete;
    code = matrix_read_review(w->a, &answer, ret, &incomplete, err);
    if (code == 0 && incomplete.n)
        w->m.incomplete = incomplete;
    return code;
}

static int look_at_oneself(struct work *w, struct err *err)
{
    int code = ask_rules(w, NOWHERE, &w->everywhere.rules, err);
    w->there = w->everywhere;
    if (code == 0 && w->m.namespace.n)
        code = ask_rules(w, w->m.namespace, &w->there.rules, err);
    if (code == 0)
        w->who = self_identity(w->c);
    return code;
}

/* ---- Somebody else: by roles and bindings. ---- */

static int look_at(struct work *w, const char *user, struct rights *rights, struct err *err)
{
    unsigned kinds = 1U << AUTHZ_CLUSTER_ROLE | 1U << AUTHZ_CLUSTER_ROLE_BINDING;
    if (w->m.namespace.n)
        kinds |= 1U << AUTHZ_ROLE | 1U << AUTHZ_ROLE_BINDING;
    struct question q;
    int code = question_who(w->c, user, &w->options->groups, &q, err);
    if (code == 0)
        code = rights_load_kinds(w->c, kinds, w->m.namespace, rights, err);
    if (code < 0)
        return code;
    w->who = q.who;
    w->everywhere = (struct source){.rules = explain_rules_for(w->a, rights->index, &w->who, (str){0}).resource_rules,
                                    .index = rights->index};
    struct explain_rules there = explain_rules_for(w->a, rights->index, &w->who, w->m.namespace);
    w->there = (struct source){there.resource_rules, rights->index, w->m.namespace};
    w->m.incomplete = there.evaluation_error; /* roles that are bound and missing */
    return 0;
}

/* ---- The axes. ---- */

static int by_text(const void *x, const void *y)
{
    return str_cmp(*(const str *)x, *(const str *)y);
}

/* The usual verbs, and for whom it does not matter how wide it is all others that rules name, by name. */
static struct strs find_verbs(struct work *w)
{
    VEC(str) all = {0};
    struct map seen = {0};
    const struct rules lists[] = {w->there.rules, w->everywhere.rules};
    map_set(&seen, S("*"), w);
    strs_each(matrix_verbs, verb)
    {
        *vec_push(w->a, &all) = *verb;
        map_set(&seen, *verb, w);
    }
    for (size_t i = 0; w->options->output != OUTPUT_TABLE && i < 2; i++) {
        rules_each(lists[i], rule)
        {
            strs_each(rule->verbs, verb)
            {
                if (!map_set(&seen, *verb, w))
                    *vec_push(w->a, &all) = *verb;
            }
        }
    }
    map_done(&seen);
    if (all.n > matrix_verbs.n)
        qsort(all.p + matrix_verbs.n, all.n - matrix_verbs.n, sizeof *all.p, by_text);
    return (struct strs){all.p, all.n};
}

static int find_rows(struct work *w, struct err *err)
{
    const struct client_discovery *d;
    VEC(struct matrix_row) rows = {0};
    int code = resource_all(w->c, &d, err);
    if (code < 0)
        return code;
    for (size_t i = 0; i < d->n; i++) {
        const struct client_discovered *r = &d->p[i];
        struct matrix_row row = {{r->resource.group, r->resource.plural, {0}}, r->resource.namespaced, r->verbs, true};
        *vec_push(w->a, &rows) = row;
        row.knows_verbs = false;
        for (size_t k = 0; w->options->has_subresources && k < r->n_subresources; k++) {
            row.what.subresource = r->subresources[k];
            *vec_push(w->a, &rows) = row;
        }
    }
    if (d->n_failed)
        term_say(&w->c->term, "The server cannot tell about all of its resources: %.*s", STR(d->text));
    w->m.rows = rows.p;
    w->m.n = rows.n;
    return 0;
}

/* ---- The cells. ---- */

static const enum explain_cell *judge(struct work *w, const struct source *s, const struct explain_axes *axes)
{
    return s->index ? explain_matrix(w->a, s->index, &w->who, s->namespace, axes)
                    : explain_matrix_of(w->a, s->rules, axes);
}

static void fill(struct work *w)
{
    struct explain_resource *resources = ARENA_ARRAY(w->a, struct explain_resource, w->m.n);
    for (size_t i = 0; i < w->m.n; i++)
        resources[i] = w->m.rows[i].what;
    w->m.verbs = find_verbs(w);
    struct explain_axes axes = {resources, w->m.n, w->m.verbs};
    const enum explain_cell *there = judge(w, &w->there, &axes), *everywhere = judge(w, &w->everywhere, &axes);
    enum explain_cell *cells = ARENA_ARRAY(w->a, enum explain_cell, w->m.n * w->m.verbs.n);
    for (size_t i = 0; i < w->m.n * w->m.verbs.n; i++)
        cells[i] = w->m.rows[i / w->m.verbs.n].is_namespaced ? there[i] : everywhere[i];
    w->m.cells = cells;
    w->m.user = w->who.user;
    w->m.groups = w->who.groups;
}

/* ---- The command. ---- */

static void print(struct work *w)
{
    struct buf text = {.arena = w->a};
    bool is_wide = w->options->output == OUTPUT_WIDE, has_any = w->options->is_all;
    if (w->m.incomplete.n)
        term_say(&w->c->term, "This may not be all: %.*s", STR(w->m.incomplete));
    if (w->options->output == OUTPUT_JSON || w->options->output == OUTPUT_YAML) {
        struct json document = matrix_document(w->a, &w->m, w->options->is_all);
        output_tree(&document, w->options->output == OUTPUT_YAML);
        return;
    }
    question_note_place(w->c, w->m.namespace, "-n names another");
    for (size_t i = 0; !has_any && i < w->m.n; i++)
        has_any = matrix_allows(&w->m, i);
    if (has_any) {
        struct buf legend = {.arena = w->a};
        matrix_legend(&legend, &w->c->term, &w->m, is_wide, w->options->is_all);
        term_say(&w->c->term, "%.*s", STR(buf_str(&legend)));
        matrix_draw(&text, &w->c->term, &w->m, is_wide, w->options->is_all);
    } else {
        term_say(&w->c->term, "Nothing is allowed.");
    }
    output_text(buf_str(&text));
}

static int run(struct command *c, const struct options *options, const char *user)
{
    struct work w = {.c = c, .a = &c->arena, .options = options};
    struct rights rights = {0};
    struct err err;
    int code = command_connect(c, &err);
    if (code == 0)
        w.m.namespace = c->all_namespaces ? (str){0} : command_namespace(c);
    if (code == 0)
        question_warn_place(c, w.m.namespace);
    if (code == 0)
        code = user ? look_at(&w, user, &rights, &err) : look_at_oneself(&w, &err);
    if (code == 0)
        code = find_rows(&w, &err);
    if (code < 0) {
        code = question_fail(c, &err);
    } else {
        fill(&w);
        print(&w);
    }
    rights_done(&rights);
    return code;
}

int cli_matrix(int argc, char **argv)
{
    struct command c = {.name = "matrix", .takes = TAKES_SERVER | TAKES_NAMESPACE | TAKES_ALL};
    struct options o = {.output = OUTPUT_TABLE};
    static const char *const outputs[] = {"table", "wide", "json", "yaml", NULL};
    const struct flag flags[] = {
        {.name = "all", .kind = FLAG_YES, .into = &o.is_all},
        {.name = "group", .kind = FLAG_TEXTS, .into = &o.groups},
        {.letter = 'o', .name = "output", .kind = FLAG_WORD, .into = &o.output, .words = outputs},
        {.name = "subresources", .kind = FLAG_YES, .into = &o.has_subresources},
    };
    struct flag_words words;
    int code = command_start(&c, flags, COUNT(flags), argc, argv, &words);
    if (!c.is_over && words.n > 1)
        code = command_misused(&c, "one USER at a time");
    else if (!c.is_over && o.groups.n && words.n == 0)
        code = command_misused(&c, "--group is of a USER; to be somebody else use --as and --as-group");
    else if (!c.is_over)
        code = run(&c, &o, words.n ? words.p[0] : NULL);
    return command_end(&c, code);
}
