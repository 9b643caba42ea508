/* SPDX-License-Identifier: Apache-2.0 */
/* What: a kind: its names, verbs, fields and columns. Built-in kinds are const tables (kinds/builtin.h); kinds of CRDs
 *       have the same form and are created by kinds/registry.h.
 * Owns: nothing; built-in tables are static, the rest belongs to a registry.
 * Threads: constants.
 * Errors: none; what is not found is NULL. */
#pragma once

#include "base/str.h"
#include "object/name.h"
#include "json/shape.h"

enum {
    VERB_CREATE = 1,
    VERB_DELETE = 2,
    VERB_DELETECOLLECTION = 4,
    VERB_GET = 8,
    VERB_LIST = 16,
    VERB_PATCH = 32,
    VERB_UPDATE = 64,
    VERB_WATCH = 128,
    VERBS_ALL = 255,
    VERBS_STATUS = VERB_GET | VERB_PATCH | VERB_UPDATE, /* of the usual subresources */
};

/* The name of one verb bit: "deletecollection". Bits count up in alphabetical order. */
const char *verb_name(unsigned verb);

enum kind_flag {
    KIND_GENERATION = 1,    /* the server counts metadata.generation */
    KIND_UNCONDITIONAL = 2, /* PUT without a resourceVersion: the last write wins */
    KIND_CREATE_ON_PUT = 4, /* PUT of a missing object creates it */
    KIND_DELETE_OBJECT = 8, /* DELETE returns the object instead of a Status */
    KIND_NOT_STORED = 16,   /* a question, answered and forgotten (reviews) */
    KIND_NO_PATH =
        32, /* no resource of its own: request and response bodies (DeleteOptions, Status, Scale, TokenRequest) */
    KIND_GENERATION_NOTES = 64,   /* KIND_GENERATION counts changes of annotations too */
    KIND_GENERATION_LABELS = 512, /* KIND_GENERATION counts changes of labels too */
    KIND_CUSTOM = 128,            /* made from a CRD */
    KIND_DEPRECATED = 256,        /* a CRD version that warns */
    KIND_ORPHANS = 1024,          /* DELETE without a propagation policy leaves its dependents alone */
};

struct kind_subresource {
    const char *name;                   /* "status" */
    const char *group, *version, *kind; /* of what it speaks; NULL: the kind it belongs to */
    unsigned verbs;
};

/* Where a custom resource has what its scale subresource shows; simple JSONPaths. */
struct kind_scale {
    const char *spec_replicas, *status_replicas;
    const char *selector; /* or NULL */
};

struct columns;

/* All texts are NUL-terminated; lists of texts end with NULL, and an empty list may be NULL itself. */
struct kind {
    const char *group, *version, *kind, *list_kind;
    const char *plural, *singular;
    const char *const *short_names, *const *categories;
    bool namespaced;
    unsigned verbs, flags;
    enum name_rule name_rule;
    const struct kind_subresource *subresources; /* in name order */
    size_t n_subresources;
    const char *const *selectable; /* field selectors besides metadata.name and metadata.namespace: "status.phase" */
    const struct shape *shape;     /* NULL: the kind has a schema instead (CRD) */
    const struct columns *columns; /* kinds/columns.h; NULL: columns_default */
    /* Kinds of CRDs only: */
    const char *crd;                 /* "widgets.example.com" */
    const char *crd_uid;             /* its metadata.uid; empty if it has none */
    const char *storage_version;     /* the version in which objects are kept */
    const char *deprecation_warning; /* KIND_DEPRECATED */
    const struct kind_scale *scale;  /* with a scale subresource */
};

/* By preference: v2 > v1 > v1beta2 > v1beta1 > v1alpha1 > others by name. Negative when l comes first. */
int kind_version_order(str l, str r);

/* "apps/v1", or "v1" for the core group, in two pieces; false when there is more than one slash. */
bool kind_split_api_version(str api_version, str *ret_group, str *ret_version);
const struct kind_subresource *kind_subresource(const struct kind *k, str name);
