/* SPDX-License-Identifier: Apache-2.0 */
/* What: the roles of the personas, as a table, and as objects.
 * Owns: nothing; objects live in the arena given.
 * Threads: pure.
 * Errors: none. */
#pragma once

#include "json/json.h"

enum {
    ROLES_IN_NAMESPACE = 3, /* admin, edit, view */
    ROLES_LABELS = 3,       /* room for the longest list of a row and a NULL */
    ROLES_RULES = 8,
};

struct persona_role {
    const char *name;
    const char *scope;                /* LABEL_SCOPE; NULL: no label, people need not find it */
    const char *labels[ROLES_LABELS]; /* "true": whom it is aggregated to */
    bool has_namespaces;              /* …and one label for each namespace with personas */
    const char *selects;              /* a label: it is aggregated from those that have it, and has no rules here */
    const char *rules[ROLES_RULES];   /* as bootstrap_rule (authz/bootstrap.h) reads them */
};

/* What there is once, in the order in which to make it. */
extern const struct persona_role persona_roles[];
extern const size_t persona_roles_n;

#define PERSONA_ADMIN "crossplane-admin" /* the role, and its binding to PERSONA_GROUP */
#define PERSONA_GROUP "crossplane:masters"
#define PERSONA_ENVIRONMENT "crossplane-env-"  /* …admin, …edit, …view */
#define PERSONA_CRD_VIEW "crossplane-crd-view" /* the role, and its binding to every authenticated user */

/* namespaces: those with personas, by name. */
struct json persona_role_object(struct arena *a, const struct persona_role *role, const str *namespaces, size_t n);
/* A ClusterRoleBinding of a role to a group, of the role's name. */
struct json persona_binding(struct arena *a, str role, str group);
/* "crossplane:ns:x:admin" */
str persona_name(struct arena *a, str namespace, size_t i);
/* Of one namespace. i: below ROLES_IN_NAMESPACE. */
struct json persona_of_namespace(struct arena *a, str namespace, size_t i);
/* The namespace in such a name; empty: it is none. */
str persona_namespace(str name);
/* The rules of a role of a namespace, by its name, while no package is installed there: those of the default for it. null: the name is
 * not of such a role. */
struct json persona_default_rules(struct arena *a, str name);
