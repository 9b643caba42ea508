/* SPDX-License-Identifier: Apache-2.0 */
/* reeve why: may somebody do something, and why or why not. */
#include "cli/why.h"

#include "cli/rights.h"
#include "cli/self.h"

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
