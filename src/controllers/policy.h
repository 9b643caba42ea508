/* SPDX-License-Identifier: Apache-2.0 */
/* What: whether the ValidatingAdmissionPolicy that approvals rely on is in place, on servers other than that of "reeve up".
 * Owns: a watcher belongs to the control it was added to.
 * Threads: policy_problem may be called by any; changed is called by a worker.
 * Errors: what is wrong is returned by policy_problem; that of ClusterPermissions, which is asked for by a flag, is logged while it lasts.
 *
 * Without the policy anybody who may write an object can write its approval, so whoever relies on approvals refuses them until it is
 * in place: policy and binding of this name are there and say what deploy/approval of this release says, and nothing narrows them.
 * They are read at the start and every half minute. */
#pragma once

#include "controllers/controllers.h"

struct policy;

/* deploy/approval, taken into the binary when it is built: a policy and its binding each. */
extern const str policy_files[];
extern const size_t policy_files_n;
enum policy_file { POLICY_INSTALLS, POLICY_PERMISSIONS };

#define POLICY_RIGHTS(name) \
    "get:admissionregistration.k8s.io:validatingadmissionpolicies,validatingadmissionpolicybindings:" name
#define POLICY_NAME_INSTALLS "install-approval.reeve.dev"
#define POLICY_NAME_PERMISSIONS "approval.reeve.dev"

/* What a server has of it at this moment. */
struct policy_state {
    str problem;  /* empty: it is in place */
    str identity; /* of policy and binding; another one if either was deleted, created or changed meanwhile */
};

/* changed: it is in place now, or no longer, or it was replaced. */
struct policy *policy_watch(const struct controller_env *env, enum policy_file file, void (*changed)(void *ctx),
                            void *ctx);
/* Empty: it is in place. NULL is: the server guards approvals by itself. */
str policy_problem(struct policy *p, struct arena *a);
/* Asks the server, so never call it with a lock held. NULL: in place, without an identity. problem is set on errors, too. */
int policy_read(const struct policy *p, struct client *c, struct arena *a, struct policy_state *ret, struct err *err);
/* What is wrong with these, by what they should be; empty: nothing. Null: it is missing. Pure. */
str policy_compare(struct arena *a, enum policy_file file, const struct json *policy, const struct json *binding);
