/* SPDX-License-Identifier: Apache-2.0 */
/* What: the personas: ClusterRoles that people are bound to, and that follow what is installed. Made at start, kept in repair.
 * Owns: nothing here; what it makes belongs to the control it is added to.
 * Threads: the loop thread adds it.
 * Errors: see controllers.h. A role of that name which is somebody else's is left alone: an Event and the log tell of it.
 *
 *   group crossplane:masters ──► crossplane-admin ◄─────────────┬── crossplane:system:aggregate-to-crossplane-admin
 *                                                               ├── …:env:default:admin, …:ns:default:admin
 *                                                               └── package:…:admin
 *   whom an admin binds ──► crossplane-env-{role} ◄─────────────┬── crossplane:package-manager:env:default:{role}
 *                                                               └── package:…:{role} of cluster packages
 *   in a namespace      ──► crossplane:ns:{ns}:{role} ◄─────────┬── crossplane:package-manager:ns:default:{role}, labelled {ns}
 *                                                               └── package:…:{role} of packages there, labelled {ns}
 *
 * Those on the left are aggregated: the aggregation controller fills in their rules; where it runs in another process, which may be slow,
 * this one does the same for them. Those on the right have rules.
 * Two queues: one key for everything that there is once, so that many namespaces become one write of the labels; and one key for
 * the three roles of each namespace. */
#pragma once

#include "controllers/controllers.h"

#define PERSONAS_FIELD_MANAGER "reeve-personas"

extern const struct controller_row personas_row;

/* The roles of a namespace that has personas from this write on, as the controller applies them; was is NULL for a create. 0: it
 * has none, or had them before. A server that stores them in the transaction of the Namespace leaves the controller nothing to do. */
size_t personas_of_namespace(struct arena *a, const struct json *was, const struct json *now, struct json **ret);
