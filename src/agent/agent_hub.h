/* SPDX-License-Identifier: Apache-2.0 */
/* What: the agent's way to its hub, found and kept open: the join kubeconfig is read, looked at again, and its token renewed at four
 *       fifths of its life.
 * Owns: what it knows of the credential; belongs to the control it is added to.
 * Threads: the loop thread, but for its visits, which have a thread of their own.
 * Errors: what is wrong is logged once, in words a person can act on, and is why the agent is not ready.
 *
 *   kind AppliedManifestWork made, where it is missing ─► join kubeconfig ─► found() ─► the agent makes a client, hub_use
 *        ▲                                                                                 │
 *        │   once a minute, or when the token is due:                                      ▼
 *        └── another hub: changed() · another token: used ◄── looked at again ◄── asked for its works: does it answer?
 *                                                                  due: TokenRequest, used, written back */
#pragma once

#include "agent/agent_hub_credential.h"
#include "control/control.h"

struct hub;

struct hub_options {
    struct control *control;
    struct loop *loop;
    struct clock clock;
    const struct log *log;
    struct client *managed;
    struct hub_source source; /* texts live as long as the control */
    str cluster;
    bool has_works; /* the kind AppliedManifestWork is needed */
    /* From the loop, once. config lives as long as the control. */
    void (*found)(void *ctx, const struct client_config *config);
    /* From the loop, once: the join kubeconfig is about another server now, or believes it by other means. */
    void (*changed)(void *ctx);
    /* From the loop: the client has to show this token from now on. */
    void (*renewed)(void *ctx, str token);
    void *ctx;
};

struct hub *hub_add(const struct hub_options *options);
/* After found: what leads there. Lives until the control has ended. */
void hub_use(struct hub *h, struct client *client);
/* The clients are about to be stopped: that they fail then is no trouble. */
void hub_end(struct hub *h);
/* Whether all was well at the last look, or why not; until the next turn. */
bool hub_is_well(struct hub *h, str *ret_why);
