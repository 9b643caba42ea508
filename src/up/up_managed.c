/* SPDX-License-Identifier: Apache-2.0 */
#include "up/up_managed.h"

#include "agent/agent_duties.h"
#include "agent/agent_rights.h"
#include "api/loopback_client.h"
#include "controllers/rbac.h"
#include "object/conditions.h"
#include "object/fleet.h"

#include <stdlib.h>

#define SOON_NS INT64_C(100000000) /* for the cluster to be accepted */
#define HOME S("kube-system")
#define JOINER S("reeve-managed") /* the account that makes the ManagedCluster, and can do nothing else */

static const struct client_resource clusters = CLIENT_RESOURCE(FLEET_CLUSTERS);

struct up_managed {
    struct up_managed_options options;
    struct client *joiner, *hub, *here;
    struct controller *controller;
    struct loop_work work; /* posted once, by the visit that found the cluster accepted */
    bool is_accepted;      /* the visit's own */
    bool is_stopped;
};

/* ---- The agent. ---- */

static void on_accepted(struct loop_work *w)
{
    struct up_managed *m = (struct up_managed *)((char *)w - offsetof(struct up_managed, work));
    const struct up_managed_options *o = &m->options;
    struct err err = {0};
    struct duties_options options = {
        .control = o->control,
        .loop = o->loop,
        .random = o->random,
        .log = o->log,
        .hub = m->hub,
        .managed = m->here,
        .cluster = o->cluster,
        .hub_url = S("https://kubernetes.default.svc"), /* the port may be another one after each start */
        .ca_pem = o->ca_pem,
        .account_namespace = S(FLEET_ACCOUNT_NAMESPACE),
        .version = S(REEVE_VERSION),
        .has_works = true,
        .has_accounts = true,
    };
    if (!m->is_stopped && duties_add(&options, &err) < 0)
        log_line(o->log, LOG_ERROR, "this cluster is not managed", LOG_STR("error", str_of(err.msg)));
}

/* ---- The ManagedCluster. ---- */

static int create(struct up_managed *m, struct reconcile *r, struct err *err)
{
    struct json cluster = json_obj(), metadata = json_obj(), spec = json_obj();
    struct client_ref ref = {.resource = &clusters, .name = m->options.cluster};
    json_add(r->arena, &metadata, S("name"), json_str(m->options.cluster));
    json_add(r->arena, &spec, S("hubAcceptsClient"), json_bool(true));
    json_add(r->arena, &cluster, S("apiVersion"), json_str(client_api_version(r->arena, &clusters)));
    json_add(r->arena, &cluster, S("kind"), json_str(clusters.kind));
    json_add(r->arena, &cluster, S("metadata"), metadata);
    json_add(r->arena, &cluster, S("spec"), spec);
    int code = client_create(r->client, r->arena, &ref, &cluster, NULL, NULL, err);
    return code == ERR_ALREADY_EXISTS ? 0 : code;
}

/* Until it is accepted. What people have decided about it since stays so. */
static int visit(void *ctx, struct reconcile *r, struct err *err)
{
    struct up_managed *m = ctx;
    struct client_ref ref = {.resource = &clusters, .name = m->options.cluster};
    struct json cluster = json_null();
    if (m->is_accepted)
        return 0;
    int code = client_get(r->client, r->arena, &ref, &cluster, err);
    if (code == ERR_NOT_FOUND && client_is_gone(err))
        code = create(m, r, err);
    if (code < 0)
        return err_wrap(err, "make ManagedCluster %.*s", STR(m->options.cluster));
    m->is_accepted = condition_is(&cluster, S("HubAcceptedManagedCluster"), S("True"));
    if (m->is_accepted)
        loop_post(m->options.loop, &m->work);
    else
        r->again_ns = SOON_NS;
    return 0;
}

/* ---- The life of it. ---- */

static struct client *make_client(const struct up_managed_options *o, str namespace, str account)
{
    struct transport *transport = loopback_client_new_account(o->api, namespace, account);
    return client_new(&(struct client_options){.loop = o->loop, .transport = transport, .random = o->random});
}

struct up_managed *up_managed_add(const struct up_managed_options *options)
{
    struct up_managed *m = xcalloc(1, sizeof *m);
    m->options = *options;
    m->work.fn = on_accepted;
    m->joiner = make_client(options, HOME, JOINER);
    m->hub = make_client(options, options->cluster, S(FLEET_AGENT));
    m->here = make_client(options, HOME, S(FLEET_AGENT));
    m->controller = control_add(
        options->control, &(struct controller_options){
                              .name = "managed", .client = m->joiner, .workers = 1, .reconcile = visit, .ctx = m});
    control_enqueue(m->controller, (str){0}, options->cluster);
    return m;
}

void up_managed_stop(struct up_managed *m)
{
    if (!m)
        return;
    m->is_stopped = true;
    client_stop(m->joiner);
    client_stop(m->hub);
    client_stop(m->here);
}

void up_managed_free(struct up_managed *m)
{
    if (!m)
        return;
    loop_post_cancel(m->options.loop, &m->work);
    client_free(m->joiner);
    client_free(m->hub);
    client_free(m->here);
    free(m);
}

/* ---- Rights. ---- */

void up_managed_objects(struct arena *a, str cluster, own_texts *all)
{
    struct json rules = json_arr();
    str get = str_fmt(a, "get:" FLEET_CLUSTER_GROUP ":managedclusters:%.*s", STR(cluster));
    const char *const rights[] = {"create:" FLEET_CLUSTER_GROUP ":managedclusters", str_cstr(a, get), NULL};
    rbac_add_rights(a, &rules, rights);
    own_add_rights(a, all, S("reeve:managed:join"), JOINER, rules);
    own_add_rights(a, all, S("reeve:managed:agent"), S(FLEET_AGENT),
                   agent_managed_rules(a, AGENT_WORKS | AGENT_ACCOUNTS));
    struct rbac_names work = {.name = S("reeve:managed:work")};
    struct rbac_grant grant = {
        .role = work.name, .is_cluster_role = true, .account_namespace = S("kube-system"), .account = S(FLEET_AGENT)};
    own_add(a, all, agent_work_role(a, &work));
    own_add(a, all, rbac_binding(a, &work, &grant));
    struct rbac_names names = {.name = S("reeve:managed:agent"), .namespace = S(FLEET_ACCOUNT_NAMESPACE)};
    own_add(a, all, agent_account_namespace(a, names.namespace));
    own_add_rights_in(a, all, &names, S(FLEET_AGENT), agent_account_rules(a));
}
