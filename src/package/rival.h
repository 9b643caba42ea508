/* SPDX-License-Identifier: Apache-2.0 */
/* What: whether an install may have its place beside those that are there: one of a package in one place, one of a name.
 * Owns: nothing; texts live in the arena given, or are those of the installs.
 * Threads: pure.
 * Errors: findings (AlreadyInstalled, Conflict).
 *
 * Who holds something comes before who does not, then who came first; one that was refused and holds nothing keeps nobody out. */
#pragma once

#include "package/plan.h"

/* One install object, of any of the four kinds. One that is not on the server yet has no creationTimestamp, and comes last. */
struct rival {
    const struct dialect *dialect;
    bool is_cluster;
    const struct json *install;
};

/* Whether the other, which comes first, has the package that self asks for. family: of what self asks for. Only for installs in one
 * place: of one namespace, or of the cluster. */
void rival_check_package(struct arena *a, const struct rival *self, str family, const struct rival *other,
                         struct findings *findings);
/* Whether the other, of another kind, which comes first, has its controller in the same place under the same name: the account would
 * serve both. */
void rival_check_account(struct arena *a, const struct rival *self, const struct rival *other,
                         struct findings *findings);

/* "PackageInstall team-a/wp", "ClusterPackageInstall gcp" */
str rival_title(struct arena *a, const struct rival *r);
/* What an install runs: status.installedPackage, else what it asks for. */
str rival_reference(struct arena *a, const struct json *install);
/* The reference that an install asks for: spec.package with spec.source applied. */
str rival_asks_for(struct arena *a, const struct json *install);
/* "registry.example.org/repo/name" of a reference, or the local name; empty: it is none. */
str rival_source(struct arena *a, str reference);
/* "repo:name" of a reference; empty: it is none. */
str rival_family(struct arena *a, str reference);
