/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/agent_rights.h"

#include "controllers/accounts/accounts.h"
#include "controllers/clusters/clusters_role.h"
#include "controllers/works/works.h"
#include "object/fleet.h"

#define HOME "reeve-system" /* the namespace that deploy/ installs to */

/* The one kind that the managed cluster needs: made where it is missing. */
static const char *const kind_rights[] = {
    "create:apiextensions.k8s.io:customresourcedefinitions",
    "get:apiextensions.k8s.io:customresourcedefinitions:appliedmanifestworks." FLEET_WORK_GROUP,
    NULL,
};

struct json agent_managed_rules(struct arena *a, unsigned duties)
{
    struct json rules = json_arr();
    if (duties & AGENT_WORKS)
        rbac_add_rights(a, &rules, works_managed_rights);
    if (duties & AGENT_KIND)
        rbac_add_rights(a, &rules, kind_rights);
    if (duties & AGENT_ACCOUNTS)
        rbac_add_rights(a, &rules, accounts_managed_rights);
    return rules;
}

struct json agent_account_rules(struct arena *a)
{
    struct json rules = json_arr();
    rbac_add_rights(a, &rules, accounts_home_rights);
    return rules;
}

struct json agent_account_namespace(struct arena *a, str name)
{
    struct json namespace = json_obj(), metadata = json_obj();
    json_add(a, &metadata, S("name"), json_str(name));
    json_add(a, &namespace, S("apiVersion"), json_str(S("v1")));
    json_add(a, &namespace, S("kind"), json_str(S("Namespace")));
    json_add(a, &namespace, S("metadata"), metadata);
    return namespace;
}

struct json agent_work_role(struct arena *a, const struct rbac_names *names)
{
    struct json role = rbac_role(a, names, json_arr());
    struct json labels = json_obj(), selector = json_obj(), selectors = json_arr(), aggregation = json_obj();
    json_add(a, &labels, S(FLEET_LABEL_WORK_RIGHTS), json_str(S("true")));
    json_add(a, &selector, S("matchLabels"), labels);
    json_push(a, &selectors, selector);
    json_add(a, &aggregation, S("clusterRoleSelectors"), selectors);
    json_add(a, &role, S("aggregationRule"), aggregation);
    return role;
}

/* What it needs in a single namespace of the managed cluster: its credential, if that is a Secret, and the Lease. */
static struct json home_rules(struct arena *a, const struct agent_options *o, bool is_secret)
{
    struct json rules = json_arr();
    if (is_secret) {
        const char *const rights[] = {str_cstr(a, str_fmt(a, "get,patch::secrets:%.*s", STR(o->secret_name))), NULL};
        rbac_add_rights(a, &rules, rights);
    } else {
        rbac_add_lease(a, &rules, S(FLEET_AGENT));
    }
    return rules;
}

static void print_role(struct arena *a, struct buf *b, const struct rbac_names *names, struct json rules)
{
    struct json role = rbac_role(a, names, rules);
    rbac_print(b, &role);
}

static void print_binding(struct arena *a, struct buf *b, const struct rbac_names *names,
                          const struct rbac_grant *grant)
{
    struct json binding = rbac_binding(a, names, grant);
    rbac_print(b, &binding);
}

static void print_hub(struct arena *a, struct buf *b, const struct agent_options *o)
{
    struct json role = clusters_agent_role(a);
    rbac_print(b, &role);
    if (o->cluster.n == 0)
        return;
    struct rbac_names binding = {.name = S(FLEET_AGENT), .namespace = o->cluster, .component = S("agent")};
    struct rbac_grant grant = {.role = S(FLEET_AGENT_ROLE),
                               .is_cluster_role = true,
                               .account_namespace = o->cluster,
                               .account = S(FLEET_AGENT)};
    print_binding(a, b, &binding, &grant);
}

static struct rbac_grant grant_of(const struct rbac_names *names)
{
    return (struct rbac_grant){.role = names->name,
                               .is_cluster_role = names->namespace.n == 0,
                               .account_namespace = S(HOME),
                               .account = S(FLEET_AGENT)};
}

/* A role of that namespace, or of all where it is empty, bound to the agent's account. */
static void print_pair(struct arena *a, struct buf *b, const struct rbac_names *names, struct json rules)
{
    struct rbac_grant grant = grant_of(names);
    print_role(a, b, names, rules);
    print_binding(a, b, names, &grant);
}

static void print_work(struct arena *a, struct buf *b)
{
    struct rbac_names names = {.name = S(AGENT_WORK_ROLE), .component = S("agent")};
    struct rbac_grant grant = grant_of(&names);
    struct json role = agent_work_role(a, &names);
    rbac_print(b, &role);
    print_binding(a, b, &names, &grant);
}

/* With the namespace: a role in it is needed before the agent could make it. */
static void print_accounts(struct arena *a, struct buf *b, str place)
{
    struct rbac_names names = {.name = S(AGENT_ACCOUNTS_ROLE), .namespace = place, .component = S("agent")};
    struct json namespace = agent_account_namespace(a, place);
    if (!str_eq(place, S(HOME)))
        rbac_print(b, &namespace);
    print_pair(a, b, &names, agent_account_rules(a));
}

static void print_managed(struct arena *a, struct buf *b, const struct agent_options *o)
{
    struct rbac_names names = {.name = S(FLEET_AGENT), .component = S("agent")};
    unsigned duties = (o->has_works ? AGENT_WORKS | AGENT_KIND : 0) | (o->has_accounts ? AGENT_ACCOUNTS : 0);
    print_pair(a, b, &names, agent_managed_rules(a, duties));
    if (o->has_works)
        print_work(a, b);
    if (o->has_accounts)
        print_accounts(a, b, o->account_namespace);
    if (o->secret_name.n) {
        names.name = S(FLEET_AGENT "-credential");
        names.namespace = o->secret_namespace;
        print_pair(a, b, &names, home_rules(a, o, true));
    }
    if (o->has_election) {
        names.name = S(FLEET_AGENT "-lease");
        names.namespace = o->lease_namespace.n ? o->lease_namespace : S(HOME);
        print_pair(a, b, &names, home_rules(a, o, false));
    }
}

void agent_rights_print(struct buf *b, const struct agent_options *o)
{
    struct arena scratch ARENA_SCOPE = {0};
    bool is_both = o->is_hub == o->is_managed;
    if (is_both || o->is_hub)
        print_hub(&scratch, b, o);
    if (is_both || o->is_managed)
        print_managed(&scratch, b, o);
}
