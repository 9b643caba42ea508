/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/agent_duties.h"

#include "controllers/accounts/accounts.h"
#include "controllers/works/works.h"

static int add_works(const struct duties_options *o, struct err *err)
{
    struct works *works;
    struct works_options options = {
        .control = o->control,
        .loop = o->loop,
        .clock = clock_system,
        .log = o->log,
        .hub = o->hub,
        .managed = o->managed,
        .cluster = o->cluster,
        .hub_url = o->hub_url,
        .eviction_ns = o->eviction_ns,
    };
    int code = works_add(&options, &works, err);
    return code < 0 ? err_wrap(err, "start the controller works") : 0;
}

static int add_accounts(const struct duties_options *o, struct err *err)
{
    struct accounts_options options = {
        .control = o->control,
        .loop = o->loop,
        .clock = clock_system,
        .random = o->random,
        .log = o->log,
        .hub = o->hub,
        .managed = o->managed,
        .cluster = o->cluster,
        .namespace = o->account_namespace,
        .ca_pem = o->ca_pem,
        .version = o->version,
    };
    int code = accounts_add(&options, err);
    return code < 0 ? err_wrap(err, "start the controller accounts") : 0;
}

int duties_add(const struct duties_options *o, struct err *err)
{
    int code = o->has_works ? add_works(o, err) : 0;
    return code == 0 && o->has_accounts ? add_accounts(o, err) : code;
}
