/* SPDX-License-Identifier: Apache-2.0 */
/* What: packages of one family (repo:name) in several versions: whether they can live together, and the CRDs that serve them all.
 * Owns: nothing; results live in the arena given.
 * Threads: pure but for reading the packages' contents.
 * Errors: findings (Conflict, CRDConflict, AlreadyInstalled, NameConflict); ERR_IO when a content cannot be read, ERR_NOT_FOUND for a
 *         CRD that none of them has. */
#pragma once

#include "base/clock.h"
#include "package/package.h"

/* Whether a package that is there claims the identity of the candidate: its version, or its digest, for something else. */
void family_check_identity(const struct package *candidate, const struct package *other, struct findings *findings);
/* The part of it that needs no more than what is known of one that is there: the same version must be the same image. */
void family_check_version(const struct package *candidate, str version, str digest, struct findings *findings);
/* The same short name from another source is another package, and its roles and CRDs would have the same names. holder: the install
 * that has the name, or empty. */
void family_check_source(const struct package *candidate, str source, str holder, struct findings *findings);

/* ---- The CRDs that a family shares: rules in crd_share.h. ---- */

/* The rank of an install among those of its family, as text that sorts: when its package was accepted (status.acceptedAt), then its
 * namespace and name. Installs of releases without that field have the time of their creation. */
str family_since(struct arena *a, const struct json *install);
/* The rank of one that is accepted now, after n others: behind all of them, whatever the clock says. */
str family_since_next(struct arena *a, const struct json *install, const str *others, size_t n,
                      const struct clock *clock);
/* The time in it, for status.acceptedAt. */
str family_since_time(str since);

/* A package that installs of a family have: one for all installs that have the same. */
struct family_side {
    const struct package *package;
    str install;         /* uid, if one install alone has it; empty: several have */
    str since, approved; /* of the install that counts first, see struct crd_holder */
    bool is_cluster;
    bool is_old; /* it is just being replaced */
};

/* What the server has of a CRD. */
struct family_live {
    struct json body; /* null: nothing */
    str approved;     /* the last approval that it contains; empty: none */
    bool is_foreign;  /* somebody else changed it, so it stays as it is */
};

struct family_crd {
    struct json body;
    const struct package *owner; /* its annotations are shown */
    const str *missing;          /* of each side: what it needs and the definition lacks; empty: nothing */
};

/* The one CRD that serves all of these packages; those that do not have it are passed over, and are missing nothing. live may be
 * NULL. The body shares what was read into the arena: use one per CRD. */
int family_crd(struct arena *a, const struct family_side *sides, size_t n, str name, const struct family_live *live,
               struct family_crd *ret, struct err *err);

/* What a subject who may update that CRD has to approve. */
struct family_need {
    str crd, text;
};

struct family_question {
    const struct package *candidate;
    struct family_side self; /* the install that asks; package: what it has, or NULL */
    const struct family_side *others;
    size_t n_others;
    void *ctx;
    int (*live)(void *ctx, struct arena *a, str name, struct family_live *ret, struct err *err);
};

struct family_answer {
    VEC(struct family_need) needs;
    bool is_first; /* its definitions count first from now on */
};

/* Whether the candidate may have its CRDs beside those that are there: findings, if it never may. The identities are not compared:
 * see family_check_identity. */
int family_check_crds(struct arena *a, const struct family_question *question, struct family_answer *ret,
                      struct findings *findings, struct err *err);
