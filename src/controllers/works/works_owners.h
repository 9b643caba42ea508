/* SPDX-License-Identifier: Apache-2.0 */
/* What: whose a delivered object is, by the AppliedManifestWorks that it names as owners. The first that is there leads: what it
 *       wants counts, others may share.
 * Owns: nothing.
 * Threads: inside a visit.
 * Errors: none. */
#pragma once

#include "controllers/works/works_internal.h"

struct owners {
    bool is_ours; /* the AppliedManifestWork of this visit is named, if only in an earlier life */
    str leader;   /* the name of another that comes before ours; empty: none, or ours leads */
    bool has_others;
    bool
        is_adoptable; /* no agent created it, and its owner lets works change it; the leader is the one that adopted it */
};

struct owners owners_read(struct visit *v, const struct json *object);
/* Ours is named or, for what is orphaned or adopted, is not; and no earlier life of it is. */
bool owners_are_right(struct visit *v, const struct work_item *item, const struct json *object);
/* The list made right; object may be NULL. is_first: ours leads from now on. */
struct json owners_next(struct visit *v, const struct work_item *item, const struct json *object, bool is_first);
/* The works of ours and of that one belong to the same controller. */
bool owners_are_siblings(struct visit *v, str other);
