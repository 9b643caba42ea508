/* SPDX-License-Identifier: Apache-2.0 */
/* What: reeve up --managed NAME: the hub of this process is its own managed cluster, with an agent inside.
 * Owns: the agent's clients; its controllers belong to the control.
 * Threads: the loop thread.
 * Errors: what goes wrong later on is logged by the control, and tried again.
 *
 *   ManagedCluster NAME made, once ─► accepted by the controller clusters ─► the duties of an agent:
 *     on the hub as ServiceAccount NAME/reeve-agent, on the managed cluster as kube-system/reeve-agent, with the rights of both */
#pragma once

#include "api/api.h"
#include "control/control.h"
#include "up/up_own.h"

struct up_managed;

struct up_managed_options {
    struct api *api; /* ready */
    struct control *control;
    struct loop *loop;
    const struct log *log;
    struct random random;
    str cluster;
    str ca_pem;
};

/* Before control_start. Texts live as long. */
struct up_managed *up_managed_add(const struct up_managed_options *options);
/* As the clients of controllers: right after control_stop, and after control_free. Both take NULL. */
void up_managed_stop(struct up_managed *m);
void up_managed_free(struct up_managed *m);

/* What has to be in place for it, as up_own.h has it: roles of both accounts, their bindings, and the namespace of ServiceAccounts. */
void up_managed_objects(struct arena *a, str cluster, own_texts *all);
