/* SPDX-License-Identifier: Apache-2.0 */
/* What: a package that is looked at, and its description for programs.
 * Owns: nothing; all of it is borrowed.
 * Threads: the main thread.
 * Errors: none. */
#pragma once

#include "cli/package.h"
#include "package/plan.h"

struct inspection {
    struct arena *arena;
    const struct term *term;
    const char *what; /* as the command line has it */
    const struct package_source *source;
    struct plan plan; /* of it alone */
    struct buf *out;
};

/* The document of -o json: kind PackageDescription. */
struct json package_describe(const struct inspection *s);
