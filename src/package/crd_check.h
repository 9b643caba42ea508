/* SPDX-License-Identifier: Apache-2.0 */
/* What: what a CustomResourceDefinition of a package must be before the API server gets to see it, and what the plan of an
 *       install wants to know of it.
 * Owns: nothing; results live in the arena given and share parts of the document.
 * Threads: pure functions.
 * Errors: findings with the reason InvalidPackage, all of them at once; warnings, without a reason, for what was left out. */
#pragma once

#include "package/finding.h"
#include "json/json.h"

enum {
    CRD_MAX_BYTES = 2 * 1024 * 1024, /* of one definition, as compact JSON */
};

struct crd_version {
    str name;
    bool served, storage;
};

/* Texts are views of the definition returned beside it. */
struct crd_info {
    str name;          /* "buckets.storage.example.org" */
    str group, plural; /* "storage.example.org", "buckets" */
    str kind;
    bool is_namespaced;
    bool has_status, has_scale; /* in any version */
    VEC(struct crd_version) versions;
};

struct crd_checked {
    struct json crd; /* v1; metadata has name, labels and annotations, and no status */
    struct crd_info info;
};

/* Checks one document of a package: v1, or v1beta1 that converts. True with *ret set; false with findings added. Warnings
 * are added in both cases.
 *
 * Of metadata only the name, labels and annotations go on: the rest is the server's business. Labels and annotations that
 * say whose the definition is, or who may do what, are left out with a warning (crd_key_is_reserved).
 *
 * A conversion webhook is always refused: it would have the API server send every object of the kind to a service that the
 * package chose, outside of all permissions. */
bool crd_check(struct arena *a, const struct json *doc, struct crd_checked *ret, struct findings *findings,
               struct findings *warnings);

/* The definition that crd_check returned for this document, without asking again whether it is right: for documents that are
 * known to have passed. False only for one that never could. */
bool crd_read(struct arena *a, const struct json *doc, struct json *ret);

/* A copy whose texts live in the arena, so that the definition need not. */
struct crd_info crd_info_dup(struct arena *a, const struct crd_info *info);

/* Groups that no package may define kinds in or ask for permissions on: the core group, those of Kubernetes (k8s.io,
 * kubernetes.io) and those of Reeve's own kinds (open-cluster-management.io and packages, stacks and rbac of crossplane.io), each
 * with all groups below it. Other groups below crossplane.io are free. */
bool crd_group_is_protected(str group);
/* Labels and annotations that a package cannot set: prefixes crossplane.io, kubernetes.io, k8s.io, reeve.dev and what is
 * below them, but for app.kubernetes.io, of which only managed-by is reserved. */
bool crd_key_is_reserved(str key);
