/* SPDX-License-Identifier: Apache-2.0 */
/* What: packages of one family (repo:name) in several versions: whether they can live together, and the CRDs that serve them all.
 * Owns: nothing; results live in the arena given.
 * Threads: pure but for reading the packages' contents.
 * Errors: findings (CRDConflict, AlreadyInstalled, NameConflict); ERR_IO when a content cannot be read, ERR_CONFLICT for packages that
 *         family_check would have refused, ERR_NOT_FOUND for a CRD that none of them has. */
#pragma once

#include "package/package.h"

/* What stands between a candidate and the others of its family that are there: the same version with another digest, CRDs that
 * cannot be united. The candidate may be among the others. */
int family_check(struct arena *a, const struct package *candidate, const struct package *const *others, size_t n_others,
                 struct findings *findings, struct err *err);
/* The part of it that needs no more than what is known of one that is there: the same version must be the same image. */
void family_check_version(const struct package *candidate, str version, str digest, struct findings *findings);
/* The same short name from another source is another package, and its roles and CRDs would have the same names. holder: the install
 * that has the name, or empty. */
void family_check_source(const struct package *candidate, str source, str holder, struct findings *findings);
/* The body of one CRD that serves all of these packages (those that do not have it are passed over). The one with the
 * highest version that has it is returned as ret_owner: its annotations are the ones shown. The body shares what was read into
 * the arena: use one per CRD. */
int family_crd(struct arena *a, const struct package *const *packages, size_t n, str name, struct json *ret_body,
               const struct package **ret_owner, struct err *err);
