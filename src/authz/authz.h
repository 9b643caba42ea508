/* SPDX-License-Identifier: Apache-2.0 */
/* What: the index of roles and bindings, and the decision: may this identity do that?
 * Owns: an index owns copies of all it keeps; objects given to it are only read.
 * Threads: one writer or many readers. Deciding changes nothing and takes no memory but for the reason.
 * Errors: a malformed object counts as absent, and ERR_INVALID says so. Fails closed: a zero identity, zero attributes, NULL,
 *         a missing role or a malformed rule never allow anything.
 *
 *   identity ──► subject "User alice"  ──► its ClusterRoleBindings, by name ──► role ──► compiled rules
 *            └─► subject "Group devs"  ──► its RoleBindings of the namespace, by name ──►┘
 *
 * A binding points at its role's place, which may be empty: a role that comes, changes or goes touches nothing else. So a
 * decision costs what the asker's own bindings cost, whoever else is in the index, and a change costs what it reaches. */
#pragma once

#include "authz/authz_request.h"
#include "authz/rule.h"

struct authz_index;

enum authz_kind {
    AUTHZ_ROLE,
    AUTHZ_CLUSTER_ROLE,
    AUTHZ_ROLE_BINDING,
    AUTHZ_CLUSTER_ROLE_BINDING,
    AUTHZ_UNKNOWN, /* any other kind a roleRef may name; never found */
};

struct authz_index *authz_index_new(void);
/* One that is filled, asked and dropped as a whole: quicker, and what is replaced or deleted keeps its room until then. */
struct authz_index *authz_index_new_growing(void);
void authz_index_free(struct authz_index *ix);
/* Adds or replaces a Role, ClusterRole, RoleBinding or ClusterRoleBinding (told by its "kind"). One of another API group is
 * refused and changes nothing; without an apiVersion it is taken for one of RBAC. */
int authz_index_put(struct authz_index *ix, const struct json *object, struct err *err);
/* Removes one; false when it was not there. The namespace of cluster-wide kinds is empty. */
bool authz_index_delete(struct authz_index *ix, enum authz_kind kind, str namespace, str name);

/* "Role", "ClusterRole", …; AUTHZ_UNKNOWN is "". And back. */
str authz_kind_name(enum authz_kind kind);
enum authz_kind authz_kind_of(str name);

/* ---- Decide. ---- */

/* The zero value is no. */
struct authz_decision {
    bool allowed;
    str reason; /* Kubernetes' words; empty when there are none */
};

/* The one decision function: live requests, reviews and escalation checks all ask here. Of several bindings that allow, the
 * reason names the first ClusterRoleBinding by name, else the first RoleBinding; and of its subjects the first that applies.
 * A refusal names the roles that bindings of the asker refer to but do not exist. system:masters need no reason. An identity with
 * rules of its own (only) is decided by these, without a reason.
 * reasons may be NULL when nobody wants to know; then nothing is allocated. */
struct authz_decision authz_check(const struct authz_index *ix, const struct authz_identity *who,
                                  const struct authz_attributes *what, struct arena *reasons);

/* ---- Look around: what explanations, rule reviews and escalation checks are made of. ---- */

struct authz_role {
    enum authz_kind kind; /* AUTHZ_ROLE or AUTHZ_CLUSTER_ROLE */
    str namespace, name;
    struct rules rules;
    const struct json *labels;           /* of the metadata; NULL when there are none */
    const struct json *aggregation_rule; /* NULL when it is not aggregated */
};

enum authz_subject_kind { AUTHZ_USER, AUTHZ_GROUP, AUTHZ_SERVICE_ACCOUNT };

struct authz_subject {
    enum authz_subject_kind kind;
    str name;      /* of a ServiceAccount: its own, not the user name */
    str namespace; /* of a ServiceAccount; that of the binding when the subject names none */
};

/* A subject as it stands in a binding of this namespace, and the user or group it acts as. False when it can apply to nobody. */
bool authz_subject_read(struct arena *a, const struct json *subject, str binding_namespace, struct authz_subject *ret,
                        str *ret_acts_as);

struct authz_binding; /* opaque: gives its subjects away one by one */

/* One binding, seen as a way to rules. Valid until the index changes. */
struct authz_grant {
    const struct authz_binding *binding;
    enum authz_kind kind; /* AUTHZ_ROLE_BINDING or AUTHZ_CLUSTER_ROLE_BINDING */
    str namespace, name;
    enum authz_kind role_kind;     /* AUTHZ_ROLE, AUTHZ_CLUSTER_ROLE or AUTHZ_UNKNOWN */
    str role_name;                 /* of AUTHZ_UNKNOWN: the kind that was named instead */
    const struct authz_role *role; /* NULL: it does not exist */
    struct authz_subject
        subject; /* the first of its subjects that applies to the identity; zero if none was asked for */
};

/* Return false to stop. */
typedef bool authz_grant_fn(void *ctx, const struct authz_grant *grant);

/* The bindings that apply to an identity in a namespace, each once: ClusterRoleBindings, then RoleBindings, each by name.
 * Without a namespace only the former. Bindings to missing roles too. False when fn stopped it. */
bool authz_visit(const struct authz_index *ix, const struct authz_identity *who, str namespace, authz_grant_fn *fn,
                 void *ctx);
/* The same for all namespaces at once: ClusterRoleBindings, then RoleBindings by namespace and name. */
bool authz_visit_everywhere(const struct authz_index *ix, const struct authz_identity *who, authz_grant_fn *fn,
                            void *ctx);
/* Every binding of every subject, in no order: sort what leaves the process. */
bool authz_visit_bindings(const struct authz_index *ix, authz_grant_fn *fn, void *ctx);
/* The subjects of a binding that can apply to somebody, in their order; n of them. */
size_t authz_binding_subjects(const struct authz_binding *binding);
struct authz_subject authz_binding_subject(const struct authz_binding *binding, size_t i);

/* Every role, in no order. */
bool authz_visit_roles(const struct authz_index *ix, bool (*fn)(void *ctx, const struct authz_role *role), void *ctx);
/* NULL when there is none. */
const struct authz_role *authz_get_role(const struct authz_index *ix, enum authz_kind kind, str namespace, str name);

bool authz_has_binding(const struct authz_index *ix, enum authz_kind kind, str namespace, str name);

/* ---- Texts that several places need. ---- */

/* clusterrole.rbac.authorization.k8s.io "ghost" not found; or: unsupported role reference kind: "Foo" */
void authz_missing_format(struct buf *b, const struct authz_grant *grant);
/* "User", "Group", "ServiceAccount" */
str authz_subject_kind_name(enum authz_subject_kind kind);
/* "User jane", "ServiceAccount ns/name": as people are told. */
str authz_subject_title(struct arena *a, const struct authz_subject *subject);
/* "ns/name" of a ServiceAccount, else its name. */
str authz_subject_name(struct arena *a, const struct authz_subject *subject);
/* The user name of a ServiceAccount, else the subject's name. */
str authz_subject_user(struct arena *a, const struct authz_subject *subject);
