/* SPDX-License-Identifier: Apache-2.0 */
/* What: the roles and bindings that every API server starts with, and how they come to be stored without undoing what
 *       people have changed about them since.
 * Owns: nothing; objects are built in the arena given. The tables behind them are constants.
 * Threads: pure functions.
 * Errors: none. */
#pragma once

#include "base/arena.h"
#include "json/json.h"

/* The default objects of Kubernetes 1.32 in the order in which to store them: ClusterRoles, ClusterRoleBindings, Roles,
 * RoleBindings. Without uid, versions and times: as a client would send them. Aggregated roles have no rules yet. */
size_t bootstrap_count(void);
struct json bootstrap_object(struct arena *a, size_t i);

/* A rule from the short form in which our tables have them: "verbs:groups:resources", "verbs:groups:resources:names" or
 * "verbs@urls"; lists have commas, the core group is empty, names may have colons. Texts are borrowed. */
struct json bootstrap_rule(struct arena *a, str source);

enum bootstrap_action {
    BOOTSTRAP_KEEP,     /* nothing to do */
    BOOTSTRAP_CREATE,   /* there was none: store the object */
    BOOTSTRAP_UPDATE,   /* store the object over the existing one */
    BOOTSTRAP_RECREATE, /* delete the existing one by its uid, then create: a roleRef cannot change */
};

enum { BOOTSTRAP_REMOVE_EXTRA = 1 }; /* also take away what is not wanted; never at start-up */

struct bootstrap_step {
    enum bootstrap_action action;
    bool is_protected;  /* autoupdate: "false" on the existing object: report the action, but do not take it */
    struct json object; /* what to store; null when there is nothing to store */
    /* Lists of rules (single atoms when compared with an existing role), subjects and selectors. */
    struct json missing_rules, extra_rules;
    struct json missing_subjects, extra_subjects;
    struct json missing_selectors, extra_selectors;
};

/* What turns existing (NULL: there is none) into something that grants at least what wanted grants. Both are of the same
 * kind, one of the four of rbac.authorization.k8s.io. Of labels and annotations those that exist win. The result
 * shares parts of both. */
struct bootstrap_step bootstrap_reconcile(struct arena *a, const struct json *existing, const struct json *wanted,
                                          unsigned flags);
/* "keep" "create" "update" "recreate" */
const char *bootstrap_action_name(enum bootstrap_action action);
