/* SPDX-License-Identifier: Apache-2.0 */
/* What: from a ClusterPermission and what is known of the hub to the ManifestWorks that deliver it. No effects.
 * Owns: nothing; all lives in the arena given and shares the texts of what it is made from.
 * Threads: pure.
 * Errors: a problem has the reason and message of a condition; then there are no works.
 *
 *   spec ─► check ─► names, roleRefs, subjects ─► manifests in order: ClusterRole, ClusterRoleBindings, Roles, RoleBindings,
 *                                                 roles of roleRefs, stubs to validate ─► parts of at most FLEET_WORK_BYTES
 *
 * Costs grow with the size of the spec and, where namespaces are selected here, with the number of objects that come of it. */
#pragma once

#include "base/arena.h"
#include "json/json.h"

enum {
    PERMISSION_MANIFESTS = 20000,     /* of one permission */
    PERMISSION_PARTS = 100,           /* ManifestWorks of one permission */
    PERMISSION_PART_MANIFESTS = 1000, /* of one ManifestWork: what the agent says of each must fit into its status */
    PERMISSION_SELECTORS = 200,       /* different ones of one permission, where the hub selects namespaces */
    PERMISSION_MESSAGE = 1024,        /* bytes of a problem */
};

/* What a build depends on besides the object. Answers live in the arena. */
struct permission_facts {
    bool has_cluster;      /* there is a ManagedCluster of that name */
    bool has_agent;        /* with Reeve's agent: it selects namespaces itself */
    bool is_delivered;     /* works of this permission are there already */
    str account_namespace; /* of ManagedServiceAccounts on that cluster; empty: nobody knows */
    /* Asked once for each name. */
    bool (*has_account)(void *ctx, str name);
    /* A role of the hub; NULL: there is none. namespace empty: a ClusterRole. */
    const struct json *(*role)(void *ctx, struct arena *a, str namespace, str name);
    /* Sorted names of the hub's namespaces that a valid LabelSelector matches. Not asked for where has_agent; asked once for each. */
    size_t (*namespaces)(void *ctx, struct arena *a, const struct json *selector, str **ret);
    void *ctx;
};

struct permission_work {
    str name;
    struct json spec; /* workload.manifests and, to validate, manifestConfigs */
};

enum permission_outcome {
    PERMISSION_BUILT,
    PERMISSION_INVALID, /* Validation is False: reason and message say why */
    PERMISSION_BROKEN,  /* AppliedRBACManifestWork is False, FailedBuildManifestWork: message says why */
};

struct permission_build {
    enum permission_outcome outcome;
    bool is_empty; /* neither a role nor a binding is asked for: works that are there go */
    str reason, message;
    const struct permission_work *works; /* in the order of their parts; parts that nothing fell to are left out */
    size_t n;
    /* Subjects that are ManagedServiceAccounts, whatever the outcome; those that are missing were left out of their bindings. */
    bool has_accounts;
    const str *missing;
    size_t n_missing;
    str no_subjects;   /* bindings whose list of subjects is empty: "roleBindings[0], …" */
    str no_namespaces; /* selectors that were evaluated here and matched nothing: "roles[1], …" */
};

/* permission: the whole object, with metadata.uid. */
struct permission_build permission_build(struct arena *a, const struct json *permission,
                                         const struct permission_facts *facts);
/* "<name>-<first five of the uid>", and "-<n>" for part n > 0. */
str permission_work_name(struct arena *a, const struct json *permission, size_t part);
/* Whether a ManifestWork says what was built: what a server filled in by default is no difference, all else is. */
bool permission_work_is(const struct permission_work *want, const struct json *work);
/* Where ManagedServiceAccounts live on a cluster; addon: its ManagedClusterAddOn FLEET_ADDON, or NULL. Empty: nobody knows. */
str permission_account_namespace(const struct json *addon, bool has_agent);
