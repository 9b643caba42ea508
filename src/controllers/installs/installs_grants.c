/* SPDX-License-Identifier: Apache-2.0 */
/* Tells who gains and loses what, as Events of the install. */
#include "controllers/installs/installs_accept.h"
#include "controllers/installs/installs_internal.h"

enum {
    TEXT_MAX = 900, /* an Event has room for about 1,000 bytes */
    LIST_MAX = 200,
};

/* At least one of them, and no more than there is room for. */
static void add_list(struct buf *b, const struct strs *list)
{
    size_t start = b->n;
    for (size_t i = 0; i < list->n; i++) {
        if (i && b->n - start > LIST_MAX) {
            buf_fmt(b, " and %zu more", list->n - i);
            return;
        }
        buf_fmt(b, "%s%.*s", i ? ", " : "", STR(list->p[i]));
    }
}

/* "admins: get, list on networks of compute.example.org in team-a" */
static void add_rule(struct buf *b, const struct plan_grant *grant, const struct rule *rule)
{
    static const char *const who[] = {
        [PLAN_CONTROLLER] = "the package", [PLAN_ADMIN] = "admins", [PLAN_EDIT] = "editors", [PLAN_VIEW] = "viewers"};
    buf_fmt(b, "%s: ", who[grant->who]);
    add_list(b, &rule->verbs);
    buf_add_str(b, S(" on "));
    add_list(b, &rule->resources);
    if (rule->api_groups.n && rule->api_groups.p[0].n) {
        buf_add_str(b, S(" of "));
        add_list(b, &rule->api_groups);
    }
    if (grant->is_cluster_wide)
        buf_add_str(b, S(" everywhere"));
    else
        buf_fmt(b, " in %.*s", STR(grant->namespace));
}

/* Those that come first, whole, and how many there are besides. */
static void tell(struct visit *v, str reason, struct plan_grants grants)
{
    struct buf text = {.arena = v->a};
    size_t left_out = 0;
    for (size_t i = 0; i < grants.n; i++) {
        rules_each(grants.p[i].rules, rule)
        {
            struct buf one = {.arena = v->a};
            if (!left_out)
                add_rule(&one, &grants.p[i], rule);
            if (left_out || (text.n && text.n + one.n > TEXT_MAX))
                left_out++;
            else
                buf_fmt(&text, "%s%.*s", text.n ? "; " : "", STR(buf_str(&one)));
        }
    }
    if (left_out)
        buf_fmt(&text, "; and %zu more", left_out);
    if (text.n)
        recorder_event(v->s->recorder, &v->install, RECORDER_NORMAL, reason, buf_str(&text));
}

static struct plan_grants grants_of(struct visit *v, const struct package *p)
{
    struct plan plan = {0};
    struct plan_facts facts = accept_facts(v->s);
    if (p)
        plan_make(v->a, &(struct plan_args){p, &v->asked, &facts, v->s->options, true}, &plan);
    return (struct plan_grants){plan.grants, plan.n_grants};
}

void grants_tell(struct visit *v, const struct package *before, const struct package *after)
{
    struct plan_grants was = grants_of(v, before), is = grants_of(v, after);
    tell(v, S("Granted"), plan_grants_added(v->a, was, is));
    tell(v, S("Revoked"), plan_grants_added(v->a, is, was));
}
