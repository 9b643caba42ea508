/* SPDX-License-Identifier: Apache-2.0 */
/* What: how the ManifestWorks that are there become those that are wanted, without a grant being away for a moment. No effects.
 * Owns: nothing; a plan lives in the arena given and shares parts of what it is made from.
 * Threads: pure.
 * Errors: none.
 *
 * An agent deletes what has left a work, and makes what has come to one. A manifest that moves from one part to another would be
 * away between the two, so it stays in the old one until the agent has reported it for the new one:
 *
 *      part 0  [ a b c ]      [ a b c ]            [ x a b ]     x came in front; there was no room for c any more
 *      part 1  [ d e ]    ─►  [ c d e ]  reported ─► [ c d e ]
 *
 *   moved          as it was: two works with different texts of one object would contradict each other. What changed about it
 *                  follows when the old part has let go
 *   wanted nowhere leaves at once, whatever else has to wait
 *   no room        parts that exchange so much that neither can hold both: a spare part takes what one of them has to give away,
 *                  and goes when all is in its place
 *
 * Each plan is what can be done now; with the works that follow from it, and new reports, comes the next. */
#pragma once

#include "controllers/permissions/permissions_build.h"

enum shift_action { SHIFT_KEEP, SHIFT_CREATE, SHIFT_UPDATE, SHIFT_DELETE };

struct shift_step {
    enum shift_action action;
    str name;
    struct json spec;        /* to create or update */
    const struct json *have; /* the work as it is; NULL: there is none */
};

struct shift_plan {
    const struct shift_step *p; /* those wanted, in their order, then the rest */
    size_t n;
    bool is_waiting; /* for the agent: this is not yet what is wanted */
};

/* have: the works of this permission, as the server has them; none of them is being deleted. */
struct shift_plan shift_plan(struct arena *a, const struct json *permission, const struct json *have, size_t n_have,
                             const struct permission_build *build);
