/* SPDX-License-Identifier: Apache-2.0 */
/* What: what app.yaml says a package depends on: "plural.group[/version]" or "*.group[/version]".
 * Owns: nothing; parts are views of the text.
 * Threads: pure functions.
 * Errors: why a text is no dependency, in words. */
#pragma once

#include "package/package.h"

/* NULL with *ret set, or what is wrong with it. The group must be a real one, with a dot, and none that is protected: a
 * dependency becomes rights to everything of that kind. */
const char *dependency_parse(str text, struct package_dependency *ret);
