/* SPDX-License-Identifier: Apache-2.0 */
/* What: the files that a new package begins with: small, right, and with comments that say what else may stand there.
 * Owns: nothing; all of it is in the arena given.
 * Threads: pure.
 * Errors: none: what is asked for was checked before. */
#pragma once

#include "base/str.h"
#include "base/vec.h"
#include "package/package.h"
#include "json/json.h"

struct scaffold {
    str name; /* a DNS label that begins with a letter: "wordpress" */
    enum package_format format;
    enum package_scope scope;
    str image;               /* of the controller; empty: the package's own */
    const struct json *crds; /* as crd_check took them; none: one is made up */
    size_t n_crds;
};

struct scaffold_file {
    str path; /* ".registry/app.yaml" */
    str text;
};

typedef VEC(struct scaffold_file) scaffold_files;

/* In the order of their paths. */
void package_scaffold(struct arena *a, const struct scaffold *s, scaffold_files *ret);
