/* SPDX-License-Identifier: Apache-2.0 */
#include "up/up_controllers.h"

#include "api/loopback_client.h"
#include "controllers/controllers.h"
#include "controllers/sources.h"
#include "up/up_managed.h"

#include <stdlib.h>

/* Kubernetes' controllers share their caches and read with the rights of kube-controller-manager, to which its default roles give
 * list and watch of everything. So do these. */
#define READER "system:kube-controller-manager"

struct up_controllers {
    struct up_controllers_options options;
    struct control *control;
    struct client *reader;
    struct fetcher *fetcher;
    struct up_managed *managed; /* or NULL */
    struct client **clients;    /* one per row */
    size_t n;
};

static struct client *make_client(struct up_controllers *c, struct transport *transport)
{
    return client_new(
        &(struct client_options){.loop = c->options.loop, .transport = transport, .random = c->options.random});
}

static struct client *make_reader(struct up_controllers *c)
{
    static const str groups[] = {S_INIT("system:authenticated")};
    struct loopback_client_options options = {.who = {.user = S(READER), .groups = {groups, 1}},
                                              .user_agent = S("reeve-controllers")};
    return make_client(c, loopback_client_new(c->options.api, &options));
}

static int add_rows(struct up_controllers *c, struct err *err)
{
    struct controller_env env = {.control = c->control,
                                 .loop = c->options.loop,
                                 .clock = clock_system,
                                 .reader = c->reader,
                                 .is_embedded = true,
                                 .has_aggregation = true,
                                 .root_ca = c->options.root_ca,
                                 .fetcher = c->fetcher,
                                 .pass_full_deployment = c->options.packages->pass_full_deployment,
                                 .namespaced_groups = c->options.packages->namespaced_groups,
                                 .requires_approval = c->options.requires_approval,
                                 .allows_cluster_dependencies = c->options.allows_cluster_dependencies,
                                 .no_crd_view = c->options.no_crd_view};
    while (c->n < controllers_count()) {
        const struct controller_row *row = controllers_row(c->n);
        env.client = c->clients[c->n++] =
            make_client(c, loopback_client_new_account(c->options.api, S("kube-system"), str_of(row->account)));
        int code = row->add(&env, err);
        if (code < 0)
            return err_wrap(err, "start the controller %s", row->name);
    }
    return 0;
}

int up_controllers_start(const struct up_controllers_options *options, struct up_controllers **ret, struct err *err)
{
    struct up_controllers *c = calloc(1, sizeof *c);
    if (!c || !(c->clients = calloc(controllers_count(), sizeof(struct client *))))
        abort();
    c->options = *options;
    c->control = control_new(&(struct control_options){options->loop, clock_system, options->random, options->log});
    c->reader = make_reader(c);
    *ret = c;
    int code = package_sources_open(options->packages, options->log, &c->fetcher, err);
    if (code == 0)
        code = add_rows(c, err);
    if (code == 0 && options->managed.n)
        c->managed = up_managed_add(&(struct up_managed_options){.api = options->api,
                                                                 .control = c->control,
                                                                 .loop = options->loop,
                                                                 .log = options->log,
                                                                 .random = options->random,
                                                                 .cluster = options->managed,
                                                                 .ca_pem = options->ca_pem});
    if (code == 0)
        control_start(c->control);
    return code;
}

void up_controllers_stop(struct up_controllers *c, void (*stopped)(void *ctx), void *ctx)
{
    control_stop(c->control, stopped, ctx);
    fetcher_stop(c->fetcher);
    client_stop(c->reader);
    up_managed_stop(c->managed);
    for (size_t i = 0; i < c->n; i++)
        client_stop(c->clients[i]);
}

void up_controllers_free(struct up_controllers *c)
{
    if (!c)
        return;
    control_free(c->control);
    fetcher_free(c->fetcher);
    client_free(c->reader);
    up_managed_free(c->managed);
    for (size_t i = 0; i < c->n; i++)
        client_free(c->clients[i]);
    free(c->clients);
    free(c);
}

void up_controllers_metrics(struct up_controllers *c, struct buf *b)
{
    control_metrics_write(c->control, b);
}
