/* SPDX-License-Identifier: Apache-2.0 */
/* What: installs packages: from an install object to CRDs, roles, bindings and a Deployment, and back.
 * Owns: what it knows of installs, packages and CRDs; released with the control it was added to.
 * Threads: informers tell it on the loop thread; reconciles run on workers; pulls on workers of their own.
 * Errors: stand in the conditions of the install object, in words a person can act on.
 *
 *   install object ─► visit ─► pull (own queue) ─► plan ─► accept ─► shares (one key per family) ─► own objects ─► status
 *                       ▲                                              CRDs, ClusterRoles            ServiceAccount,
 *                       └───────────────── told again by ◄─────────────────┘                         bindings, Deployment
 *
 * What is shared by many installs has one writer per family (repo:name): a thousand namespaces that install the same package become
 * few writes. What is trusted stands in the status of install objects, which only who may write that subresource can change; the
 * records are for reading. */
#pragma once

#include "controllers/controllers.h"

extern const struct controller_row installs_row;
