/* SPDX-License-Identifier: Apache-2.0 */
/* What: the form of Roles, ClusterRoles and their bindings: what the server fills in and what it refuses, in the words
 *       of Kubernetes.
 * Owns: nothing; texts live in the arena of the error list, new parts of a tree in the arena given.
 * Threads: pure functions.
 * Errors: a list of field errors, empty when the object is fine.
 *
 * Objects come from strict_decode, so that fields have the types of their kind; what has another type counts as absent,
 * which grants nothing. Metadata is looked at first, by meta_validate or meta_validate_update; then these:
 *
 *   create:  rbac_default ─► escalation_check ─► rbac_validate
 *   update:  rbac_default ─► escalation_check ─► rbac_validate_update */
#pragma once

#include "authz/authz.h"
#include "object/field_error.h"
#include "object/kind.h"

#define RBAC_GROUP S("rbac.authorization.k8s.io")

/* Which of the four a kind is; AUTHZ_UNKNOWN for NULL and all others. */
enum authz_kind rbac_kind_of(const struct kind *kind);

/* In place: the API groups of roleRef and subjects where none is given, and the one form in which objects are stored:
 * rules are null rather than absent or empty, other empty lists and texts are left out. */
void rbac_default(struct arena *a, const struct kind *kind, struct json *object);
/* Everything wrong with a new object, metadata aside. */
void rbac_validate(struct field_errors *errs, const struct kind *kind, const struct json *object);
/* Everything wrong with an update. Each error is listed once; Kubernetes lists most of them twice as causes. */
void rbac_validate_update(struct field_errors *errs, const struct kind *kind, const struct json *object,
                          const struct json *current);
