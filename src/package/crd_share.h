/* SPDX-License-Identifier: Apache-2.0 */
/* What: one CustomResourceDefinition that installs of several namespaces share: which definition serves them, and whether one more
 *       install, or another version of one, may change it.
 * Owns: nothing; results live in the arena given and share parts of the definitions they were made of.
 * Threads: pure functions.
 * Errors: findings: ApprovalRequired for each change that somebody who may update CRDs has to approve; CRDConflict for what no
 *         approval allows.
 *
 *   in effect   the definition as the server has it, or the one of whoever comes first, with what only others add
 *   first       cluster packages, then who was approved last, then who was there first
 *
 * What is in effect is protected: an install adds fields and versions to it that nobody else has, and nothing more, unless that was
 * approved. After an approval the definition of that install counts first; who needs something else keeps running, and is told. So
 * no version takes anything from others, and none keeps others from an upgrade for good. docs/design/packages.md has the rules. */
#pragma once

#include "package/finding.h"
#include "json/json.h"

/* An install that has the CRD. */
struct crd_holder {
    str package, version; /* "acme/wordpress", "1.1": for messages */
    str since;            /* when the install was accepted, then its name: see family_since */
    str approved;         /* when a change of it was last approved, as a timestamp; empty: never */
    bool is_cluster;
    const struct json *now; /* its definition; NULL: its package has none */
    const struct json *old; /* the one of the version that is being replaced, if any */
    str old_version;
};

/* Whether the definition of one holder counts before that of another. */
bool crd_holder_counts_first(const struct crd_holder *one, const struct crd_holder *other);
/* The definition that serves n > 0 holders. live: as the server has it, NULL: it has none; approved: the last approval that live
 * contains. */
struct json crd_share_body(struct arena *a, const struct crd_holder *holders, size_t n, const struct json *live,
                           str approved);

/* What a holder is missing in a definition: a finding (Conflict) for each. */
void crd_share_missing(struct arena *a, const struct json *body, const struct crd_holder *holder,
                       struct findings *findings);

struct crd_share_request {
    const struct crd_holder *others; /* n > 0: without the one who asks */
    size_t n;
    const struct crd_holder *self; /* now: what it asks for; old: what it has, or NULL */
    const struct json *in_effect;  /* crd_share_body of all who are there */
};

/* Findings, if it may not have that by itself. True without findings: the definition of self counts first from now on, though
 * nobody has to approve it, as it differs only from what others added who came later. */
bool crd_share_check(struct arena *a, const struct crd_share_request *request, struct findings *findings);

/* ---- The steps, for tests. ---- */

/* base, with the fields and the versions that only more has. Where both have something, base stays as it is. */
struct json crd_extend(struct arena *a, const struct json *base, const struct json *more);
/* What existing objects or clients could notice of a change from was to now: a finding (ApprovalRequired) for each. New optional
 * fields without a default, new versions and descriptions are none of it. */
void crd_changes(struct arena *a, const struct json *was, const struct json *now, struct findings *changes);
