/* SPDX-License-Identifier: Apache-2.0 */
/* What: what an object should be, from its manifest; whether one that is there is so; and the patch that makes it so. No effects.
 * Owns: nothing; results live in the arena given and share the texts of what they are made from.
 * Threads: pure.
 * Errors: none.
 *
 * The four kinds of RBAC are compared and patched by their meaning: rules, aggregationRule, subjects and roleRef are as the manifest
 * says and nothing besides, whoever wrote it; labels and annotations of others stay. Other kinds are applied by the server (see
 * control/applyset.h), with a hash of the manifest as annotation, so that what is wanted no longer is noticed, too. */
#pragma once

#include "controllers/works/works_manifest.h"

#define CONTENT_HASH "agent.reeve.dev/manifest-hash"

/* Without status, uid, version and the like, without what is said to the agent alone, with FLEET_LABEL_DELIVERED. */
struct json content_want(struct arena *a, const struct manifest *m, str namespace);
/* The same for an adopted object; adopter: the AppliedManifestWork to name, empty: none. */
struct json content_want_adopted(struct arena *a, const struct json *want, str adopter);
/* One of the four, to which the following apply. */
bool content_is_rbac(const struct json *want);
/* It means the same: rules, subjects and so on; metadata is not looked at. */
bool content_means_same(struct arena *a, const struct json *want, const struct json *live);
/* roleRef differs: it cannot be changed. */
bool content_needs_recreation(struct arena *a, const struct json *want, const struct json *live);
/* The meaning and what is wanted of labels and annotations is there; of other kinds all that is wanted, and the hash. */
bool content_is_equal(struct arena *a, const struct json *want, str hash, const struct json *live);
/* A merge patch without preconditions, from live to want; ownerReferences are the caller's. */
struct json content_patch(struct arena *a, const struct json *want, const struct json *live);
/* To be created, or applied: without keys that ask for removal; with the hash, unless that is empty. */
struct json content_object(struct arena *a, const struct json *want, str hash);
/* Of a manifest as it is wanted: it changes when anything in it does. */
str content_hash(struct arena *a, const struct json *want);
/* A merge patch that takes labels and annotations away whose removal is asked for; false: there are none. */
bool content_removals(struct arena *a, const struct json *want, const struct json *live, struct json *ret);
