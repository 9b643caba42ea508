/* SPDX-License-Identifier: Apache-2.0 */
/* What went wrong between a command and its server, and what to do about it. Of a refusal everything that is missing is told at
 * once: asked for by SelfSubjectAccessReviews, with what the asker may do that is nearest to it. */
#include "cli/command.h"

#include "authz/explain.h"
#include "base/file.h"
#include "base/shell.h"
#include "cli/cli_access.h"
#include "cli/help.h"
#include "json/base64.h"

enum { TOKEN_BYTES = 64 * 1024, NEEDS_MAX = 32 };

void command_needs(struct command *c, struct command_need need)
{
    vec_each(&c->needs, known)
    {
        if (strcmp(known->verb, need.verb) == 0 && str_eq(known->group, need.group) &&
            str_eq(known->resource, need.resource) && str_eq(known->subresource, need.subresource) &&
            str_eq(known->namespace, need.namespace) && str_eq(known->name, need.name))
            return;
    }
    if (c->needs.n < NEEDS_MAX)
        *vec_push(&c->arena, &c->needs) = need;
}

/* ---- What one may do that is nearest. ---- */

static struct authz_attributes attributes_of(const struct command_need *need)
{
    return (struct authz_attributes){.is_resource = true,
                                     .verb = str_of(need->verb),
                                     .group = need->group,
                                     .resource = need->resource,
                                     .subresource = need->subresource,
                                     .namespace = need->namespace,
                                     .name = need->name};
}

/* A server that does not answer the question leaves it open: false. */
static bool is_refused(struct command *c, const struct command_need *need)
{
    struct authz_attributes what = attributes_of(need);
    struct authz_decision answer;
    return self_check(c, &what, &answer, NULL) == 0 && !answer.allowed;
}

/* "get, watch" or "pods in the API group …": what explain finds nearest; empty: nothing is near. */
static void add_nearest(struct command *c, struct buf *b, const struct authz_index *index,
                        const struct command_need *need)
{
    struct authz_identity me = {.user = S("own")};
    struct authz_attributes what = attributes_of(need);
    struct explanation e = explain_request(&c->arena, index, &me, &what);
    static const char *const words[] = {[MISS_VERB] = "nearest: you may ",
                                        [MISS_NAME] = "nearest: only the names ",
                                        [MISS_SUBRESOURCE] = "nearest: you may on ",
                                        [MISS_GROUP] = "nearest: in the API groups "};
    for (size_t i = 0; i < e.n_misses; i++) {
        const struct explain_miss *m = &e.misses[i];
        if (m->kind > MISS_GROUP || !words[m->kind] || m->instead.n == 0)
            continue;
        buf_fmt(b, "\n    %s", words[m->kind]);
        strs_each(m->instead, it) buf_fmt(b, "%s%.*s", it == m->instead.p ? "" : ", ", STR(*it));
        return;
    }
}

/* ---- Words. ---- */

static void add_resource(struct buf *b, const struct command_need *need)
{
    buf_fmt(b, "%.*s%s%.*s%s%.*s", STR(need->resource), need->group.n ? "." : "", STR(need->group),
            need->subresource.n ? "/" : "", STR(need->subresource));
}

static void add_need(struct command *c, struct buf *b, const struct command_need *need)
{
    buf_fmt(b, "\n  %s ", need->verb);
    add_resource(b, need);
    if (need->name.n)
        buf_fmt(b, " \"%.*s\"", STR(need->name));
    if (need->namespace.n)
        buf_fmt(b, " in the namespace \"%.*s\"", STR(need->namespace));
    else
        buf_add_str(b, S(" at the cluster scope"));
    struct authz_index *index = self_rules(c, S("own"), need->namespace);
    if (index)
        add_nearest(c, b, index, need);
    authz_index_free(index);
}

/* One role: these verbs on these resources, in one place. */
struct grant {
    str namespace, name;
    str verbs, resources; /* "get,list" */
};

typedef VEC(struct grant) grants;

static bool is_same_object(const struct command_need *a, const struct command_need *b)
{
    return str_eq(a->namespace, b->namespace) && str_eq(a->name, b->name) && str_eq(a->group, b->group) &&
           str_eq(a->resource, b->resource) && str_eq(a->subresource, b->subresource);
}

/* Adds to a grant of the same verbs in the same place, or makes one: nobody is given more than what is missing. */
static void grant(struct command *c, grants *all, const struct command_need *need, str verbs)
{
    struct buf resource = {.arena = &c->arena};
    add_resource(&resource, need);
    vec_each(all, it)
    {
        if (str_eq(it->namespace, need->namespace) && str_eq(it->name, need->name) && str_eq(it->verbs, verbs)) {
            it->resources = str_fmt(&c->arena, "%.*s,%.*s", STR(it->resources), STR(buf_str(&resource)));
            return;
        }
    }
    *vec_push(&c->arena, all) = (struct grant){need->namespace, need->name, verbs, buf_str(&resource)};
}

static void collect_grants(struct command *c, const struct command_need *needs, size_t n, grants *all)
{
    for (size_t i = 0; i < n; i++) {
        struct buf verbs = {.arena = &c->arena};
        bool is_first = true;
        for (size_t k = 0; k < i && is_first; k++)
            is_first = !is_same_object(&needs[k], &needs[i]);
        for (size_t k = i; k < n && is_first; k++) {
            if (is_same_object(&needs[k], &needs[i]))
                buf_fmt(&verbs, "%s%s", verbs.n ? "," : "", needs[k].verb);
        }
        if (is_first)
            grant(c, all, &needs[i], buf_str(&verbs));
    }
}

static void add_remedy(struct command *c, struct buf *b, const struct grant *g, size_t number, str user)
{
    const char *kind = g->namespace.n ? "role" : "clusterrole";
    char *name = str_cstr(&c->arena, str_fmt(&c->arena, "reeve-%s", c->name));
    for (char *at = name; *at; at++)
        *at = *at == ' ' ? '-' : *at;
    if (number > 1)
        name = str_cstr(&c->arena, str_fmt(&c->arena, "%s-%zu", name, number));
    str where = g->namespace.n ? str_fmt(&c->arena, " -n %.*s", STR(shell_word(&c->arena, g->namespace))) : S("");
    buf_fmt(b, "\n  kubectl create %s %s --verb=%.*s --resource=", kind, name, STR(g->verbs));
    shell_add_word(b, g->resources);
    if (g->name.n) {
        buf_add_str(b, S(" --resource-name="));
        shell_add_word(b, g->name);
    }
    buf_fmt(b, "%.*s && kubectl create %sbinding %s --%s=%s --user=", STR(where), kind, name, kind, name);
    shell_add_word(b, user);
    buf_add_str(b, where);
}

static bool explain_refusal(struct command *c, const struct err *err)
{
    struct buf text = {.arena = &c->arena};
    VEC(struct command_need) missing = {0};
    vec_each(&c->needs, need)
    {
        if (is_refused(c, need))
            *vec_push(&c->arena, &missing) = *need;
    }
    if (missing.n == 0)
        return false;
    str me = self_name(c);
    buf_fmt(&text, "%s\n%s%.*s%s these rights:", err->msg, me.n ? "User \"" : "You", STR(me),
            me.n ? "\" lacks" : " lack");
    vec_each(&missing, need) add_need(c, &text, need);
    buf_add_str(&text, S("\nSomebody who may grant them can say:"));
    grants all = {0};
    collect_grants(c, missing.p, missing.n, &all);
    for (size_t i = 0; i < all.n; i++)
        add_remedy(c, &text, &all.p[i], i + 1, me.n ? me : S("USER"));
    term_complain(c->name, "%.*s", STR(buf_str(&text)));
    return true;
}

/* ---- Credentials. ---- */

/* When a token says that it ends; 0: it does not say. It is not checked: this is only for a message. */
static int64_t token_end(struct command *c)
{
    struct arena *a = &c->arena;
    const struct client_config *config = &c->session.config;
    struct err ignored;
    str token = config->token, head, rest, payload, text;
    struct json claims;
    size_t at;
    int64_t end = 0;
    if (config->token_file.n && file_read(a, config->token_file, FILE_ANY, TOKEN_BYTES, &token, &ignored) < 0)
        return 0;
    if (!str_cut(token, '.', &head, &rest) || !str_cut(rest, '.', &payload, &rest))
        return 0;
    char *standard = str_cstr(a, str_fmt(a, "%.*s%.*s", STR(payload), (int)((4 - payload.n % 4) % 4), "==="));
    for (char *p = standard; *p; p++)
        *p = *p == '-' ? '+' : *p == '_' ? '/' : *p;
    if (base64_decode(a, str_of(standard), &text, &at) < 0 || json_decode(a, text, NULL, NULL, &claims, &ignored) < 0)
        return 0;
    return json_to_int(json_get(&claims, S("exp")), &end) ? end : 0;
}

static void explain_credentials(struct command *c, const struct err *err)
{
    const struct client_config *config = &c->session.config;
    struct buf when = {.arena = &c->arena};
    int64_t end = token_end(c), now = clock_seconds(&clock_system);
    if (end && end <= now) {
        buf_add_str(&when, S(" Its token ran out at "));
        time_format(&when, end, 0, 0);
        buf_add_str(&when, S("."));
    }
    term_complain(c->name,
                  "%s\nThe server %.*s does not accept the credentials of user \"%.*s\" in context \"%.*s\".%.*s",
                  err->msg, STR(config->server), STR(config->user), STR(config->context), STR(buf_str(&when)));
}

int command_fail(struct command *c, const struct err *err)
{
    int code = c->failed ? c->failed : CLI_FAILED;
    const struct client_config *config = &c->session.config;
    if (err->code == ERR_FORBIDDEN && c->session.client && explain_refusal(c, err))
        return code;
    if (err->code == ERR_UNAUTHORIZED && c->session.client)
        explain_credentials(c, err);
    else if (err->code == ERR_UNAVAILABLE && c->session.client)
        term_complain(c->name, "%s\nNo answer from %.*s%s%.*s%s. Is it running? \"%s up\" starts a control plane here.",
                      err->msg, STR(config->server), config->context.n ? " (context \"" : "", STR(config->context),
                      config->context.n ? "\")" : "", help_program());
    else
        term_complain(c->name, "%s", err->msg);
    return code;
}
