/* SPDX-License-Identifier: Apache-2.0 */
/* What: everything that an author should know about a package before somebody else finds out: what an install would refuse it for,
 *       and what people will miss in it. No I/O.
 * Owns: nothing; results live in the arena given and share the texts of the package.
 * Threads: pure.
 * Errors: none; they are what it is about. */
#pragma once

#include "package/plan.h"

struct lint_finding {
    bool is_warning; /* it can be installed all the same */
    bool is_note;    /* nothing is wrong with it: ports, volumes and unusual settings of the Deployment. Not counted */
    str file;        /* as in ".registry/app.yaml"; empty: the package as a whole */
    str reason;      /* as of findings; empty for warnings */
    str message;     /* without the file */
};

struct lint {
    struct arena *arena;
    VEC(struct lint_finding) list; /* by file, errors, then warnings, then notes */
    size_t wrong, warnings;        /* how many there are of each, those that are not told included */
    size_t more;                   /* are not told: see FINDINGS_MAX */
};

/* options: of the server that is to install it. */
void package_lint(struct arena *a, const struct package *p, struct plan_options options, struct lint *ret);
/* One more, of what kept a package from being read at all: "FILE: what is wrong". */
void package_lint_add(struct lint *l, str reason, str message);
