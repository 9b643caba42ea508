/* SPDX-License-Identifier: Apache-2.0 */
/* What: whether an install may have what it asks for beside those that are there, and remembering that it does.
 * Owns: an accepted install holds references to its packages until accept_release.
 * Threads: those of visits; one at a time decides about a family.
 * Errors: findings (AlreadyInstalled, CRDConflict); an err of what could not be written. */
#pragma once

#include "controllers/installs/installs_internal.h"

struct accepted {
    bool is_accepted; /* false without findings: somebody else is just deciding; it comes back by itself */
    const struct package *package, *old;
    struct json record;
    bool is_in_force;
    size_t wanted, established;
    str problem;
    str conflict; /* see struct holding */
    bool is_lacking;
    str retained;
};

/* One install of a package in one place. */
void accept_check_place(struct visit *v, struct findings *findings);
/* Finalizer, record, status, holding, in this order: whatever comes after a crash finds the steps before it. */
int accept_package(struct visit *v, const struct package *p, const struct plan *plan, struct findings *findings,
                   struct accepted *ret, struct err *err);
void accept_release(struct accepted *accepted);
struct plan_facts accept_facts(struct installs *s);

/* ---- installs_grants.c ---- */

/* Who gains and who loses by the change from one package to another; NULL: none. */
void grants_tell(struct visit *v, const struct package *before, const struct package *after);
