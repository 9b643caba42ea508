/* SPDX-License-Identifier: Apache-2.0 */
/* What: what is special about each built-in kind when it is written: what the server fills in, keeps, and refuses,
 *       beyond what meta.h does for all. A table from kind to functions; kinds that are not in it have nothing special.
 * Owns: nothing; new parts of a tree come from the arena given.
 * Threads: pure functions.
 * Errors: field errors with the texts of Kubernetes. RBAC kinds are in authz/validate.h, CRDs go on to crd.h.
 *
 *   create:  strategy_default ─► meta_prepare_create ─► strategy_prepare_create ─► strategy_validate
 *   update:  strategy_default ─► strategy_prepare_update ─► meta_prepare_update ─► strategy_validate_update
 *
 * Where strict_decode has been, strategy_default follows: after a body, after a patch, after an apply. */
#pragma once

#include "object/field_error.h"
#include "object/kind.h"
#include "json/json.h"

/* In place: the defaults of the API (Secret type Opaque, Service ports TCP, Deployment strategy, pod templates, …), and
 * what is written in one way but stored in another (stringData is moved to data). */
void strategy_default(struct arena *a, const struct kind *kind, struct json *object);
/* In place: what a new object cannot bring along (status) or always has (finalizers of a Namespace, selector of a Job).
 * Its name, uid and creationTimestamp must be there. */
void strategy_prepare_create(struct arena *a, const struct kind *kind, struct json *object);
/* In place: what an update through this subresource (empty: the object itself) cannot change is put back to what it
 * was. For the object itself that is status where the kind has that subresource; for "status" everything but status and
 * the parts of metadata that Kubernetes lets through; for "finalize" all but spec.finalizers; and so on. Custom kinds
 * too. */
void strategy_prepare_update(struct arena *a, const struct kind *kind, str subresource, struct json *object,
                             const struct json *current);
void strategy_validate(struct field_errors *errs, const struct kind *kind, const struct json *object);
void strategy_validate_update(struct field_errors *errs, const struct kind *kind, str subresource,
                              const struct json *object, const struct json *current);

/* Kinds that are two views of the same objects (events of "" and of events.k8s.io, autoscalers of v1 and v2): the kind
 * whose table holds them, else the kind itself. */
const struct kind *strategy_storage_kind(const struct kind *kind);
/* In place: an object of one kind becomes the same object of another with the same storage kind (apiVersion and kind
 * too). */
void strategy_convert(struct arena *a, const struct kind *from, const struct kind *to, struct json *object);
