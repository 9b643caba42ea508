/* SPDX-License-Identifier: Apache-2.0 */
/* What: the resources that the rows of this controller share, and their informer of namespaces.
 * Owns: nothing.
 * Threads: constants.
 * Errors: none. */
#pragma once

#include "controllers/controllers.h"

#define NAMESPACES_RESOURCE CLIENT_RESOURCE("", "v1", "namespaces", "Namespace", false)

/* The name under which Kubernetes' own controllers write: who replaces them goes on with their fields. */
#define NAMESPACES_MANAGER S("kube-controller-manager")

/* Of each row. They wait for the server nearly all of the time, and what several write at once is one commit to it. */
enum { NAMESPACES_WORKERS = 4 };

/* Metadata say all that the rows need: a namespace has a deletionTimestamp exactly when its phase is Terminating. */
static inline struct informer *namespaces_informer(const struct controller_env *env)
{
    struct informer_options options = {.client = env->reader, .resource = NAMESPACES_RESOURCE, .metadata_only = true};
    return control_informer(env->control, &options);
}
