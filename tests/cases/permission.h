/* SPDX-License-Identifier: Apache-2.0 */
/* What: what cases about ClusterPermissions begin with: the object, and what the hub knows.
 * Owns: nothing; all lives in the arena of the case.
 * Threads: one.
 * Errors: as in case.h.
 *
 *     --- permission                    a ClusterPermission as YAML; kind, namespace (cluster1) and uid (abcde-…) may be left out
 *     --- many roleBindings from=0 n=1500   appends as many items to that list of its spec; <n> in the text is a number
 *     --- hub agent delivered           what the hub knows; without this section just that cluster1 is a managed cluster
 *         no-cluster                        it is not
 *         agent                             Reeve's agent is there
 *         delivered                         works were written before
 *         accounts=a,b                      ManagedServiceAccounts that are there
 *         namespace=x                       where they live on the managed cluster; none: nobody knows
 *     --- addon [agent]                 the ManagedClusterAddOn that says so; with Reeve's agent
 *     --- namespaces                    of the hub, one a line: NAME label=value …
 *     --- roles                         of the hub: documents in YAML */
#pragma once

#include "cases/case.h"
#include "controllers/permissions/permissions_build.h"
#include "json/yaml.h"

struct permission_case {
    struct case_file *c;
    struct arena *a;
    struct json permission;
    struct permission_facts facts;
    str accounts; /* "a,b" */
    VEC(struct json) namespaces;
    json_vec roles;
    size_t questions; /* for namespaces */
};

void permission_case_init(struct permission_case *w, struct case_file *c);
/* False: the section is none of these. */
bool permission_case_step(struct permission_case *w, const struct case_section *s);
struct json permission_case_yaml(struct permission_case *w, const struct case_section *s);
/* Lines of a text that are not empty. */
bool permission_case_line(str *rest, str *line);
/* The text with a number in place of each "<n>". */
str permission_case_number(struct arena *a, str text, uint64_t n);
