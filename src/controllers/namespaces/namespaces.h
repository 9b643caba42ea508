/* SPDX-License-Identifier: Apache-2.0 */
/* What: the controller of namespaces, in three rows because Kubernetes gives each its own account: what goes with a namespace, and
 *       the two objects that each namespace has.
 * Owns: nothing here; what they make belongs to the control they are added to.
 * Threads: the loop thread adds them.
 * Errors: see controllers.h. */
#pragma once

#include "controllers/controllers.h"

/* A namespace that is deleted: deletes all content, tells in conditions what is left, lets the namespace go when nothing is. */
extern const struct controller_row namespaces_deletion_row;
/* ServiceAccount "default" in every namespace. */
extern const struct controller_row namespaces_accounts_row;
/* ConfigMap "kube-root-ca.crt" in every namespace. */
extern const struct controller_row namespaces_root_ca_row;
