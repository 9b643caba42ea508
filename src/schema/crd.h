/* SPDX-License-Identifier: Apache-2.0 */
/* What: the rules of CustomResourceDefinitions themselves: defaulting and validation, schemas included.
 * Owns: nothing; new parts of a tree come from the arena given, texts from the arena of the errors.
 * Threads: pure functions.
 * Errors: field errors with the texts of Kubernetes. Metadata is checked with meta.h, but for the rule about the name.
 *
 *   create:  crd_default ─► crd_prepare_create ─► crd_validate
 *   update:  crd_default ─► crd_prepare_update ─► crd_validate_update
 *
 * Kubernetes moves what all versions have in common to the top before validating, and paths follow: with one version,
 * or the same schema in all of them, errors name spec.validation.openAPIV3Schema, else
 * spec.versions[1].schema.openAPIV3Schema. So do ours. Rules in CEL are checked for form only. */
#pragma once

#include "object/field_error.h"

/* In place: singular and listKind from the kind, conversion strategy None, port 443 of a webhook service. */
void crd_default(struct arena *a, struct json *crd);
/* In place: an empty status that lists the storage version as stored. */
void crd_prepare_create(struct arena *a, struct json *crd);
/* In place: the old status, with the storage version among the stored ones. */
void crd_prepare_update(struct arena *a, struct json *crd, const struct json *old);

/* kinds/builtin.h also refuses CRDs of built-in resources. */
void crd_validate(struct field_errors *errs, const struct json *crd);
void crd_validate_update(struct field_errors *errs, const struct json *crd, const struct json *old);
/* Of a change to the status subresource. */
void crd_validate_status(struct field_errors *errs, const struct json *crd);
