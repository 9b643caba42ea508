/* SPDX-License-Identifier: Apache-2.0 */
/* What: the built-in kinds, and what CRDs may not take from them.
 * Owns: nothing; the kinds are constants.
 * Threads: pure functions.
 * Errors: NULL or false for what is not found; field errors with the texts of Kubernetes. */
#pragma once

#include "object/field_error.h"
#include "object/kind.h"

/* All built-in kinds, in the order in which discovery lists them: groups by age, kinds by plural. */
size_t kind_builtin_count(void);
const struct kind *kind_builtin(size_t i);
/* Kinds by body ("apps/v1", "Deployment") or by path ("apps", "v1", "deployments"). Kinds without
 * a path of their own, such as DeleteOptions, are found by body only; DeleteOptions and Status in every group. */
const struct kind *kind_builtin_by_body(str api_version, str kind);
const struct kind *kind_builtin_by_path(str group, str version, str plural);
/* Whether a built-in kind has this group and plural, in any version. Every table that stores built-in kinds is named
 * after one of these pairs (strategy_storage_kind), so a pair that is not built in shares no storage with a built-in
 * kind. */
bool kind_is_builtin_resource(str group, str plural);

/* crd_validate, and refuses a resource that is built in. Updates need only crd_validate_update: group and plural are
 * immutable. */
void builtin_validate_crd(struct field_errors *errs, const struct json *crd);

/* Whether the objects stored as spec.group/status.acceptedNames.plural belong to this CRD: it is named PLURAL.GROUP by
 * these, it is established, and the resource is not built in. Only such a CRD is served, and deleting any other one
 * deletes no objects. A resource has at most one such CRD, because the name determines group and plural. Earlier
 * versions stored CRDs of built-in resources. */
bool crd_owns_objects(const struct json *crd);
